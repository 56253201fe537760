// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Devices, contexts, and memory regions, which only the kernel needs.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "mpa.h"

#define ABI_DIFFERS \
	"the module mpa_rnic has version %lu of the user ABI, the provider %u: upgrade the %s"
#define ABI_ARGUMENTS(version) \
	(version), MPA_ABI_VERSION, \
		(version) > MPA_ABI_VERSION ? "provider" : "modules"

/*
 * Responses: the RDMA core's part, then the part of this driver. The core's may
 * end in an array without a size, so it cannot be followed by a member of a
 * structure.
 */
union mpa_uverbs_get_context_resp {
	struct ib_uverbs_get_context_resp core;
	struct {
		uint8_t skip[sizeof(struct ib_uverbs_get_context_resp)];
		struct mpa_alloc_ucontext_resp drv;
	};
};

union mpa_uverbs_reg_mr_resp {
	struct ib_uverbs_reg_mr_resp core;
	struct {
		uint8_t skip[sizeof(struct ib_uverbs_reg_mr_resp)];
		struct mpa_reg_mr_resp drv;
	};
};

static_assert(offsetof(union mpa_uverbs_get_context_resp, drv) ==
	      sizeof(struct ib_uverbs_get_context_resp),
	      "get_context response");
static_assert(offsetof(union mpa_uverbs_reg_mr_resp, drv) ==
	      sizeof(struct ib_uverbs_reg_mr_resp), "reg_mr response");

static int query_device_ex(struct ibv_context *ibctx,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp = { 0 };
	size_t resp_size = sizeof(resp);
	uint64_t fw;
	int ret;

	ret = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	fw = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(fw >> 32) & 0xffff,
		 (unsigned int)(fw >> 16) & 0xffff, (unsigned int)fw & 0xffff);
	return 0;
}

static int query_port(struct ibv_context *ibctx, uint8_t port,
		      struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd = { 0 };

	return ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd));
}

/*
 * Time stamps of completions are those of CLOCK_MONOTONIC. Programs that compare
 * them read the whole clock from tv_nsec alone, if a long has room for it.
 */
static int query_rt_values(struct ibv_context *ibctx,
			   struct ibv_values_ex *values)
{
	struct timespec *clock = &values->raw_clock;

	(void)ibctx;
	values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
	if (!values->comp_mask)
		return 0;
	if (clock_gettime(CLOCK_MONOTONIC, clock))
		return errno;
	if (sizeof(clock->tv_nsec) == sizeof(int64_t)) {
		clock->tv_nsec += clock->tv_sec * 1000000000;
		clock->tv_sec = 0;
	}
	return 0;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			     uint64_t hca_va, int access)
{
	union mpa_uverbs_reg_mr_resp resp = { .drv = { 0 } };
	struct ibv_reg_mr cmd = { 0 };
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int ret;

	if (!mr) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, mr, &cmd,
			     sizeof(cmd), &resp.core, sizeof(resp));
	if (!ret)
		return &mr->ibv_mr;

	free(mr);
	errno = ret;
	return NULL;
}

static struct ibv_mr *reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				    size_t length, uint64_t iova, int fd,
				    int access)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int ret;

	if (!mr) {
		errno = ENOMEM;
		return NULL;
	}
	ret = mpa_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mr);
	if (!ret)
		return &mr->ibv_mr;

	free(mr);
	errno = ret;
	return NULL;
}

static int rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd,
		    void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = { 0 };
	struct ibv_rereg_mr cmd = { 0 };

	return ibv_cmd_rereg_mr(mr, (uint32_t)flags, addr, length,
				(uintptr_t)addr, access, pd, &cmd, sizeof(cmd),
				&resp, sizeof(resp));
}

static int dereg_mr(struct verbs_mr *mr)
{
	int ret = ibv_cmd_dereg_mr(mr);

	if (!ret)
		free(mr);
	return ret;
}

static void free_context(struct ibv_context *ibctx)
{
	struct mpa_context *ctx = to_mpa_context(ibctx);

	if (ctx->doorbell >= 0)
		close(ctx->doorbell);
	verbs_uninit_context(&ctx->base);
	free(ctx);
}

