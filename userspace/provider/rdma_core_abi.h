/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The interface between libibverbs and its providers, as far as this provider
 * uses it. rdma-core keeps its header private, so that a provider built
 * outside its source tree has to declare the interface itself; the declarations
 * below are valid for rdma-core 44 to 58 (private ABI 34 and 57). The
 * assertions pin every layout; check-abi compares them, at build time, with the
 * providers that the installed libibverbs-dev carries.
 *
 * Only provider_abi.h may include this file.
 */
#ifndef RDMA_CORE_ABI_H
#define RDMA_CORE_ABI_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_user_ioctl_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IBVERBS_PABI_VERSION
#error "IBVERBS_PABI_VERSION must be the nn of libibverbs' symbol node IBVERBS_PRIVATE_nn"
#endif
#if IBVERBS_PABI_VERSION != 34 && IBVERBS_PABI_VERSION != 57
#error "this libibverbs has another private ABI: build the provider inside its rdma-core tree"
#endif

enum {
	VERBS_LOG_LEVEL_NONE,
	VERBS_LOG_ERR,
	VERBS_LOG_WARN,
	VERBS_LOG_INFO,
	VERBS_LOG_DEBUG,
};

/* verbs_match_ent.kind */
enum {
	VERBS_MATCH_SENTINEL	= 0,
	VERBS_MATCH_PCI		= 1,
	VERBS_MATCH_MODALIAS	= 2,
	VERBS_MATCH_DRIVER_ID	= 3,
};

/* verbs_qp.comp_mask */
enum verbs_qp_mask {
	VERBS_QP_XRCD	= 1 << 0,
	VERBS_QP_EX	= 1 << 1,
};

/* Two links of a list whose head libibverbs owns; never used here. */
struct rdma_core_list_node {
	void *next;
	void *prev;
};

/**
 * struct verbs_match_ent - one way in which a device may be recognised
 * @driver_data: given back to the provider
 * @u: the modalias pattern or the driver id, by @kind
 * @vendor: PCI vendor
 * @device: PCI device
 * @kind: VERBS_MATCH_*; %VERBS_MATCH_SENTINEL ends a table
 */
struct verbs_match_ent {
	void *driver_data;
	union {
		const char *modalias;
		uint64_t driver_id;
	} u;
	uint16_t vendor;
	uint16_t device;
	uint8_t kind;
};

/**
 * struct verbs_sysfs_dev - a device that libibverbs has found
 * @entry: list of them
 * @provider_data: for the provider
 * @match: entry of the match table that fitted, or NULL
 * @flags: what has been read lazily
 * @sysfs_name: "uverbsN"
 * @sysfs_cdev: its character device
 * @ibdev_name: name of the RDMA device
 * @ibdev_path: its directory in sysfs
 * @modalias: of the parent device
 * @node_guid: as the kernel states it
 * @driver_id: enum rdma_driver_id
 * @node_type: RNIC, CA...
 * @ibdev_idx: index the kernel gave the device
 * @num_ports: ports
 * @abi_ver: the kernel driver's uverbs_abi_ver
 * @time_created: of the character device
 */
struct verbs_sysfs_dev {
	struct rdma_core_list_node entry;
	void *provider_data;
	const struct verbs_match_ent *match;
	unsigned int flags;
	char sysfs_name[IBV_SYSFS_NAME_MAX];
	dev_t sysfs_cdev;
	char ibdev_name[IBV_SYSFS_NAME_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
	char modalias[512];
	uint64_t node_guid;
	uint32_t driver_id;
	enum ibv_node_type node_type;
	int ibdev_idx;
	uint32_t num_ports;
	uint32_t abi_ver;
	struct timespec time_created;
};

struct ibv_command_buffer;
struct ibv_fd_arr;
struct verbs_device;

/**
 * struct verbs_device_ops - what a provider registers
 * @name: of the provider
 * @match_min_abi_version: least verbs_sysfs_dev.abi_ver that is served
 * @match_max_abi_version: greatest
 * @match_table: ends with %VERBS_MATCH_SENTINEL; not NULL
 * @static_providers: for statically linked programs
 * @match_device: decides whether this provider serves a device
 * @alloc_context: open a device; takes over cmd_fd
 * @import_context: open a device over another process' cmd_fd
 * @alloc_device: make the provider's representation of a device
 * @uninit_device: free it
 */
struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs_dev);
	struct verbs_context *(*alloc_context)(struct ibv_device *device,
					       int cmd_fd, void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device,
						int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct verbs_device *device);
};

