// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which blocks of mpa.ko and mpa_rnic.ko were executed, in any context.
 *
 * The modules are compiled with -fsanitize-coverage=trace-pc: each block begins with a call
 * of __sanitizer_cov_trace_pc(). The kernel's KCOV has this function too, but records only
 * what the calling task executes; most of the receive path runs in a softirq, and much else
 * in work items.
 *
 * /dev/mpa_reached is mapped by a program: a byte for each byte of the text of mpa.ko, and
 * from byte REACHED_MODULE on for that of mpa_rnic.ko. A byte is set to 1 when the call that
 * returns there was executed. The program may clear it.
 */
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/vmalloc.h>

#include "compat/module.h"

enum {
	REACHED_MODULE	= 1 << 20,
	REACHED_MODULES	= 2,
};

struct reached_text {
	unsigned long base;
	unsigned long size;
};

static struct reached_text reached_texts[REACHED_MODULES];
static u8 *reached_map;

void __sanitizer_cov_trace_pc(void);

void notrace __sanitizer_cov_trace_pc(void)
{
	unsigned long pc = _RET_IP_;
	unsigned int n;

	for (n = 0; n < REACHED_MODULES; n++) {
		unsigned long offset = pc - READ_ONCE(reached_texts[n].base);
		u8 *byte;

		if (offset >= READ_ONCE(reached_texts[n].size))
			continue;
		byte = reached_map + n * REACHED_MODULE + offset;
		if (!READ_ONCE(*byte))
			WRITE_ONCE(*byte, 1);
		return;
	}
}
EXPORT_SYMBOL_GPL(__sanitizer_cov_trace_pc);

static int reached_index(const struct module *mod)
{
	if (!strcmp(mod->name, "mpa"))
		return 0;
	return strcmp(mod->name, "mpa_rnic") ? -1 : 1;
}

/* Before its first function runs: this module is loaded before those that need it. */
static int reached_notify(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct module *mod = data;
	int n = reached_index(mod);

	if (n < 0)
		return NOTIFY_DONE;
	if (event == MODULE_STATE_COMING) {
		WRITE_ONCE(reached_texts[n].base, mpa_module_text(mod));
		WRITE_ONCE(reached_texts[n].size,
			   min_t(unsigned long, mpa_module_text_size(mod), REACHED_MODULE));
	} else if (event == MODULE_STATE_GOING) {
		WRITE_ONCE(reached_texts[n].size, 0);
	}
	return NOTIFY_DONE;
}

static struct notifier_block reached_block = {
	.notifier_call	= reached_notify,
	/* Before tracepoints and others that call into the module. */
	.priority	= INT_MAX,
};

static int reached_mmap(struct file *file, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, reached_map, vma->vm_pgoff);
}

static const struct file_operations reached_fops = {
	.owner	= THIS_MODULE,
	.mmap	= reached_mmap,
};

static struct miscdevice reached_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "mpa_reached",
	.fops	= &reached_fops,
};

static int __init reached_init(void)
{
	int ret;

	reached_map = vmalloc_user(REACHED_MODULES * REACHED_MODULE);
	if (!reached_map)
		return -ENOMEM;
	ret = register_module_notifier(&reached_block);
	if (ret)
		goto out_free;
	ret = misc_register(&reached_device);
	if (ret)
		goto out_unregister;
	return 0;

out_unregister:
	unregister_module_notifier(&reached_block);
out_free:
	vfree(reached_map);
	return ret;
}

static void __exit reached_exit(void)
{
	misc_deregister(&reached_device);
	unregister_module_notifier(&reached_block);
	vfree(reached_map);
}

module_init(reached_init);
module_exit(reached_exit);
MODULE_DESCRIPTION("Which blocks of the modules mpa and mpa_rnic were executed");
MODULE_LICENSE("GPL");