/* libibverbs fails the operations missing here with EOPNOTSUPP. */
static const struct verbs_context_ops mpa_context_ops = {
	.advise_mr = ibv_cmd_advise_mr,
	.alloc_mw = mpa_alloc_mw,
	.alloc_parent_domain = mpa_alloc_parent_domain,
	.alloc_pd = mpa_alloc_pd,
	.alloc_td = mpa_alloc_td,
	.bind_mw = mpa_bind_mw,
	.create_cq = mpa_create_cq,
	.create_cq_ex = mpa_create_cq_ex,
	.create_qp = mpa_create_qp,
	.create_qp_ex = mpa_create_qp_ex,
	.create_srq = mpa_create_srq,
	.dealloc_mw = mpa_dealloc_mw,
	.dealloc_pd = mpa_dealloc_pd,
	.dealloc_td = mpa_dealloc_td,
	.dereg_mr = dereg_mr,
	.destroy_cq = mpa_destroy_cq,
	.destroy_qp = mpa_destroy_qp,
	.destroy_srq = mpa_destroy_srq,
	.free_context = free_context,
	.import_mr = mpa_import_mr,
	.import_pd = mpa_import_pd,
	.modify_cq = mpa_modify_cq,
	.modify_qp = mpa_modify_qp,
	.modify_srq = mpa_modify_srq,
	.poll_cq = mpa_poll_cq,
	.post_recv = mpa_post_recv,
	.post_send = mpa_post_send,
	.post_srq_recv = mpa_post_srq_recv,
	.query_device_ex = query_device_ex,
	.query_port = query_port,
	.query_qp = mpa_query_qp,
	.query_rt_values = query_rt_values,
	.query_srq = mpa_query_srq,
	.reg_dmabuf_mr = reg_dmabuf_mr,
	.reg_mr = reg_mr,
	.req_notify_cq = mpa_req_notify_cq,
	.rereg_mr = rereg_mr,
	.resize_cq = mpa_resize_cq,
	.unimport_mr = mpa_unimport_mr,
	.unimport_pd = mpa_unimport_pd,
};

static int get_context(struct mpa_context *ctx)
{
	union mpa_uverbs_get_context_resp resp = { .drv = { 0 } };
	struct ibv_get_context cmd = { 0 };
	int ret;

	ret = mpa_cmd_get_context(&ctx->base, &cmd, sizeof(cmd), &resp.core,
				  sizeof(resp));
	if (ret)
		return ret;
	if (resp.drv.abi_version != MPA_ABI_VERSION) {
		mpa_err(ctx, ABI_DIFFERS,
			ABI_ARGUMENTS((unsigned long)resp.drv.abi_version));
		return EPROTONOSUPPORT;
	}
	ctx->features = resp.drv.features;
	return 0;
}

/* A command by ioctl() with one attribute. Returns 0 or a positive errno. */
static int command(struct mpa_context *ctx, uint16_t object, uint16_t method,
		   struct ib_uverbs_attr *attr)
{
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		char room[sizeof(struct ib_uverbs_ioctl_hdr) +
			  sizeof(struct ib_uverbs_attr)];
	} cmd = { 0 };

	cmd.hdr.length = sizeof(cmd);
	cmd.hdr.object_id = object;
	cmd.hdr.method_id = method;
	cmd.hdr.num_attrs = 1;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	cmd.hdr.attrs[0] = *attr;
	if (ioctl(ctx->base.context.cmd_fd, RDMA_VERBS_IOCTL, &cmd))
		return errno;
	*attr = cmd.hdr.attrs[0];
	return 0;
}

/* For a context that another process has opened. */
static int query_features(struct mpa_context *ctx)
{
	struct ib_uverbs_attr attr = {
		.attr_id = MPA_ATTR_QUERY_CONTEXT_FEATURES,
		.len = sizeof(ctx->features),
		.data = (uintptr_t)&ctx->features,
	};
	int ret = command(ctx, UVERBS_OBJECT_DEVICE,
			  UVERBS_METHOD_QUERY_CONTEXT, &attr);

	/* A module that does not know the attribute: nothing is used. */
	return ret == EPROTONOSUPPORT ? 0 : ret;
}