/**
 * struct verbs_device - the provider-visible part of a device
 * @device: the public part
 * @ops: of the provider
 * @refcount: atomic, libibverbs' own
 * @entry: list of devices
 * @sysfs: where the device was found
 * @core_support: what the kernel's RDMA core offers
 */
struct verbs_device {
	struct ibv_device device;
	const struct verbs_device_ops *ops;
	int refcount;
	struct rdma_core_list_node entry;
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

enum ibv_mr_type {
	IBV_MR_TYPE_MR,
	IBV_MR_TYPE_NULL_MR,
	IBV_MR_TYPE_IMPORTED_MR,
	IBV_MR_TYPE_DMABUF_MR,
};

/**
 * struct verbs_mr - a memory region
 * @ibv_mr: the public part
 * @mr_type: how it came about
 * @access: IBV_ACCESS_*
 */
struct verbs_mr {
	struct ibv_mr ibv_mr;
	enum ibv_mr_type mr_type;
	int access;
};

/**
 * struct verbs_qp - a queue pair
 * @qp: the public part
 * @qp_ex: the same with the extended interface
 * @comp_mask: VERBS_QP_*
 * @xrcd: XRC domain
 */
struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask;
	struct verbs_xrcd *xrcd;
};

/**
 * struct verbs_cq - a completion queue
 * @cq: the public part
 * @cq_ex: the same with the extended interface
 */
struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
};

/*
 * Every operation a provider may implement, in the order of the table.
 * OP(result, name, arguments) is one that this provider implements,
 * SLOT(name) reserves the place of another.
 */
