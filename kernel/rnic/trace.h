/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the RNIC, at state changes and errors.
 *
 * An endpoint is identified by its socket, as in the tracepoints of the ULP and
 * of TCP; its events also have the number of the queue pair, if there is one.
 * States and events are recorded as numbers of their enums: &enum
 * rnic_qp_state, &enum rnic_ep_state, &enum iw_cm_event_type, &enum
 * rnic_mr_event.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mpa_rnic

#if !defined(MPA_RNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MPA_RNIC_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#include "compat/trace.h"
#include "ddp/terminate.h"
#include "states.h"

/* A queue pair moved to another state. */
TRACE_EVENT(rnic_qp_state,
	    TP_PROTO(const struct ib_qp *ibqp, int from, int to),
	    TP_ARGS(ibqp, from, to),
	    TP_STRUCT__entry(__string(dev, dev_name(&ibqp->device->dev))
			     __field(u32, qpn)
			     __field(int, from)
			     __field(int, to)),
	    TP_fast_assign(mpa_assign_str(dev, dev_name(&ibqp->device->dev));
			   __entry->qpn = ibqp->qp_num;
			   __entry->from = from;
			   __entry->to = to;),
	    TP_printk("dev=%s qpn=%u from=%d to=%d", __get_str(dev),
		      __entry->qpn, __entry->from, __entry->to));

/* A process tried to use the queue pair of another one. */
TRACE_EVENT(rnic_qp_denied,
	    TP_PROTO(const struct ib_qp *ibqp),
	    TP_ARGS(ibqp),
	    TP_STRUCT__entry(__string(dev, dev_name(&ibqp->device->dev))
			     __field(u32, qpn)),
	    TP_fast_assign(mpa_assign_str(dev, dev_name(&ibqp->device->dev));
			   __entry->qpn = ibqp->qp_num;),
	    TP_printk("dev=%s qpn=%u", __get_str(dev), __entry->qpn));

/* A stream ends because of an error, found locally or by the peer. */
TRACE_EVENT(rnic_fault,
	    TP_PROTO(const struct ib_qp *ibqp, bool local, u8 layer, u8 etype,
		     u8 code),
	    TP_ARGS(ibqp, local, layer, etype, code),
	    TP_STRUCT__entry(__string(dev, dev_name(&ibqp->device->dev))
			     __field(u32, qpn)
			     __field(bool, local)
			     __field(u8, layer)
			     __field(u8, etype)
			     __field(u8, code)
			     __string(text, rdmap_error_text(layer, etype, code))),
	    TP_fast_assign(mpa_assign_str(dev, dev_name(&ibqp->device->dev));
			   __entry->qpn = ibqp->qp_num;
			   __entry->local = local;
			   __entry->layer = layer;
			   __entry->etype = etype;
			   __entry->code = code;
			   mpa_assign_str(text, rdmap_error_text(layer, etype, code));),
	    TP_printk("dev=%s qpn=%u %s fault=%u/%u/%02x: %s", __get_str(dev),
		      __entry->qpn, __entry->local ? "local" : "remote",
		      __entry->layer, __entry->etype, __entry->code,
		      __get_str(text)));

TRACE_DEFINE_ENUM(RNIC_EP_IDLE);
TRACE_DEFINE_ENUM(RNIC_EP_CONNECTING);
TRACE_DEFINE_ENUM(RNIC_EP_REQUESTING);
TRACE_DEFINE_ENUM(RNIC_EP_AWAITING);
TRACE_DEFINE_ENUM(RNIC_EP_REQUESTED);
TRACE_DEFINE_ENUM(RNIC_EP_ESTABLISHED);
TRACE_DEFINE_ENUM(RNIC_EP_CLOSING);
TRACE_DEFINE_ENUM(RNIC_EP_LINGERING);
TRACE_DEFINE_ENUM(RNIC_EP_DEAD);

#define rnic_show_ep_state(state)					\
	__print_symbolic(state,						\
			 { RNIC_EP_IDLE, "idle" },			\
			 { RNIC_EP_CONNECTING, "connecting" },		\
			 { RNIC_EP_REQUESTING, "requesting" },		\
			 { RNIC_EP_AWAITING, "awaiting" },		\
			 { RNIC_EP_REQUESTED, "requested" },		\
			 { RNIC_EP_ESTABLISHED, "established" },	\
			 { RNIC_EP_CLOSING, "closing" },			\
			 { RNIC_EP_LINGERING, "lingering" },		\
			 { RNIC_EP_DEAD, "dead" })