/* A program that has no descriptor left uses the command of the core. */
static void open_doorbell(struct mpa_context *ctx)
{
	struct ib_uverbs_attr attr = {
		.attr_id = MPA_ATTR_DOORBELL_CREATE_HANDLE,
	};

	if (ctx->features & MPA_FEATURE_DOORBELL &&
	    !command(ctx, MPA_OBJECT_DOORBELL, MPA_METHOD_DOORBELL_CREATE,
		     &attr))
		ctx->doorbell = (int)attr.data_s64;
}

static struct mpa_context *new_context(struct ibv_device *device, int cmd_fd)
{
	/*
	 * The interface gives the member's place as an offset from a null
	 * pointer.
	 */
	struct verbs_context *base_offset =
		(struct verbs_context *)offsetof(struct mpa_context, base);
	struct mpa_context *ctx =
		_verbs_init_and_alloc_context(device, cmd_fd,
					      sizeof(struct mpa_context),
					      base_offset, RDMA_DRIVER_UNKNOWN);

	if (ctx)
		ctx->doorbell = -1;
	return ctx;
}

/* Ends an attempt to open a device; a function of libibverbs has failed or not. */
static struct verbs_context *opened(struct mpa_context *ctx, int ret)
{
	if (ret) {
		free_context(&ctx->base.context);
		errno = ret;
		return NULL;
	}
	open_doorbell(ctx);
	verbs_set_ops(&ctx->base, &mpa_context_ops);
	return &ctx->base;
}

static struct verbs_context *alloc_context(struct ibv_device *device,
					   int cmd_fd, void *private_data)
{
	struct mpa_context *ctx = new_context(device, cmd_fd);

	(void)private_data;
	return ctx ? opened(ctx, get_context(ctx)) : NULL;
}

/* The process that opened the device has compared the versions. */
static struct verbs_context *import_context(struct ibv_device *device,
					    int cmd_fd)
{
	struct mpa_context *ctx = new_context(device, cmd_fd);
	int ret;

	if (!ctx)
		return NULL;
	ret = ibv_cmd_query_context(&ctx->base.context, NULL);
	return opened(ctx, ret ? ret : query_features(ctx));
}

/*
 * The kernel driver has no rdma_driver_id of its own; an attribute identifies
 * it.
 */
static bool match_device(struct verbs_sysfs_dev *sysfs_dev)
{
	unsigned long version;
	char value[16];
	char *end;

	if (ibv_read_ibdev_sysfs_file(value, sizeof(value), sysfs_dev,
				      MPA_ABI_SYSFS_ATTR) <= 0)
		return false;
	version = strtoul(value, &end, 10);
	if (end == value || (*end != '\0' && *end != '\n'))
		return false;
	/* libibverbs only says that there is no driver for the device. */
	if (version != MPA_ABI_VERSION)
		fprintf(stderr, "libmpa: " ABI_DIFFERS "\n",
			ABI_ARGUMENTS(version));
	return version == MPA_ABI_VERSION;
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	struct mpa_device *dev = calloc(1, sizeof(*dev));

	(void)sysfs_dev;
	return dev ? &dev->base : NULL;
}

static void uninit_device(struct verbs_device *base)
{
	free(mpa_container_of(base, struct mpa_device, base));
}

static const struct verbs_match_ent mpa_match_table[] = {
	{ .kind = VERBS_MATCH_SENTINEL },
};

static const struct verbs_device_ops mpa_device_ops = {
	.name = "mpa",
	.match_min_abi_version = MPA_ABI_VERSION,
	.match_max_abi_version = MPA_ABI_VERSION,
	.match_table = mpa_match_table,
	.match_device = match_device,
	.alloc_context = alloc_context,
	.import_context = import_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

PROVIDER_DRIVER(mpa, mpa_device_ops);