#define VERBS_CONTEXT_OPS(OP, SLOT)					\
	OP(int, advise_mr,						\
	   (struct ibv_pd *, enum ibv_advise_mr_advice, uint32_t,	\
	    struct ibv_sge *, uint32_t))				\
	SLOT(alloc_dm)							\
	OP(struct ibv_mw *, alloc_mw,					\
	   (struct ibv_pd *, enum ibv_mw_type))				\
	SLOT(alloc_null_mr)						\
	OP(struct ibv_pd *, alloc_parent_domain,			\
	   (struct ibv_context *, struct ibv_parent_domain_init_attr *)) \
	OP(struct ibv_pd *, alloc_pd, (struct ibv_context *))		\
	OP(struct ibv_td *, alloc_td,					\
	   (struct ibv_context *, struct ibv_td_init_attr *))		\
	SLOT(async_event)						\
	SLOT(attach_counters_point_flow)				\
	SLOT(attach_mcast)						\
	OP(int, bind_mw, (struct ibv_qp *, struct ibv_mw *,		\
			  struct ibv_mw_bind *))			\
	SLOT(close_xrcd)						\
	SLOT(cq_event)							\
	SLOT(create_ah)							\
	SLOT(create_counters)						\
	OP(struct ibv_cq *, create_cq,					\
	   (struct ibv_context *, int, struct ibv_comp_channel *, int))	\
	OP(struct ibv_cq_ex *, create_cq_ex,				\
	   (struct ibv_context *, struct ibv_cq_init_attr_ex *))	\
	SLOT(create_flow)						\
	SLOT(create_flow_action_esp)					\
	OP(struct ibv_qp *, create_qp,					\
	   (struct ibv_pd *, struct ibv_qp_init_attr *))		\
	OP(struct ibv_qp *, create_qp_ex,				\
	   (struct ibv_context *, struct ibv_qp_init_attr_ex *))	\
	SLOT(create_rwq_ind_table)					\
	OP(struct ibv_srq *, create_srq,				\
	   (struct ibv_pd *, struct ibv_srq_init_attr *))		\
	SLOT(create_srq_ex)						\
	SLOT(create_wq)							\
	OP(int, dealloc_mw, (struct ibv_mw *))				\
	OP(int, dealloc_pd, (struct ibv_pd *))				\
	OP(int, dealloc_td, (struct ibv_td *))				\
	OP(int, dereg_mr, (struct verbs_mr *))				\
	SLOT(destroy_ah)						\
	SLOT(destroy_counters)						\
	OP(int, destroy_cq, (struct ibv_cq *))				\
	SLOT(destroy_flow)						\
	SLOT(destroy_flow_action)					\
	OP(int, destroy_qp, (struct ibv_qp *))				\
	SLOT(destroy_rwq_ind_table)					\
	OP(int, destroy_srq, (struct ibv_srq *))			\
	SLOT(destroy_wq)						\
	SLOT(detach_mcast)						\
	OP(void, free_context, (struct ibv_context *))			\
	SLOT(free_dm)							\
	SLOT(get_srq_num)						\
	SLOT(import_dm)							\
	OP(struct ibv_mr *, import_mr, (struct ibv_pd *, uint32_t))	\
	OP(struct ibv_pd *, import_pd, (struct ibv_context *, uint32_t)) \
	OP(int, modify_cq, (struct ibv_cq *, struct ibv_modify_cq_attr *)) \
	SLOT(modify_flow_action_esp)					\
	OP(int, modify_qp, (struct ibv_qp *, struct ibv_qp_attr *, int)) \
	SLOT(modify_qp_rate_limit)					\
	OP(int, modify_srq, (struct ibv_srq *, struct ibv_srq_attr *, int)) \
	SLOT(modify_wq)							\
	SLOT(open_qp)							\
	SLOT(open_xrcd)							\
	OP(int, poll_cq, (struct ibv_cq *, int, struct ibv_wc *))	\
	OP(int, post_recv, (struct ibv_qp *, struct ibv_recv_wr *,	\
			    struct ibv_recv_wr **))			\
	OP(int, post_send, (struct ibv_qp *, struct ibv_send_wr *,	\
			    struct ibv_send_wr **))			\
	SLOT(post_srq_ops)						\
	OP(int, post_srq_recv, (struct ibv_srq *, struct ibv_recv_wr *,	\
				struct ibv_recv_wr **))			\
	OP(int, query_device_ex,					\
	   (struct ibv_context *, const struct ibv_query_device_ex_input *, \
	    struct ibv_device_attr_ex *, size_t))			\
	SLOT(query_ece)							\
	OP(int, query_port, (struct ibv_context *, uint8_t,		\
			     struct ibv_port_attr *))			\
	OP(int, query_qp, (struct ibv_qp *, struct ibv_qp_attr *, int,	\
			   struct ibv_qp_init_attr *))			\
	SLOT(query_qp_data_in_order)					\
	OP(int, query_rt_values,					\
	   (struct ibv_context *, struct ibv_values_ex *))		\
	OP(int, query_srq, (struct ibv_srq *, struct ibv_srq_attr *))	\
	SLOT(read_counters)						\
	SLOT(reg_dm_mr)							\
	OP(struct ibv_mr *, reg_dmabuf_mr,				\
	   (struct ibv_pd *, uint64_t, size_t, uint64_t, int, int))	\
	OP(struct ibv_mr *, reg_mr,					\
	   (struct ibv_pd *, void *, size_t, uint64_t, int))		\
	OP(int, req_notify_cq, (struct ibv_cq *, int))			\
	OP(int, rereg_mr,						\
	   (struct verbs_mr *, int, struct ibv_pd *, void *, size_t, int)) \
	OP(int, resize_cq, (struct ibv_cq *, int))			\
	SLOT(set_ece)							\
	SLOT(unimport_dm)						\
	OP(void, unimport_mr, (struct ibv_mr *))			\
	OP(void, unimport_pd, (struct ibv_pd *))

#define VERBS_OP_MEMBER(result, name, arguments) result (*name)arguments;
#define VERBS_SLOT_MEMBER(name) void (*name)(void);

