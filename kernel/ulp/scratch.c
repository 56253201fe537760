// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for building batches of FPDUs. Idle batches are kept for all streams:
 * each processor has one at hand for tasks, and one for the softirqs that interrupt
 * them, since that many are built at a time. Others are on a list, for tasks that
 * are preempted while they build one.
 *
 * Each has a page fragment, on which batches are written one behind the other.
 * TCP keeps a reference to the pages until their data are acknowledged.
 */
#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "scratch.h"

/* One that is idle, or NULL: for tasks, and for atomic users. */
static DEFINE_PER_CPU(struct mpa_scratch *, scratch_at_hand[2]);

/* Protects the three variables below; softirq. */
static DEFINE_SPINLOCK(scratch_lock);
static LIST_HEAD(scratch_idle);
static unsigned int scratch_nr_idle;
/*
 * Idle batches reserved for atomic users, which cannot allocate: as many as
 * they have failed to get.
 */
static unsigned int scratch_nr_reserved;

static struct mpa_scratch *scratch_take_listed(bool atomic)
{
	struct mpa_scratch *s = NULL;

	spin_lock_bh(&scratch_lock);
	if (scratch_nr_idle > (atomic ? 0 : scratch_nr_reserved)) {
		s = list_first_entry(&scratch_idle, struct mpa_scratch, entry);
		list_del(&s->entry);
		WRITE_ONCE(scratch_nr_idle, scratch_nr_idle - 1);
	} else if (atomic) {
		WRITE_ONCE(scratch_nr_reserved, min(scratch_nr_reserved + 1,
						    num_online_cpus()));
	}
	spin_unlock_bh(&scratch_lock);
	return s;
}

static struct mpa_scratch *scratch_take(bool atomic)
{
	return this_cpu_xchg(scratch_at_hand[atomic], NULL) ?:
	       scratch_take_listed(atomic);
}

/* Tasks list those first that atomic users have missed. */
static bool scratch_keep_at_hand(struct mpa_scratch *s)
{
	if (!s->atomic &&
	    READ_ONCE(scratch_nr_idle) < READ_ONCE(scratch_nr_reserved))
		return false;
	return !this_cpu_cmpxchg(scratch_at_hand[s->atomic], NULL, s);
}

static bool scratch_keep_listed(struct mpa_scratch *s)
{
	bool keep;

	spin_lock_bh(&scratch_lock);
	keep = scratch_nr_idle < num_online_cpus() + scratch_nr_reserved;
	if (keep) {
		list_add(&s->entry, &scratch_idle);
		WRITE_ONCE(scratch_nr_idle, scratch_nr_idle + 1);
	}
	spin_unlock_bh(&scratch_lock);
	return keep;
}

static struct mpa_scratch *scratch_create(void)
{
	/* Memory reclaim may depend on what is to be sent. */
	unsigned int noio = memalloc_noio_save();
	struct mpa_scratch *s = vmalloc(sizeof(*s));

	memalloc_noio_restore(noio);
	if (s)
		s->frag = (struct mpa_frag){};
	return s;
}

static void scratch_destroy(struct mpa_scratch *s)
{
	if (s->frag.page)
		put_page(s->frag.page);
	vfree(s);
}

/**
 * mpa_scratch_get - get memory for a batch
 * @atomic: do not sleep; otherwise process context
 *
 * Return: an empty batch; NULL if there is no memory, or none idle and @atomic.
 */
struct mpa_scratch *mpa_scratch_get(bool atomic)
{
	struct mpa_scratch *s = scratch_take(atomic);

	if (!s && !atomic)
		s = scratch_create() ?: scratch_take(true);
	if (!s)
		return NULL;
	s->g = (struct mpa_gather){
		.out = s->out,
		.max_out = MPA_SCRATCH_OUT,
		.ctl = s->bytes,
		.max_ctl = MPA_SCRATCH_CTL,
	};
	s->atomic = atomic;
	s->written = false;
	s->nr_runs = 0;
	s->len = 0;
	s->fpdus = 0;
	s->room = 0;
	s->added = 0;
	s->staged = 0;
	return s;
}

/* Drops the references to fragments, except to the current one. */
static void scratch_put_frags(struct mpa_scratch *s)
{
	while (s->nr_runs)
		if (s->run[--s->nr_runs].bv_page != s->frag.page)
			put_page(s->run[s->nr_runs].bv_page);
}

/**
 * mpa_scratch_put - return the memory of a batch
 * @s: what mpa_scratch_get() returned
 *
 * Same context as there.
 */
void mpa_scratch_put(struct mpa_scratch *s)
{
	scratch_put_frags(s);
	if (!scratch_keep_at_hand(s) && !scratch_keep_listed(s))
		scratch_destroy(s);
}

/**
 * mpa_scratch_drain - free all memory; none may be in use
 */
void mpa_scratch_drain(void)
{
	struct mpa_scratch **at_hand, *s;
	int i, cpu;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < ARRAY_SIZE(scratch_at_hand); i++) {
			at_hand = per_cpu_ptr(&scratch_at_hand[i], cpu);
			if (*at_hand)
				scratch_destroy(*at_hand);
			*at_hand = NULL;
		}
	}
	while ((s = scratch_take_listed(true)))
		scratch_destroy(s);
}

/* Allocates as TCP does for what it copies, without sleeping. */
static struct page *frag_alloc(void)
{
	return alloc_pages(GFP_NOWAIT | __GFP_COMP | __GFP_NOWARN |
			   __GFP_NORETRY | __GFP_NOMEMALLOC,
			   get_order(MPA_FRAG_BYTES));
}

/* The batch continues or begins on @frag, behind what was written there. */
static void frag_begin_run(struct mpa_scratch *s)
{
	s->run[s->nr_runs++] = (struct bio_vec){
		.bv_page = s->frag.page,
		.bv_offset = s->frag.used,
	};
}

/**
 * mpa_frag_begin - begin a piece of the batch that has room for an FPDU
 * @s: the batch
 * @len: bytes of the FPDU, at most %MPA_FRAG_BYTES
 *
 * Does not sleep. A batch begins on the fragment of the previous one if that
 * has room; otherwise the rest of that fragment is not used.
 *
 * Return: false if there is no memory or the batch has %MPA_FRAGS fragments;
 * then nothing was changed.
 */
bool mpa_frag_begin(struct mpa_scratch *s, u32 len)
{
	struct page *page;

	if (s->nr_runs == MPA_FRAGS)
		return false;
	if (!s->frag.page || mpa_frag_left(s) < len) {
		page = frag_alloc();
		if (!page)
			return false;
		/*
		 * If the batch has a piece on it, mpa_scratch_put() drops it.
		 */
		if (s->frag.page && !s->nr_runs)
			put_page(s->frag.page);
		s->frag.page = page;
		s->frag.bytes = page_address(page);
		s->frag.used = 0;
	}
	frag_begin_run(s);
	return true;
}
