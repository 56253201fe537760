// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commits one bug when it is loaded, which a sanitizer has to detect:
 *
 *	modprobe mpa_fault kind=race
 *
 * race: two threads access a word at the same time, with plain accesses.
 * marked: the same with marked accesses, which is not a bug.
 * after-free, out-of-bounds: a read of memory that was freed, or beyond its
 * end.
 */
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *kind = "";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "race, marked, after-free or out-of-bounds");

static unsigned int milliseconds = 1000;
module_param(milliseconds, uint, 0444);
MODULE_PARM_DESC(milliseconds, "run time of the two threads, 1 to 10000");

enum {
	FAULT_BYTES = 64,
};

struct fault_word {
	unsigned long value;
	bool marked;
};

static noinline void fault_write(struct fault_word *word, unsigned long value)
{
	if (word->marked)
		WRITE_ONCE(word->value, value);
	else
		word->value = value;
}

static noinline unsigned long fault_read(const struct fault_word *word)
{
	return word->marked ? READ_ONCE(word->value) : word->value;
}

static int fault_writer(void *data)
{
	struct fault_word *word = data;
	unsigned long n = 0;

	while (!kthread_should_stop()) {
		fault_write(word, ++n);
		cond_resched();
	}
	return 0;
}

/* The reader, on the other processor. */
static int fault_race(bool marked)
{
	unsigned long end = jiffies + msecs_to_jiffies(milliseconds);
	struct fault_word word = { .marked = marked };
	struct task_struct *writer;
	unsigned long sum = 0;

	writer = kthread_run(fault_writer, &word, "mpa_fault");
	if (IS_ERR(writer))
		return PTR_ERR(writer);
	while (time_before(jiffies, end)) {
		sum += fault_read(&word);
		cond_resched();
	}
	kthread_stop(writer);
	return sum ? 0 : -EIO;
}

/* Hidden from the compiler, which would warn. */
static noinline u8 fault_look(u8 *at)
{
	OPTIMIZER_HIDE_VAR(at);
	return READ_ONCE(*at);
}

static int fault_memory(bool freed)
{
	u8 *bytes = kzalloc(FAULT_BYTES, GFP_KERNEL);
	u8 got;

	if (!bytes)
		return -ENOMEM;
	if (freed)
		kfree(bytes);
	got = fault_look(bytes + (freed ? 0 : FAULT_BYTES));
	if (!freed)
		kfree(bytes);
	pr_info("read %u\n", got);
	return 0;
}

static int __init mpa_fault_init(void)
{
	if (!milliseconds || milliseconds > 10000)
		return -EINVAL;
	if (!strcmp(kind, "race"))
		return fault_race(false);
	if (!strcmp(kind, "marked"))
		return fault_race(true);
	if (!strcmp(kind, "after-free"))
		return fault_memory(true);
	if (!strcmp(kind, "out-of-bounds"))
		return fault_memory(false);
	return -EINVAL;
}

static void __exit mpa_fault_exit(void)
{
}

module_init(mpa_fault_init);
module_exit(mpa_fault_exit);

MODULE_DESCRIPTION("Bugs for sanitizers to detect");
MODULE_LICENSE("GPL");