/*
 * Operations of an open device: one pointer for each entry of
 * VERBS_CONTEXT_OPS(); NULL stands for "not supported".
 */
struct verbs_context_ops {
	VERBS_CONTEXT_OPS(VERBS_OP_MEMBER, VERBS_SLOT_MEMBER)
};

/*
 * Commands: the header of the kernel's write() interface, then the kernel's own
 * structure. The _ex ones have the extended header in between; libibverbs fills
 * it in.
 */
#define VERBS_CMD(verb)							\
	struct ibv_##verb {						\
		struct ib_uverbs_cmd_hdr hdr;				\
		struct ib_uverbs_##verb core_payload;			\
	}

VERBS_CMD(get_context);
VERBS_CMD(alloc_pd);
VERBS_CMD(reg_mr);
VERBS_CMD(rereg_mr);
VERBS_CMD(alloc_mw);
VERBS_CMD(create_qp);
VERBS_CMD(modify_qp);
VERBS_CMD(query_qp);
VERBS_CMD(query_port);
VERBS_CMD(resize_cq);
VERBS_CMD(create_srq);
VERBS_CMD(modify_srq);
VERBS_CMD(query_srq);

struct ibv_create_cq_ex {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_ex_cmd_hdr ex_hdr;
	struct ib_uverbs_ex_create_cq core_payload;
};

struct ibv_modify_cq {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_ex_cmd_hdr ex_hdr;
	struct ib_uverbs_ex_modify_cq core_payload;
};

struct ibv_command_buffer;

/* Functions of libibverbs, all in its private symbol node. */
#define VERBS_PASTE(a, b) a##b
#define VERBS_REGISTER_DRIVER(pabi) VERBS_PASTE(verbs_register_driver_, pabi)
#define verbs_register_driver VERBS_REGISTER_DRIVER(IBVERBS_PABI_VERSION)

void verbs_register_driver(const struct verbs_device_ops *ops);
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size,
				    struct verbs_context *context_offset,
				    uint32_t driver_id);
void verbs_uninit_context(struct verbs_context *context);
void verbs_set_ops(struct verbs_context *context,
		   const struct verbs_context_ops *ops);
void __verbs_log(struct verbs_context *context, uint32_t level,
		 const char *format, ...) __attribute__((format(printf, 3, 4)));
int ibv_read_ibdev_sysfs_file(char *buf, size_t size,
			      struct verbs_sysfs_dev *sysfs_dev,
			      const char *format, ...)
	__attribute__((format(printf, 4, 5)));

int ibv_cmd_get_context(struct verbs_context *context,
			struct ibv_get_context *cmd, size_t cmd_size,
#if IBVERBS_PABI_VERSION >= 57
			struct ibv_fd_arr *fds,
#endif
			struct ib_uverbs_get_context_resp *resp,
			size_t resp_size);
int ibv_cmd_query_context(struct ibv_context *context,
			  struct ibv_command_buffer *driver);
int ibv_cmd_query_mr(struct ibv_pd *pd, struct verbs_mr *mr, uint32_t handle);
int ibv_cmd_query_device_any(struct ibv_context *context,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp,
			     size_t *resp_size);
int ibv_cmd_query_port(struct ibv_context *context, uint8_t port_num,
		       struct ibv_port_attr *attr, struct ibv_query_port *cmd,
		       size_t cmd_size);
int ibv_cmd_alloc_pd(struct ibv_context *context, struct ibv_pd *pd,
		     struct ibv_alloc_pd *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size);
int ibv_cmd_dealloc_pd(struct ibv_pd *pd);
int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
		   uint64_t hca_va, int access, struct verbs_mr *mr,
		   struct ibv_reg_mr *cmd, size_t cmd_size,
		   struct ib_uverbs_reg_mr_resp *resp, size_t resp_size);
int ibv_cmd_dereg_mr(struct verbs_mr *mr);
int ibv_cmd_rereg_mr(struct verbs_mr *mr, uint32_t flags, void *addr,
		     size_t length, uint64_t hca_va, int access,
		     struct ibv_pd *pd, struct ibv_rereg_mr *cmd,
		     size_t cmd_size, struct ib_uverbs_rereg_mr_resp *resp,
		     size_t resp_size);
