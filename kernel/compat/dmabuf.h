/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in dma-bufs.
 */
#ifndef MPA_COMPAT_DMABUF_H
#define MPA_COMPAT_DMABUF_H

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>

/* The namespace of the symbols: a string, or before 6.13 a bare word. */
#ifdef MPA_HAVE_NS_STRING
#define MPA_DMA_BUF_NS "DMA_BUF"
#else
#define MPA_DMA_BUF_NS DMA_BUF
#endif

/* What tells an importer that the memory moves. Not optional before it was renamed. */
#ifdef MPA_HAVE_DMA_BUF_INVALIDATE
#define MPA_DMA_BUF_MOVED invalidate_mappings
#else
#define MPA_DMA_BUF_MOVED move_notify
#endif

/**
 * mpa_dma_buf_lock - take the lock for mappings by the processor
 * @buf: the buffer
 */
static inline void mpa_dma_buf_lock(struct dma_buf *buf)
{
#ifdef MPA_HAVE_DMA_BUF_UNLOCKED
	dma_resv_lock(buf->resv, NULL);
#else
	mutex_lock(&buf->lock);
#endif
}

/**
 * mpa_dma_buf_unlock - undo mpa_dma_buf_lock()
 * @buf: the buffer
 */
static inline void mpa_dma_buf_unlock(struct dma_buf *buf)
{
#ifdef MPA_HAVE_DMA_BUF_UNLOCKED
	dma_resv_unlock(buf->resv);
#else
	mutex_unlock(&buf->lock);
#endif
}

/**
 * mpa_dma_buf_vmap - map a dma-buf for access by the processor
 * @buf: the buffer; its reservation is not locked
 * @map: set to the address
 *
 * Return: 0, or a negative error of the exporter.
 */
static inline int mpa_dma_buf_vmap(struct dma_buf *buf, struct iosys_map *map)
{
#ifdef MPA_HAVE_DMA_BUF_UNLOCKED
	return dma_buf_vmap_unlocked(buf, map);
#else
	return dma_buf_vmap(buf, map);
#endif
}

/**
 * mpa_dma_buf_vunmap - undo mpa_dma_buf_vmap()
 * @buf: the buffer; its reservation is not locked
 * @map: the address
 */
static inline void mpa_dma_buf_vunmap(struct dma_buf *buf, struct iosys_map *map)
{
#ifdef MPA_HAVE_DMA_BUF_UNLOCKED
	dma_buf_vunmap_unlocked(buf, map);
#else
	dma_buf_vunmap(buf, map);
#endif
}

#endif /* MPA_COMPAT_DMABUF_H */
