// SPDX-License-Identifier: GPL-2.0-only
/* The operations of a device: what verbs, iw_cm and nldev call. */
#include <linux/sysfs.h>

#include "accept.h"
#include "cm_params.h"
#include "compat/verbs.h"
#include "connect.h"
#include "cq.h"
#include "cq_verbs.h"
#include "details.h"
#include "listen.h"
#include "mr_user.h"
#include "mr_verbs.h"
#include "mw.h"
#include "pd.h"
#include "qp.h"
#include "qp_stats.h"
#include "qp_verbs.h"
#include "query.h"
#include "ring.h"
#include "srq.h"
#include "srq_verbs.h"
#include "stats.h"
#include "ucontext.h"
#include "verbs.h"

static ssize_t rnic_abi_version_show(struct device *device,
				     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", MPA_ABI_VERSION);
}

/*
 * The provider recognizes the device by this attribute, since it has no driver
 * number.
 */
static struct device_attribute rnic_abi_version_attr = {
	.attr = { .name = MPA_ABI_SYSFS_ATTR, .mode = 0444 },
	.show = rnic_abi_version_show,
};

static struct attribute *rnic_attrs[] = {
	&rnic_abi_version_attr.attr,
	NULL
};

static const struct attribute_group rnic_attr_group = {
	.attrs = rnic_attrs,
};

MPA_CREATE_CQ_OP(rnic_op_create_cq, rnic_create_cq)

MPA_REG_USER_MR_OP(rnic_op_reg_user_mr, rnic_reg_user_mr)

MPA_RESIZE_CQ_OP(rnic_op_resize_cq, rnic_resize_cq)

MPA_REG_DMABUF_OP(rnic_op_reg_user_mr_dmabuf, rnic_reg_user_mr_dmabuf)

MPA_COUNTER_QP_OPS(rnic_op_counter_bind_qp, rnic_qp_stats_bind,
		   rnic_op_counter_unbind_qp, rnic_qp_stats_unbind)

const struct ib_device_ops rnic_device_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver		= MPA_ABI_VERSION,
	.device_group		= &rnic_attr_group,

	.advise_mr		= rnic_advise_mr,
	.alloc_hw_port_stats	= rnic_stats_alloc,
	.alloc_mr		= rnic_alloc_mr,
	.alloc_mw		= rnic_alloc_mw,
	.alloc_pd		= rnic_alloc_pd,
	.alloc_ucontext		= rnic_alloc_ucontext,
	.counter_alloc_stats	= rnic_qp_stats_alloc,
	.counter_bind_qp	= rnic_op_counter_bind_qp,
	.counter_dealloc	= rnic_qp_stats_dealloc,
	.counter_unbind_qp	= rnic_op_counter_unbind_qp,
	.counter_update_stats	= rnic_qp_stats_update,
	.create_cq		= rnic_op_create_cq,
	.create_qp		= rnic_create_qp,
	.create_srq		= rnic_create_srq,
	.dealloc_mw		= rnic_dealloc_mw,
	.dealloc_pd		= rnic_dealloc_pd,
	.dealloc_ucontext	= rnic_dealloc_ucontext,
	.dereg_mr		= rnic_dereg_mr,
	.destroy_cq		= rnic_destroy_cq,
	.destroy_qp		= rnic_destroy_qp,
	.destroy_srq		= rnic_destroy_srq,
	.disassociate_ucontext	= rnic_disassociate_ucontext,
	.fill_res_cm_id_entry	= rnic_fill_cm_id,
	.fill_res_cq_entry	= rnic_fill_cq,
	.fill_res_mr_entry	= rnic_fill_mr,
	.fill_res_qp_entry	= rnic_fill_qp,
	.fill_stat_mr_entry	= rnic_fill_mr_stat,
	.get_dev_fw_str		= rnic_get_fw_str,
	.get_dma_mr		= rnic_get_dma_mr,
	.get_hw_stats		= rnic_stats_get,
	.get_numa_node		= rnic_get_numa_node,
	.get_port_immutable	= rnic_get_port_immutable,
	.iw_accept		= rnic_iw_accept,
	.iw_add_ref		= rnic_iw_add_ref,
	.iw_connect		= rnic_iw_connect,
	.iw_create_listen	= rnic_iw_create_listen,
	.iw_destroy_listen	= rnic_iw_destroy_listen,
	.iw_get_qp		= rnic_iw_get_qp,
	.iw_reject		= rnic_iw_reject,
	.iw_rem_ref		= rnic_iw_rem_ref,
	.map_mr_sg		= rnic_map_mr_sg,
	.mmap			= rnic_mmap,
	.mmap_free		= rnic_mmap_free,
	.modify_cq		= rnic_modify_cq,
	.modify_qp		= rnic_modify_qp,
	.modify_srq		= rnic_modify_srq,
	.poll_cq		= rnic_poll_cq,
	.post_recv		= rnic_post_recv,
	.post_send		= rnic_post_send,
	.post_srq_recv		= rnic_post_srq_recv,
	.query_device		= rnic_query_device,
	.query_gid		= rnic_query_gid,
	.query_port		= rnic_query_port,
	.query_qp		= rnic_query_qp,
	.query_srq		= rnic_query_srq,
	.query_ucontext		= rnic_query_ucontext,
	.reg_user_mr		= rnic_op_reg_user_mr,
	.reg_user_mr_dmabuf	= rnic_op_reg_user_mr_dmabuf,
	.req_notify_cq		= rnic_req_notify_cq,
	.rereg_user_mr		= rnic_rereg_user_mr,
	MPA_SET_RESIZE_CQ_OP(rnic_op_resize_cq)
	MPA_COUNTER_INIT_OP
	MPA_FILL_RES_SRQ_OP(rnic_fill_srq)
	MPA_REPORT_PORT_EVENT_OP

	INIT_RDMA_OBJ_SIZE(ib_cq, rnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, rnic_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, rnic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, rnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, rnic_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rnic_ucontext, ibuctx),
};