/*
 * The last argument is there since 54. Versions before take no notice of it, as
 * the calling conventions of C go.
 */
int ibv_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
			  uint64_t iova, int fd, int access,
			  struct verbs_mr *mr,
			  struct ibv_command_buffer *driver);
int ibv_cmd_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      uint32_t flags, struct ibv_sge *sg_list,
		      uint32_t num_sge);
int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type,
		     struct ibv_mw *mw, struct ibv_alloc_mw *cmd,
		     size_t cmd_size, struct ib_uverbs_alloc_mw_resp *resp,
		     size_t resp_size);
int ibv_cmd_dealloc_mw(struct ibv_mw *mw);
int ibv_cmd_create_cq_ex(struct ibv_context *context,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t flags);
int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size);
int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr,
		      struct ibv_modify_cq *cmd, size_t cmd_size);
int ibv_cmd_destroy_cq(struct ibv_cq *cq);
int ibv_cmd_create_qp_ex(struct ibv_context *context, struct verbs_qp *qp,
			 struct ibv_qp_init_attr_ex *attr,
			 struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp,
			 size_t resp_size);
int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_modify_qp *cmd, size_t cmd_size);
int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init_attr,
		     struct ibv_query_qp *cmd, size_t cmd_size);
int ibv_cmd_destroy_qp(struct ibv_qp *qp);
int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp,
		       size_t resp_size);
int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
		       struct ibv_modify_srq *cmd, size_t cmd_size);
int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		      struct ibv_query_srq *cmd, size_t cmd_size);
int ibv_cmd_destroy_srq(struct ibv_srq *srq);
int ibv_cmd_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr);

/* Registers a provider when its library is loaded. */
#define PROVIDER_DRIVER(provider, device_ops)				\
	static __attribute__((constructor)) void provider##_register(void) \
	{								\
		verbs_register_driver(&device_ops);			\
	}

/* Layouts that do not depend on the C library. */
static_assert(sizeof(struct verbs_context_ops) == 76 * sizeof(void *),
	      "verbs_context_ops");
static_assert(sizeof(struct verbs_qp) ==
	      sizeof(struct ibv_qp_ex) + 2 * sizeof(void *), "verbs_qp");
static_assert(sizeof(struct verbs_cq) == sizeof(struct ibv_cq_ex), "verbs_cq");
static_assert(sizeof(struct ibv_get_context) == 16, "ibv_get_context");
static_assert(sizeof(struct ibv_alloc_pd) == 16, "ibv_alloc_pd");
static_assert(sizeof(struct ibv_reg_mr) == 48, "ibv_reg_mr");
static_assert(sizeof(struct ibv_rereg_mr) == 56, "ibv_rereg_mr");
static_assert(sizeof(struct ibv_alloc_mw) == 24, "ibv_alloc_mw");
static_assert(sizeof(struct ibv_create_qp) == 64, "ibv_create_qp");
static_assert(sizeof(struct ibv_modify_qp) == 120, "ibv_modify_qp");
static_assert(sizeof(struct ibv_query_qp) == 24, "ibv_query_qp");
static_assert(sizeof(struct ibv_query_port) == 24, "ibv_query_port");
static_assert(sizeof(struct ibv_create_srq) == 40, "ibv_create_srq");
static_assert(sizeof(struct ibv_modify_srq) == 24, "ibv_modify_srq");
static_assert(sizeof(struct ibv_query_srq) == 24, "ibv_query_srq");
static_assert(sizeof(struct ibv_create_cq_ex) == 56, "ibv_create_cq_ex");
static_assert(sizeof(struct ibv_resize_cq) == 24, "ibv_resize_cq");
static_assert(sizeof(struct ibv_modify_cq) == 40, "ibv_modify_cq");

#if defined(__x86_64__) && defined(__LP64__)
static_assert(sizeof(struct verbs_match_ent) == 24, "verbs_match_ent");

static_assert(offsetof(struct verbs_sysfs_dev, entry) == 0, "entry");
static_assert(offsetof(struct verbs_sysfs_dev, provider_data) == 16,
	      "provider_data");
