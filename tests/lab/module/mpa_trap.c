// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory whose page faults block until they are released, as userfaultfd or a
 * FUSE file does to a kernel that accesses a program's memory.
 *
 *	fd = open("/dev/mpa_trap", O_RDWR);
 *	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
 *
 * Any thread that touches a page sleeps. read() returns how many do, as an int;
 * a write() of anything releases all pages of this descriptor permanently; they
 * are zero.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

/**
 * struct trap - an open descriptor
 * @queue: threads that touched a page
 * @waiting: number of these threads
 * @released: page faults no longer block
 */
struct trap {
	wait_queue_head_t queue;
	atomic_t waiting;
	bool released;
};

/* Like userfaultfd, waits with the process's mmap lock released. */
static vm_fault_t trap_wait(struct vm_fault *vmf, struct trap *trap)
{
	struct file *file = get_file(vmf->vma->vm_file);

	mmap_read_unlock(vmf->vma->vm_mm);
	atomic_inc(&trap->waiting);
	wait_event_killable(trap->queue, READ_ONCE(trap->released));
	atomic_dec(&trap->waiting);
	fput(file);
	return VM_FAULT_RETRY;
}

static vm_fault_t trap_fault(struct vm_fault *vmf)
{
	struct trap *trap = vmf->vma->vm_private_data;

	if (!READ_ONCE(trap->released)) {
		if (!fault_flag_allow_retry_first(vmf->flags) ||
		    vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
			return VM_FAULT_SIGBUS;
		return trap_wait(vmf, trap);
	}
	vmf->page = alloc_page(GFP_HIGHUSER | __GFP_ZERO);
	return vmf->page ? 0 : VM_FAULT_OOM;
}

static const struct vm_operations_struct trap_vm_ops = {
	.fault	= trap_fault,
};

static int trap_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_private_data = file->private_data;
	vma->vm_ops = &trap_vm_ops;
	return 0;
}

static ssize_t trap_read(struct file *file, char __user *to, size_t len,
			 loff_t *pos)
{
	struct trap *trap = file->private_data;
	int waiting = atomic_read(&trap->waiting);

	if (len != sizeof(waiting))
		return -EINVAL;
	return copy_to_user(to, &waiting, sizeof(waiting)) ? -EFAULT : len;
}

static ssize_t trap_write(struct file *file, const char __user *from, size_t len,
			  loff_t *pos)
{
	struct trap *trap = file->private_data;

	WRITE_ONCE(trap->released, true);
	wake_up_all(&trap->queue);
	return len;
}

static int trap_open(struct inode *inode, struct file *file)
{
	struct trap *trap = kzalloc(sizeof(*trap), GFP_KERNEL);

	if (!trap)
		return -ENOMEM;
	init_waitqueue_head(&trap->queue);
	file->private_data = trap;
	return nonseekable_open(inode, file);
}

/* A mapping holds a reference to the file, so no thread waits any more. */
static int trap_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static const struct file_operations trap_fops = {
	.owner		= THIS_MODULE,
	.open		= trap_open,
	.release	= trap_release,
	.read		= trap_read,
	.write		= trap_write,
	.mmap		= trap_mmap,
};

static struct miscdevice trap_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "mpa_trap",
	.fops	= &trap_fops,
	.mode	= 0666,
};
module_misc_device(trap_device);

MODULE_DESCRIPTION("Memory whose page faults block until released");
MODULE_LICENSE("GPL");
