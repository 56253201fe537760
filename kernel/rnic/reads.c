// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA Reads in flight: local ones, which responses complete in posting order,
 * and those of the peer, which are answered in the order of arrival.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "reads.h"

/* Memory for @nr entries of @size bytes: @old if it is large enough. */
static void *rnic_reads_room(void *old, u32 *mask, u32 nr, size_t size)
{
	void *room;

	/* An RTR may be a Read where none was negotiated. */
	nr = roundup_pow_of_two(max_t(u32, nr, 1));
	if (old && nr <= *mask + 1)
		return old;
	room = kcalloc(nr, size, GFP_ATOMIC | __GFP_ACCOUNT);
	if (!room)
		return NULL;
	kfree(old);
	*mask = nr - 1;
	return room;
}

/**
 * rnic_reads_prepare() - allocate memory for the Reads that a stream has
 * negotiated
 * @r: of the last stream, or zeroed
 * @ird: how many Reads the peer may have in flight, at most %RNIC_MAX_IRD
 * @ord: how many local ones may be, at most %RNIC_MAX_ORD
 *
 * Under the socket lock of the new stream, any context. Entries of the queues
 * are lost.
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_reads_prepare(struct rnic_reads *r, u32 ird, u32 ord)
{
	void *in, *out;

	in = rnic_reads_room(r->in, &r->in_mask, ird, sizeof(*r->in));
	if (!in)
		return -ENOMEM;
	r->in = in;
	out = rnic_reads_room(r->out, &r->out_mask, ord, sizeof(*r->out));
	if (!out)
		return -ENOMEM;
	r->out = out;
	return 0;
}

/**
 * rnic_reads_destroy() - free what rnic_reads_prepare() has allocated
 * @r: prepared, or zeroed
 */
void rnic_reads_destroy(struct rnic_reads *r)
{
	kfree(r->in);
	kfree(r->out);
}
