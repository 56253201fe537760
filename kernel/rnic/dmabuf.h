/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of other devices and of programs, as dma-bufs. */
#ifndef MPA_RNIC_DMABUF_H
#define MPA_RNIC_DMABUF_H

#include <linux/types.h>

struct dma_buf;

/**
 * struct rnic_dmabuf - a dma-buf mapped for the processor
 * @buf: the buffer, with a reference; NULL: there is none
 * @at: address of its first byte
 */
struct rnic_dmabuf {
	struct dma_buf *buf;
	void *at;
};

int rnic_dmabuf_get(struct rnic_dmabuf *d, int fd, u64 offset, u64 len);
void rnic_dmabuf_put(struct rnic_dmabuf *d);

#endif /* MPA_RNIC_DMABUF_H */
