// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of other devices and of programs, as dma-bufs.
 *
 * This device copies with the processor: it asks the exporter for a mapping, and
 * tells it when access by the processor begins and ends. A mapping does not keep the
 * memory where it is, but an attachment does: exporters pin the memory for one,
 * or on request. The attachment is never mapped for the device.
 *
 * Between begin and end are any number of accesses, at times that the exporter does
 * not learn. So this is for memory that the processor and the exporter's device see
 * alike, as with all exporters on coherent machines. An exporter that cannot map its
 * memory, or only as registers of its device, is refused.
 */
#include <linux/dma-buf.h>
#include <linux/module.h>
#include <linux/overflow.h>

#include "compat/dmabuf.h"
#include "dmabuf.h"

MODULE_IMPORT_NS(MPA_DMA_BUF_NS);

/* Pinned memory does not move. */
static void dmabuf_moved(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops dmabuf_attach_ops = {
	.MPA_DMA_BUF_MOVED	= dmabuf_moved,
};

/*
 * An exporter that can move memory under a mapping of a device pins it on request,
 * any other in its attach callback. For an attachment of the other sort the core
 * would map the memory for the device.
 */
static int dmabuf_pin(struct rnic_dmabuf *d, struct device *dev)
{
	bool dynamic = dma_buf_is_dynamic(d->buf);
	struct dma_buf_attachment *attach;
	int ret;

	attach = dynamic ? dma_buf_dynamic_attach(d->buf, dev, &dmabuf_attach_ops, d) :
			   dma_buf_attach(d->buf, dev);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	d->attach = attach;
	if (!dynamic)
		return 0;
	dma_resv_lock(d->buf->resv, NULL);
	ret = dma_buf_pin(attach);
	dma_resv_unlock(d->buf->resv);
	if (ret)
		dma_buf_detach(d->buf, attach);
	return ret;
}

static void dmabuf_unpin(struct rnic_dmabuf *d)
{
	if (dma_buf_is_dynamic(d->buf)) {
		dma_resv_lock(d->buf->resv, NULL);
		dma_buf_unpin(d->attach);
		dma_resv_unlock(d->buf->resv);
	}
	dma_buf_detach(d->buf, d->attach);
}

/* Can the exporter map the buffer? dma_buf_vmap() warns about one that cannot. */
static int dmabuf_try_map(struct dma_buf *buf)
{
	struct iosys_map map;
	int ret = 0;

	if (!buf->ops->vmap)
		return -EOPNOTSUPP;
	mpa_dma_buf_lock(buf);
	if (!buf->vmapping_counter) {
		ret = buf->ops->vmap(buf, &map);
		if (!ret && buf->ops->vunmap)
			buf->ops->vunmap(buf, &map);
	}
	mpa_dma_buf_unlock(buf);
	return ret;
}

static int dmabuf_begin(struct dma_buf *buf, struct iosys_map *map)
{
	if (map->is_iomem)
		return -EOPNOTSUPP;
	/* Waits for what the exporter's device still writes. */
	return dma_buf_begin_cpu_access(buf, DMA_BIDIRECTIONAL);
}

static int dmabuf_map(struct rnic_dmabuf *d)
{
	struct iosys_map map;
	int ret;

	ret = dmabuf_try_map(d->buf) ?: mpa_dma_buf_vmap(d->buf, &map);
	if (ret)
		return ret;
	ret = dmabuf_begin(d->buf, &map);
	if (ret)
		mpa_dma_buf_vunmap(d->buf, &map);
	else
		d->at = map.vaddr;
	return ret;
}

static int dmabuf_open(struct rnic_dmabuf *d, struct device *dev)
{
	int ret = dmabuf_pin(d, dev);

	if (ret)
		return ret;
	ret = dmabuf_map(d);
	if (ret)
		dmabuf_unpin(d);
	return ret;
}

/**
 * rnic_dmabuf_get() - map a dma-buf for access by the processor
 * @d: filled in; @d->buf remains NULL on failure
 * @dev: the device that needs it, for the exporter
 * @fd: the calling process' file descriptor of the buffer
 * @offset: first byte that is needed
 * @len: bytes needed
 *
 * Process context; may wait for the exporter. The memory stays in its place until
 * rnic_dmabuf_put().
 *
 * Return: 0; -EBADF, -EINVAL: @fd is no dma-buf; -EINVAL: it is too short;
 * -EOPNOTSUPP: the exporter has no mapping for processors, or not of memory, or
 * the kernel has no dma-bufs;
 * others of the exporter.
 */
int rnic_dmabuf_get(struct rnic_dmabuf *d, struct device *dev, int fd,
		    u64 offset, u64 len)
{
	struct dma_buf *buf;
	int ret = -EINVAL;
	u64 end;

	if (!IS_ENABLED(CONFIG_DMA_SHARED_BUFFER))
		return -EOPNOTSUPP;
	buf = dma_buf_get(fd);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	d->buf = buf;
	if (!check_add_overflow(offset, len, &end) && end <= buf->size)
		ret = dmabuf_open(d, dev);
	if (ret) {
		d->buf = NULL;
		dma_buf_put(buf);
	}
	return ret;
}

/**
 * rnic_dmabuf_put() - undo rnic_dmabuf_get()
 * @d: the buffer, or one without @d->buf; nothing accesses it any more
 *
 * Process context.
 */
void rnic_dmabuf_put(struct rnic_dmabuf *d)
{
	struct iosys_map map;

	if (!IS_ENABLED(CONFIG_DMA_SHARED_BUFFER) || !d->buf)
		return;
	iosys_map_set_vaddr(&map, d->at);
	dma_buf_end_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	mpa_dma_buf_vunmap(d->buf, &map);
	dmabuf_unpin(d);
	dma_buf_put(d->buf);
	d->buf = NULL;
}
