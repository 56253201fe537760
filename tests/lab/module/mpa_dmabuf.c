// SPDX-License-Identifier: GPL-2.0-only
/*
 * An exporter of dma-bufs, also of those that cannot be used.
 *
 *	fd = open("/dev/mpa_dmabuf", O_RDWR);
 *	write(fd, &(uint32_t[2]){ pages, kind }, 8);	make a buffer
 *	read(fd, &dmabuf, sizeof(int));			its file descriptor
 *
 * It can be mapped by programs. The parameters mapped and begun count mappings
 * for the processor and accesses by it that have not ended, attached and pinned
 * count what keeps memory in its place.
 */
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "../../../kernel/compat/dmabuf.h"

static int mapped;
module_param(mapped, int, 0444);
MODULE_PARM_DESC(mapped, "Mappings for the processor");

static int begun;
module_param(begun, int, 0444);
MODULE_PARM_DESC(begun, "Accesses by the processor that have not ended");

static int attached;
module_param(attached, int, 0444);
MODULE_PARM_DESC(attached, "Attachments of devices");

static int pinned;
module_param(pinned, int, 0444);
MODULE_PARM_DESC(pinned, "Attachments whose memory must not move");

static DEFINE_SPINLOCK(count_lock);

enum buffer_kind {
	BUFFER_MEMORY,
	BUFFER_REGISTERS,	/* mapped as registers of a device */
	BUFFER_BUSY,		/* access by the processor cannot begin */
	BUFFER_NO_MAPPING,	/* has no mapping for the processor */
	BUFFER_MAP_FAILS,	/* likewise, but seems to have one */
	BUFFER_NO_DEVICE,	/* no device can be attached */
	BUFFER_MOVABLE,		/* its memory moves unless it is pinned */
	BUFFER_STUCK,		/* likewise, but it cannot be pinned */
	BUFFER_KINDS
};

/**
 * struct buffer - a buffer
 * @memory: its bytes
 * @kind: what is wrong with it
 */
struct buffer {
	void *memory;
	enum buffer_kind kind;
};

static void count(int *what, int by)
{
	spin_lock(&count_lock);
	*what += by;
	spin_unlock(&count_lock);
}

static int buffer_attach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	struct buffer *b = buf->priv;

	if (b->kind == BUFFER_NO_DEVICE)
		return -ENXIO;
	count(&attached, 1);
	return 0;
}

static void buffer_detach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	count(&attached, -1);
}

static int buffer_pin(struct dma_buf_attachment *attach)
{
	struct buffer *b = attach->dmabuf->priv;

	if (b->kind == BUFFER_STUCK)
		return -EBUSY;
	count(&pinned, 1);
	return 0;
}

static void buffer_unpin(struct dma_buf_attachment *attach)
{
	count(&pinned, -1);
}

static struct sg_table *buffer_map(struct dma_buf_attachment *attach,
				   enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void buffer_unmap(struct dma_buf_attachment *attach,
			 struct sg_table *table, enum dma_data_direction dir)
{
}

static int buffer_mmap(struct dma_buf *buf, struct vm_area_struct *vma)
{
	struct buffer *b = buf->priv;

	return remap_vmalloc_range(vma, b->memory, vma->vm_pgoff);
}

static int buffer_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct buffer *b = buf->priv;

	if (b->kind == BUFFER_MAP_FAILS)
		return -EOPNOTSUPP;
	if (b->kind == BUFFER_REGISTERS)
		iosys_map_set_vaddr_iomem(map, (void __iomem *)b->memory);
	else
		iosys_map_set_vaddr(map, b->memory);
	count(&mapped, 1);
	return 0;
}

static void buffer_vunmap(struct dma_buf *buf, struct iosys_map *map)
{
	count(&mapped, -1);
}

static int buffer_begin(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct buffer *b = buf->priv;

	if (b->kind == BUFFER_BUSY)
		return -EIO;
	count(&begun, 1);
	return 0;
}

static int buffer_end(struct dma_buf *buf, enum dma_data_direction dir)
{
	count(&begun, -1);
	return 0;
}

