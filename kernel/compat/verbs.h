/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in the operations of RDMA devices.
 */
#ifndef MPA_COMPAT_VERBS_H
#define MPA_COMPAT_VERBS_H

#include <linux/err.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rdma/uverbs_ioctl.h>

/**
 * MPA_CREATE_CQ_OP - define a &ib_device_ops.create_cq
 * @name: the function to define
 * @create: function to call with the CQ, its attributes and &struct ib_udata,
 *	which is NULL for a consumer in the kernel
 */
#ifdef MPA_HAVE_CREATE_CQ_ATTRS
#define MPA_CREATE_CQ_OP(name, create)					\
static int name(struct ib_cq *cq, const struct ib_cq_init_attr *attr,	\
		struct uverbs_attr_bundle *attrs)			\
{									\
	return create(cq, attr, attrs ? &attrs->driver_udata : NULL);	\
}
#else
#define MPA_CREATE_CQ_OP(name, create)					\
static int name(struct ib_cq *cq, const struct ib_cq_init_attr *attr,	\
		struct ib_udata *udata)					\
{									\
	return create(cq, attr, udata);					\
}
#endif

/**
 * mpa_qp_report_handler() - report the event handler of a queue pair's consumer
 * @qp: the queue pair
 * @init: its handler is set. Newer releases have one of their own call it
 */
static inline void mpa_qp_report_handler(const struct ib_qp *qp,
					 struct ib_qp_init_attr *init)
{
#ifdef MPA_HAVE_REGISTERED_HANDLER
	init->event_handler = qp->registered_event_handler;
#else
	init->event_handler = qp->event_handler;
#endif
}

/**
 * MPA_RESIZE_CQ_OP - define the operation that resizes a completion queue
 * @name: the function to define, for MPA_SET_RESIZE_CQ_OP()
 * @resize: function to call with the CQ, the number of entries and &struct
 *	ib_udata. A negative number is too large
 *
 * The core of newer releases calls the operation for users only.
 */
#ifdef MPA_HAVE_RESIZE_USER_CQ
#define MPA_RESIZE_CQ_OP(name, resize)					\
static int (name)(struct ib_cq *cq, unsigned int cqe,			\
		  struct ib_udata *udata)				\
{									\
	return resize(cq, cqe, udata);					\
}

#define MPA_SET_RESIZE_CQ_OP(name)	.resize_user_cq = (name),
#else
#define MPA_RESIZE_CQ_OP(name, resize)					\
static int (name)(struct ib_cq *cq, int cqe, struct ib_udata *udata)	\
{									\
	return resize(cq, cqe, udata);					\
}

#define MPA_SET_RESIZE_CQ_OP(name)	.resize_cq = (name),
#endif

/**
 * MPA_REG_USER_MR_OP - define a &ib_device_ops.reg_user_mr
 * @name: the function to define
 * @reg: function to call with everything but a DMA handle, which is for
 *	hardware and refused
 */
#ifdef MPA_HAVE_DMAH
#define MPA_REG_USER_MR_OP(name, reg)					\
static struct ib_mr *(name)(struct ib_pd *pd, u64 start, u64 len,	\
			    u64 iova, int access,			\
			    struct ib_dmah *dmah,			\
			    struct ib_udata *udata)			\
{									\
	if (dmah)							\
		return ERR_PTR(-EOPNOTSUPP);				\
	return reg(pd, start, len, iova, access, udata);		\
}
#else
#define MPA_REG_USER_MR_OP(name, reg)					\
static struct ib_mr *(name)(struct ib_pd *pd, u64 start, u64 len,	\
			    u64 iova, int access,			\
			    struct ib_udata *udata)			\
{									\
	return reg(pd, start, len, iova, access, udata);		\
}
#endif

/**
 * MPA_REG_DMABUF_OP - define a &ib_device_ops.reg_user_mr_dmabuf
 * @name: the function to define
 * @reg: function to call with everything but a DMA handle, which is for
 *	hardware and refused
 */