static_assert(offsetof(struct verbs_sysfs_dev, match) == 24, "match");
static_assert(offsetof(struct verbs_sysfs_dev, flags) == 32, "flags");
static_assert(offsetof(struct verbs_sysfs_dev, sysfs_name) == 36,
	      "sysfs_name");
static_assert(offsetof(struct verbs_sysfs_dev, sysfs_cdev) == 104,
	      "sysfs_cdev");
static_assert(offsetof(struct verbs_sysfs_dev, ibdev_name) == 112,
	      "ibdev_name");
static_assert(offsetof(struct verbs_sysfs_dev, ibdev_path) == 176,
	      "ibdev_path");
static_assert(offsetof(struct verbs_sysfs_dev, modalias) == 432, "modalias");
static_assert(offsetof(struct verbs_sysfs_dev, node_guid) == 944, "node_guid");
static_assert(offsetof(struct verbs_sysfs_dev, driver_id) == 952, "driver_id");
static_assert(offsetof(struct verbs_sysfs_dev, node_type) == 956, "node_type");
static_assert(offsetof(struct verbs_sysfs_dev, ibdev_idx) == 960, "ibdev_idx");
static_assert(offsetof(struct verbs_sysfs_dev, num_ports) == 964, "num_ports");
static_assert(offsetof(struct verbs_sysfs_dev, abi_ver) == 968, "abi_ver");
static_assert(offsetof(struct verbs_sysfs_dev, time_created) == 976,
	      "time_created");
static_assert(sizeof(struct verbs_sysfs_dev) == 992, "verbs_sysfs_dev");

static_assert(offsetof(struct verbs_device_ops, match_min_abi_version) == 8,
	      "match_min_abi_version");
static_assert(offsetof(struct verbs_device_ops, match_max_abi_version) == 12,
	      "match_max_abi_version");
static_assert(offsetof(struct verbs_device_ops, match_table) == 16,
	      "match_table");
static_assert(offsetof(struct verbs_device_ops, static_providers) == 24,
	      "static_providers");
static_assert(offsetof(struct verbs_device_ops, match_device) == 32,
	      "match_device");
static_assert(offsetof(struct verbs_device_ops, alloc_context) == 40,
	      "alloc_context");
static_assert(offsetof(struct verbs_device_ops, import_context) == 48,
	      "import_context");
static_assert(offsetof(struct verbs_device_ops, alloc_device) == 56,
	      "alloc_device");
static_assert(offsetof(struct verbs_device_ops, uninit_device) == 64,
	      "uninit_device");
static_assert(sizeof(struct verbs_device_ops) == 72, "verbs_device_ops");

static_assert(offsetof(struct verbs_device, ops) == 664, "ops");
static_assert(offsetof(struct verbs_device, refcount) == 672, "refcount");
static_assert(offsetof(struct verbs_device, entry) == 680, "entry");
static_assert(offsetof(struct verbs_device, sysfs) == 696, "sysfs");
static_assert(offsetof(struct verbs_device, core_support) == 704,
	      "core_support");
static_assert(sizeof(struct verbs_device) == 712, "verbs_device");

static_assert(offsetof(struct verbs_context, sz) == 312, "sz");
static_assert(offsetof(struct verbs_context, context) == 320, "context");
static_assert(sizeof(struct verbs_context) == 648, "verbs_context");

static_assert(sizeof(struct verbs_mr) == 56, "verbs_mr");
/* The public structure grows: 352 bytes in rdma-core 44, 360 from 45 on. */
static_assert(offsetof(struct verbs_qp, comp_mask) == sizeof(struct ibv_qp_ex),
	      "comp_mask");
static_assert(sizeof(struct verbs_qp) == sizeof(struct ibv_qp_ex) + 16,
	      "verbs_qp");
static_assert(sizeof(struct verbs_cq) == 288, "verbs_cq");
static_assert(sizeof(struct verbs_context_ops) == 608, "verbs_context_ops");
#endif

#ifdef __cplusplus
}
#endif

#endif /* RDMA_CORE_ABI_H */