static void buffer_release(struct dma_buf *buf)
{
	struct buffer *b = buf->priv;

	vfree(b->memory);
	kfree(b);
}

/* Of all that the processor can map. */
#define BUFFER_OPS							\
	.attach			= buffer_attach,			\
	.detach			= buffer_detach,			\
	.map_dma_buf		= buffer_map,				\
	.unmap_dma_buf		= buffer_unmap,				\
	.begin_cpu_access	= buffer_begin,				\
	.end_cpu_access		= buffer_end,				\
	.mmap			= buffer_mmap,				\
	.vmap			= buffer_vmap,				\
	.vunmap			= buffer_vunmap,			\
	.release		= buffer_release

static const struct dma_buf_ops buffer_ops = {
	BUFFER_OPS,
};

static const struct dma_buf_ops buffer_movable_ops = {
	BUFFER_OPS,
	.pin			= buffer_pin,
	.unpin			= buffer_unpin,
};

static const struct dma_buf_ops buffer_unmapped_ops = {
	.map_dma_buf		= buffer_map,
	.unmap_dma_buf		= buffer_unmap,
	.release		= buffer_release,
};

static const struct dma_buf_ops *buffer_ops_of(enum buffer_kind kind)
{
	switch (kind) {
	case BUFFER_NO_MAPPING:
		return &buffer_unmapped_ops;
	case BUFFER_MOVABLE:
	case BUFFER_STUCK:
		return &buffer_movable_ops;
	default:
		return &buffer_ops;
	}
}

static struct dma_buf *buffer_export(struct buffer *b, size_t size)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	info.ops = buffer_ops_of(b->kind);
	info.size = size;
	info.flags = O_RDWR;
	info.priv = b;
	return dma_buf_export(&info);
}

static struct dma_buf *buffer_create(u32 pages, u32 kind)
{
	struct buffer *b = kzalloc(sizeof(*b), GFP_KERNEL);
	struct dma_buf *buf;

	if (!b)
		return ERR_PTR(-ENOMEM);
	b->kind = kind;
	b->memory = vmalloc_user((size_t)pages << PAGE_SHIFT);
	buf = b->memory ? buffer_export(b, (size_t)pages << PAGE_SHIFT) :
			  ERR_PTR(-ENOMEM);
	if (IS_ERR(buf)) {
		vfree(b->memory);
		kfree(b);
	}
	return buf;
}

static ssize_t exporter_write(struct file *file, const char __user *from,
			      size_t len, loff_t *pos)
{
	struct dma_buf *buf;
	u32 wanted[2];

	if (len != sizeof(wanted) || file->private_data)
		return -EINVAL;
	if (copy_from_user(wanted, from, sizeof(wanted)))
		return -EFAULT;
	if (!wanted[0] || wanted[0] > 1024 || wanted[1] >= BUFFER_KINDS)
		return -EINVAL;
	buf = buffer_create(wanted[0], wanted[1]);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	file->private_data = buf;
	return len;
}

static ssize_t exporter_read(struct file *file, char __user *to, size_t len,
			     loff_t *pos)
{
	struct dma_buf *buf = file->private_data;
	int fd;

	if (len != sizeof(fd) || !buf)
		return -EINVAL;
	fd = dma_buf_fd(buf, O_CLOEXEC);
	if (fd < 0)
		return fd;
	/* The descriptor has the reference. */
	file->private_data = NULL;
	return copy_to_user(to, &fd, sizeof(fd)) ? -EFAULT : len;
}

static int exporter_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return nonseekable_open(inode, file);
}

static int exporter_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		dma_buf_put(file->private_data);
	return 0;
}

static const struct file_operations exporter_fops = {
	.owner		= THIS_MODULE,
	.open		= exporter_open,
	.release	= exporter_release,
	.read		= exporter_read,
	.write		= exporter_write,
};

static struct miscdevice exporter_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "mpa_dmabuf",
	.fops	= &exporter_fops,
	.mode	= 0666,
};

module_misc_device(exporter_device);

MODULE_DESCRIPTION("Exporter of dma-bufs (tests only)");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(MPA_DMA_BUF_NS);
