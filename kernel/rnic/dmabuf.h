/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of other devices and of programs, as dma-bufs. */
#ifndef MPA_RNIC_DMABUF_H
#define MPA_RNIC_DMABUF_H

#include <linux/types.h>

struct device;
struct dma_buf;
struct dma_buf_attachment;

/**
 * struct rnic_dmabuf - a dma-buf mapped for the processor
 * @buf: the buffer, with a reference; NULL: there is none
 * @attach: what keeps its memory in its place
 * @at: address of its first byte
 */
struct rnic_dmabuf {
	struct dma_buf *buf;
	struct dma_buf_attachment *attach;
	void *at;
};

int rnic_dmabuf_get(struct rnic_dmabuf *d, struct device *dev, int fd,
		    u64 offset, u64 len);
void rnic_dmabuf_put(struct rnic_dmabuf *d);

#endif /* MPA_RNIC_DMABUF_H */
