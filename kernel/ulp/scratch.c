// SPDX-License-Identifier: GPL-2.0-only
/*
 * Working memory for batches of FPDUs: a few pieces are kept for all streams,
 * one for each processor, since that is how many batches are built at a time.
 */
#include <linux/cpumask.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "scratch.h"

static DEFINE_SPINLOCK(lock);	/* protects the two below; process context */
static LIST_HEAD(idle);
static unsigned int nr_idle;

static struct mpa_scratch *take_idle(void)
{
	struct mpa_scratch *s;

	spin_lock(&lock);
	s = list_first_entry_or_null(&idle, struct mpa_scratch, entry);
	if (s) {
		list_del(&s->entry);
		nr_idle--;
	}
	spin_unlock(&lock);
	return s;
}

static struct mpa_scratch *create(void)
{
	/* Memory reclaim may be waiting for what is to be sent. */
	unsigned int noio = memalloc_noio_save();
	struct mpa_scratch *s = vmalloc(sizeof(*s));

	memalloc_noio_restore(noio);
	return s;
}

/**
 * mpa_scratch_get - get working memory for a batch
 *
 * Process context.
 *
 * Return: an empty batch; NULL if there is no memory.
 */
struct mpa_scratch *mpa_scratch_get(void)
{
	struct mpa_scratch *s = take_idle() ?: create();

	if (!s)
		return NULL;
	s->g = (struct mpa_gather){
		.out = s->out,
		.max_out = MPA_SCRATCH_OUT,
		.ctl = s->ctl,
		.max_ctl = MPA_SCRATCH_CTL,
	};
	s->fpdus = 0;
	s->staged = 0;
	return s;
}

/**
 * mpa_scratch_put - give working memory back
 * @s: what mpa_scratch_get() returned
 *
 * Process context.
 */
void mpa_scratch_put(struct mpa_scratch *s)
{
	bool keep;

	spin_lock(&lock);
	keep = nr_idle < num_online_cpus();
	if (keep) {
		list_add(&s->entry, &idle);
		nr_idle++;
	}
	spin_unlock(&lock);
	if (!keep)
		vfree(s);
}

/**
 * mpa_scratch_drain - free all working memory; none is in use
 */
void mpa_scratch_drain(void)
{
	struct mpa_scratch *s;

	while ((s = take_idle()))
		vfree(s);
}

/**
 * mpa_scratch_room - is there room for one more FPDU?
 * @s: the batch
 * @len: octets of ULPDU
 * @nr: pieces it is in
 *
 * Return: true if mpa_fpdu_gather() will find enough room, wherever Markers
 * fall.
 */
bool mpa_scratch_room(const struct mpa_scratch *s, u32 len, unsigned int nr)
{
	/* Each Marker may split a piece; length and trailer are two more. */
	u32 markers = len / (MPA_MARKER_PERIOD - MPA_MARKER_LEN) + 2;
	u32 pieces = nr + 2 * markers + 2;

	return s->fpdus < MPA_SCRATCH_FPDUS &&
	       pieces <= s->g.max_out - s->g.nr_out;
}
