/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The only file that includes the private interface of rdma-core: the original
 * within an rdma-core tree (its CMakeLists.txt defines MPA_PROVIDER_IN_TREE),
 * the declaration in this directory anywhere else.
 */
#ifndef MPA_PROVIDER_ABI_H
#define MPA_PROVIDER_ABI_H

#ifdef MPA_PROVIDER_IN_TREE
#include <infiniband/driver.h>
#include <infiniband/kern-abi.h>
#include <rdma/ib_user_ioctl_verbs.h>
#else
#include "rdma_core_abi.h"
#endif

/* Wrappers for commands whose form differs between releases. */

/**
 * mpa_cmd_get_context() - open a context in the kernel
 * @context: open device
 * @cmd: request
 * @cmd_size: bytes of it
 * @resp: response
 * @resp_size: bytes of it, ours included
 *
 * Return: 0 or a positive errno.
 */
static inline int mpa_cmd_get_context(struct verbs_context *context,
				      struct ibv_get_context *cmd,
				      size_t cmd_size,
				      struct ib_uverbs_get_context_resp *resp,
				      size_t resp_size)
{
#if IBVERBS_PABI_VERSION >= 57
	/* Files that the provider may pass to the kernel. */
	return ibv_cmd_get_context(context, cmd, cmd_size, NULL, resp,
				   resp_size);
#else
	return ibv_cmd_get_context(context, cmd, cmd_size, resp, resp_size);
#endif
}

/**
 * mpa_cmd_create_cq() - make a completion queue
 * @ibctx: open device
 * @attr: what is wanted
 * @cq: filled in
 * @cmd: request
 * @cmd_size: bytes of it
 * @resp: response
 * @resp_size: bytes of it, ours included
 *
 * Return: 0 or a positive errno.
 */
static inline int mpa_cmd_create_cq(struct ibv_context *ibctx,
				    const struct ibv_cq_init_attr_ex *attr,
				    struct verbs_cq *cq,
				    struct ibv_create_cq_ex *cmd,
				    size_t cmd_size,
				    struct ib_uverbs_ex_create_cq_resp *resp,
				    size_t resp_size)
{
#if IBVERBS_PABI_VERSION >= 59
	/* Memory that the provider may supply. */
	return ibv_cmd_create_cq_ex(ibctx, attr, NULL, cq, cmd, cmd_size, resp,
				    resp_size, 0);
#else
	return ibv_cmd_create_cq_ex(ibctx, attr, cq, cmd, cmd_size, resp,
				    resp_size, 0);
#endif
}

/**
 * mpa_cmd_reg_dmabuf_mr() - register a dma-buf
 * @pd: protection domain
 * @offset: first byte in the buffer
 * @length: bytes
 * @iova: address of the first byte for the device
 * @fd: file descriptor of the buffer
 * @access: IBV_ACCESS_*
 * @mr: filled in
 *
 * Return: 0 or a positive errno.
 */
static inline int mpa_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					size_t length, uint64_t iova, int fd,
					int access, struct verbs_mr *mr)
{
#ifdef MPA_RDMA_CORE_BEFORE_54
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mr);
#else
	/* Attributes for the driver. */
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mr,
				     NULL);
#endif
}

#endif /* MPA_PROVIDER_ABI_H */
