// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of other devices and of programs, as dma-bufs.
 *
 * This device copies with the processor, so it does not attach to the buffer
 * like a device that transfers by itself: it asks the exporter for a mapping,
 * which keeps the memory where it is, and tells it when access by the processor
 * begins and ends. In between are any number of accesses, at times that the
 * exporter does not learn. So this is for memory that the processor and the
 * exporter's device see alike, as with all exporters on coherent machines. An
 * exporter that cannot map its memory, or only as registers of its device, is
 * refused.
 */
#include <linux/dma-buf.h>
#include <linux/module.h>
#include <linux/overflow.h>

#include "compat/dmabuf.h"
#include "dmabuf.h"

MODULE_IMPORT_NS(MPA_DMA_BUF_NS);

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

	if (!d->buf->ops->vmap)
		return -EOPNOTSUPP;
	ret = mpa_dma_buf_vmap(d->buf, &map);
	if (ret)
		return ret;
	ret = dmabuf_begin(d->buf, &map);
	if (ret)
		mpa_dma_buf_vunmap(d->buf, &map);
	else
		d->at = map.vaddr;
	return ret;
}

/**
 * rnic_dmabuf_get() - map a dma-buf for access by the processor
 * @d: filled in; @d->buf remains NULL on failure
 * @fd: the calling process' file descriptor of the buffer
 * @offset: first byte that is needed
 * @len: bytes needed
 *
 * Process context; may wait for the exporter.
 *
 * Return: 0; -EBADF, -EINVAL: @fd is no dma-buf; -EINVAL: it is too short;
 * -EOPNOTSUPP: the exporter has no mapping for processors, or not of memory, or
 * the kernel has no dma-bufs;
 * others of the exporter.
 */
int rnic_dmabuf_get(struct rnic_dmabuf *d, int fd, u64 offset, u64 len)
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
		ret = dmabuf_map(d);
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
	dma_buf_put(d->buf);
	d->buf = NULL;
}