#ifdef MPA_HAVE_DMAH
#define MPA_REG_DMABUF_OP(name, reg)					\
static struct ib_mr *(name)(struct ib_pd *pd, u64 offset, u64 len,	\
			    u64 iova, int fd, int access,		\
			    struct ib_dmah *dmah,			\
			    struct uverbs_attr_bundle *attrs)		\
{									\
	if (dmah)							\
		return ERR_PTR(-EOPNOTSUPP);				\
	return reg(pd, offset, len, iova, fd, access,			\
		   &attrs->driver_udata);				\
}
#else
#ifdef MPA_HAVE_DMABUF_ATTRS
#define MPA_REG_DMABUF_OP(name, reg)					\
static struct ib_mr *(name)(struct ib_pd *pd, u64 offset, u64 len,	\
			    u64 iova, int fd, int access,		\
			    struct uverbs_attr_bundle *attrs)		\
{									\
	return reg(pd, offset, len, iova, fd, access,			\
		   &attrs->driver_udata);				\
}
#else
#define MPA_REG_DMABUF_OP(name, reg)					\
static struct ib_mr *(name)(struct ib_pd *pd, u64 offset, u64 len,	\
			    u64 iova, int fd, int access,		\
			    struct ib_udata *udata)			\
{									\
	return reg(pd, offset, len, iova, fd, access, udata);		\
}
#endif
#endif

/*
 * Cores that have this operation report the state of a network device's link
 * to one of its RDMA devices, and none of a bond's. Here each device reports
 * it, so there is nothing left to do.
 */
#ifdef MPA_HAVE_REPORT_PORT_EVENT
static inline void mpa_report_port_event(struct ib_device *dev,
					 struct net_device *netdev,
					 unsigned long event)
{
}

#define MPA_REPORT_PORT_EVENT_OP	\
	.report_port_event	= mpa_report_port_event,
#else
#define MPA_REPORT_PORT_EVENT_OP
#endif

/**
 * MPA_COUNTER_QP_OPS - define the operations that bind a QP to a counter
 * @bind_name: the function to define for &ib_device_ops.counter_bind_qp
 * @bind: function to call with the counter and the QP
 * @unbind_name: likewise for &ib_device_ops.counter_unbind_qp
 * @unbind: function to call with the QP
 *
 * Newer releases pass the number of the port, too. They initialize what a driver
 * adds to its counters, of which there is nothing here.
 */
#ifdef MPA_HAVE_COUNTER_PORT
#define MPA_COUNTER_QP_OPS(bind_name, bind, unbind_name, unbind)	\
static int (bind_name)(struct rdma_counter *counter, struct ib_qp *qp,	\
		       u32 port)					\
{									\
	return bind(counter, qp);					\
}									\
									\
static int (unbind_name)(struct ib_qp *qp, u32 port)			\
{									\
	return unbind(qp);						\
}

static inline void mpa_counter_init(struct rdma_counter *counter)
{
}

#define MPA_COUNTER_INIT_OP						\
	.counter_init		= mpa_counter_init,			\
	.size_rdma_counter	= sizeof(struct rdma_counter),
#else
#define MPA_COUNTER_QP_OPS(bind_name, bind, unbind_name, unbind)	\
static int (bind_name)(struct rdma_counter *counter, struct ib_qp *qp)	\
{									\
	return bind(counter, qp);					\
}									\
									\
static int (unbind_name)(struct ib_qp *qp)				\
{									\
	return unbind(qp);						\
}

#define MPA_COUNTER_INIT_OP
#endif

/**
 * MPA_FILL_RES_SRQ_OP - the member &ib_device_ops.fill_res_srq_entry
 * @fill: its function. Where there is no such member, `rdma resource` shows of a
 *	shared receive queue only what the core knows
 */
#ifdef MPA_HAVE_FILL_RES_SRQ
#define MPA_FILL_RES_SRQ_OP(fill)	\
	.fill_res_srq_entry	= fill,
#else
#define MPA_FILL_RES_SRQ_OP(fill)
#endif

/**
 * mpa_umem_get - pin memory of the calling process
 * @dev: the device
 * @addr: its first byte
 * @len: bytes
 * @access: IB_ACCESS_*
 *
 * Return: the memory, for ib_umem_release(), or an error as ERR_PTR().
 */
static inline struct ib_umem *mpa_umem_get(struct ib_device *dev,
					   unsigned long addr, size_t len,
					   int access)
{
#ifdef MPA_HAVE_UMEM_GET_VA
	return ib_umem_get_va(dev, addr, len, access);
#else
	return ib_umem_get(dev, addr, len, access);
#endif
}

#endif /* MPA_COMPAT_VERBS_H */