TRACE_DEFINE_ENUM(IW_CM_EVENT_CONNECT_REQUEST);
TRACE_DEFINE_ENUM(IW_CM_EVENT_CONNECT_REPLY);
TRACE_DEFINE_ENUM(IW_CM_EVENT_ESTABLISHED);
TRACE_DEFINE_ENUM(IW_CM_EVENT_DISCONNECT);
TRACE_DEFINE_ENUM(IW_CM_EVENT_CLOSE);

#define rnic_show_cm_event(event)					\
	__print_symbolic(event,						\
			 { IW_CM_EVENT_CONNECT_REQUEST, "connect-request" }, \
			 { IW_CM_EVENT_CONNECT_REPLY, "connect-reply" },	\
			 { IW_CM_EVENT_ESTABLISHED, "established" },	\
			 { IW_CM_EVENT_DISCONNECT, "disconnect" },	\
			 { IW_CM_EVENT_CLOSE, "close" })

/* An endpoint moved to another state; socket lock held. */
TRACE_EVENT(rnic_ep_state,
	    TP_PROTO(const struct ib_device *ibdev, const void *skaddr, u32 qpn,
		     int from, int to),
	    TP_ARGS(ibdev, skaddr, qpn, from, to),
	    TP_STRUCT__entry(__string(dev, dev_name(&ibdev->dev))
			     __field(const void *, skaddr)
			     __field(u32, qpn)
			     __field(int, from)
			     __field(int, to)),
	    TP_fast_assign(mpa_assign_str(dev, dev_name(&ibdev->dev));
			   __entry->skaddr = skaddr;
			   __entry->qpn = qpn;
			   __entry->from = from;
			   __entry->to = to;),
	    TP_printk("dev=%s skaddr=%p qpn=%u from=%s to=%s", __get_str(dev),
		      __entry->skaddr, __entry->qpn,
		      rnic_show_ep_state(__entry->from),
		      rnic_show_ep_state(__entry->to)));

/* An event was sent to the connection manager of the core. */
TRACE_EVENT(rnic_cm_event,
	    TP_PROTO(const struct ib_device *ibdev, const void *skaddr, int event,
		     int status),
	    TP_ARGS(ibdev, skaddr, event, status),
	    TP_STRUCT__entry(__string(dev, dev_name(&ibdev->dev))
			     __field(const void *, skaddr)
			     __field(int, event)
			     __field(int, status)),
	    TP_fast_assign(mpa_assign_str(dev, dev_name(&ibdev->dev));
			   __entry->skaddr = skaddr;
			   __entry->event = event;
			   __entry->status = status;),
	    TP_printk("dev=%s skaddr=%p event=%s status=%d",
		      __get_str(dev), __entry->skaddr,
		      rnic_show_cm_event(__entry->event), __entry->status));

/* A memory region or window became valid or invalid. */
TRACE_EVENT(rnic_mr,
	    TP_PROTO(const struct ib_device *ibdev, u32 stag, int event, u64 len),
	    TP_ARGS(ibdev, stag, event, len),
	    TP_STRUCT__entry(__string(dev, dev_name(&ibdev->dev))
			     __field(u32, stag)
			     __field(int, event)
			     __field(u64, len)),
	    TP_fast_assign(mpa_assign_str(dev, dev_name(&ibdev->dev));
			   __entry->stag = stag;
			   __entry->event = event;
			   __entry->len = len;),
	    TP_printk("dev=%s stag=%#x %s len=%llu", __get_str(dev),
		      __entry->stag,
		      __print_symbolic(__entry->event,
				       { RNIC_MR_EVENT_REG, "reg" },
				       { RNIC_MR_EVENT_FAST_REG, "fast-reg" },
				       { RNIC_MR_EVENT_INVALIDATE, "invalidate" },
				       { RNIC_MR_EVENT_REMOTE_INVALIDATE,
				       "remote-invalidate" },
				       { RNIC_MR_EVENT_DEREG, "dereg" },
				       { RNIC_MR_EVENT_REREG, "rereg" },
				       { RNIC_MR_EVENT_ALLOC_WINDOW,
				       "alloc-window" },
				       { RNIC_MR_EVENT_BIND, "bind" },
				       { RNIC_MR_EVENT_UNBIND, "unbind" },
				       { RNIC_MR_EVENT_DEALLOC_WINDOW,
				       "dealloc-window" }),
		      __entry->len));

#endif /* MPA_RNIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH rnic
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
