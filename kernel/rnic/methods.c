// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands of this driver in addition to verbs, for user space: uapi/rdma/mpa-abi.h
 * describes them. The core checks what attributes there are, and their sizes.
 */
#include <linux/file.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mpa_rnic
#include <rdma/uverbs_named_ioctl.h>

#include <rdma/mpa-abi.h>

#include "device.h"
#include "doorbell.h"
#include "handover.h"
#include "listen.h"
#include "listener.h"
#include "methods.h"
#include "plain.h"
#include "qp.h"
#include "qp_stream.h"

static int UVERBS_HANDLER(MPA_METHOD_QP_MODIFY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, MPA_ATTR_QP_MODIFY_HANDLE);
	u32 wait;
	int ret;

	if (!uverbs_attr_is_valid(attrs, MPA_ATTR_QP_MODIFY_RECEIVE_WAIT))
		return 0;
	ret = uverbs_copy_from(&wait, attrs, MPA_ATTR_QP_MODIFY_RECEIVE_WAIT);
	if (ret)
		return ret;
	if (wait > MPA_MAX_RECEIVE_WAIT)
		return -EINVAL;
	rnic_qp_set_receive_wait(to_rnic_qp(ibqp), wait);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MPA_METHOD_QP_MODIFY,
			    UVERBS_ATTR_IDR(MPA_ATTR_QP_MODIFY_HANDLE,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MPA_ATTR_QP_MODIFY_RECEIVE_WAIT,
					       UVERBS_ATTR_TYPE(u32),
					       UA_OPTIONAL));

/* Optional bytes of the caller, at most @max; they live as long as @attrs. */
static int methods_get_bytes(const struct uverbs_attr_bundle *attrs, u16 id,
			     u32 max, const void **bytes, u32 *len)
{
	*bytes = NULL;
	*len = 0;
	if (!uverbs_attr_is_valid(attrs, id))
		return 0;
	*bytes = uverbs_attr_get_alloced_ptr(attrs, id);
	if (IS_ERR(*bytes))
		return PTR_ERR(*bytes);
	*len = uverbs_attr_get_len(attrs, id);
	return *len > max ? -EMSGSIZE : 0;
}

static int methods_get_handover(const struct uverbs_attr_bundle *attrs,
				struct rnic_handover *h)
{
	struct mpa_qp_from_socket params;
	int ret;

	ret = uverbs_copy_from(&params, attrs, MPA_ATTR_QP_FROM_SOCKET_PARAMS);
	if (ret)
		return ret;
	if (params.flags & ~MPA_QP_SOCKET_RESPONDER)
		return -EINVAL;
	*h = (struct rnic_handover){
		.fd = params.fd,
		.responder = params.flags & MPA_QP_SOCKET_RESPONDER,
		.ird = params.ird,
		.ord = params.ord,
	};
	ret = methods_get_bytes(attrs, MPA_ATTR_QP_FROM_SOCKET_LAST,
				MPA_MAX_LAST_MESSAGE, &h->last, &h->last_len);
	if (!ret)
		ret = methods_get_bytes(attrs, MPA_ATTR_QP_FROM_SOCKET_PD,
					MPA_MAX_SOCKET_PD, &h->pd, &h->pd_len);
	if (!ret && h->last_len && !h->responder)
		ret = -EINVAL;
	return ret;
}

static int methods_put_handover(const struct uverbs_attr_bundle *attrs,
				const struct rnic_handover *h)
{
	const struct mpa_qp_from_socket_resp resp = {
		.ird = h->ird,
		.ord = h->ord,
		.peer_pd_len = h->peer_pd_len,
		.fd = h->fd,
	};
	int ret;

	ret = uverbs_copy_to(attrs, MPA_ATTR_QP_FROM_SOCKET_RESULT, &resp,
			     sizeof(resp));
	if (!ret && uverbs_attr_is_valid(attrs, MPA_ATTR_QP_FROM_SOCKET_PEER_PD))
		ret = uverbs_copy_to(attrs, MPA_ATTR_QP_FROM_SOCKET_PEER_PD,
				     h->peer_pd, h->peer_pd_len);
	return ret;
}

/* The connection cannot be undone, nor the descriptor taken back. */
static int methods_place_for_handover(const struct uverbs_attr_bundle *attrs,
				      const struct rnic_handover *h)
{
	const struct mpa_qp_from_socket_resp none = { .fd = h->fd };
	int ret = 0;

	if (uverbs_attr_is_valid(attrs, MPA_ATTR_QP_FROM_SOCKET_PEER_PD))
		ret = uverbs_copy_to_struct_or_zero(attrs,
						    MPA_ATTR_QP_FROM_SOCKET_PEER_PD,
						    &none, 0);
	return ret ?: uverbs_copy_to(attrs, MPA_ATTR_QP_FROM_SOCKET_RESULT, &none,
				     sizeof(none));
}

static int UVERBS_HANDLER(MPA_METHOD_QP_FROM_SOCKET)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs,
						 MPA_ATTR_QP_FROM_SOCKET_HANDLE);
	struct rnic_handover h;
	int ret;

	ret = methods_get_handover(attrs, &h);
	if (!ret)
		ret = methods_place_for_handover(attrs, &h);
	if (ret)
		return ret;
	ret = rnic_qp_from_socket(to_rnic_qp(ibqp), &h);
	/* The core has this one for commands that do not exist. */
	if (ret == -EPROTONOSUPPORT)
		ret = -EPROTO;
	/* If their place has gone meanwhile, the connection is there all the same. */
	return methods_put_handover(attrs, &h) ?: ret;
}

DECLARE_UVERBS_NAMED_METHOD(MPA_METHOD_QP_FROM_SOCKET,
			    UVERBS_ATTR_IDR(MPA_ATTR_QP_FROM_SOCKET_HANDLE,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MPA_ATTR_QP_FROM_SOCKET_PARAMS,
					       UVERBS_ATTR_STRUCT(struct mpa_qp_from_socket,
								  ord),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MPA_ATTR_QP_FROM_SOCKET_LAST,
					       UVERBS_ATTR_MIN_SIZE(1),
					       UA_OPTIONAL, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_IN(MPA_ATTR_QP_FROM_SOCKET_PD,
					       UVERBS_ATTR_MIN_SIZE(1),
					       UA_OPTIONAL, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_OUT(MPA_ATTR_QP_FROM_SOCKET_RESULT,
						UVERBS_ATTR_STRUCT(struct mpa_qp_from_socket_resp,
								   fd),
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MPA_ATTR_QP_FROM_SOCKET_PEER_PD,
						UVERBS_ATTR_MIN_SIZE(1),
						UA_OPTIONAL));

ADD_UVERBS_METHODS(methods_of_qp, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(MPA_METHOD_QP_MODIFY),
		   &UVERBS_METHOD(MPA_METHOD_QP_FROM_SOCKET));

/* A queue of plain TCP connections ------------------------------------------ */

static struct rnic_plain *methods_get_plain(const struct uverbs_attr_bundle *attrs,
					    u16 id)
{
	return container_of(uverbs_attr_get_uobject(attrs, id),
			    struct rnic_plain, uobj);
}

static int UVERBS_HANDLER(MPA_METHOD_PLAIN_CREATE)(struct uverbs_attr_bundle *attrs)
{
	struct rnic_plain *p = methods_get_plain(attrs,
						 MPA_ATTR_PLAIN_CREATE_HANDLE);
	struct mpa_plain_create params;
	u32 len;
	int ret;

	ret = uverbs_copy_from(&params, attrs, MPA_ATTR_PLAIN_CREATE_PARAMS);
	if (ret)
		return ret;
	if (params.family != AF_INET && params.family != AF_INET6)
		return -EAFNOSUPPORT;
	len = params.family == AF_INET ? sizeof(struct in_addr) :
					 sizeof(struct in6_addr);
	if (params.flags || !params.backlog ||
	    memchr_inv(params.addr + len, 0, sizeof(params.addr) - len))
		return -EINVAL;
	return rnic_listener_open_plain(to_rnic_dev(p->uobj.context->device), p,
					&params);
}

static void methods_destroy_plain(struct ib_uobject *uobj,
				  enum rdma_remove_reason why)
{
	rnic_plain_close(container_of(uobj, struct rnic_plain, uobj));
}

/* A descriptor cannot be taken back, so its number is stored before it is made. */
static int methods_give_socket(const struct uverbs_attr_bundle *attrs,
			       struct rnic_plain *p, u32 flags)
{
	int fd = get_unused_fd_flags(flags & SOCK_CLOEXEC ? O_CLOEXEC : 0);
	struct file *file;
	int ret;

	if (fd < 0)
		return fd;
	ret = uverbs_copy_to(attrs, MPA_ATTR_PLAIN_ACCEPT_SOCKET, &fd, sizeof(fd));
	if (!ret)
		ret = rnic_plain_accept(p, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0,
					&file);
	if (ret)
		put_unused_fd(fd);
	else
		fd_install(fd, file);
	return ret;
}

static int UVERBS_HANDLER(MPA_METHOD_PLAIN_ACCEPT)(struct uverbs_attr_bundle *attrs)
{
	struct rnic_plain *p = methods_get_plain(attrs,
						 MPA_ATTR_PLAIN_ACCEPT_HANDLE);
	u32 flags;
	int ret;

	ret = uverbs_copy_from(&flags, attrs, MPA_ATTR_PLAIN_ACCEPT_FLAGS);
	if (ret)
		return ret;
	if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	return methods_give_socket(attrs, p, flags);
}

DECLARE_UVERBS_NAMED_METHOD(MPA_METHOD_PLAIN_CREATE,
			    UVERBS_ATTR_FD(MPA_ATTR_PLAIN_CREATE_HANDLE,
					   MPA_OBJECT_PLAIN, UVERBS_ACCESS_NEW,
					   UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MPA_ATTR_PLAIN_CREATE_PARAMS,
					       UVERBS_ATTR_STRUCT(struct mpa_plain_create,
								  flags),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(MPA_METHOD_PLAIN_ACCEPT,
			    UVERBS_ATTR_FD(MPA_ATTR_PLAIN_ACCEPT_HANDLE,
					   MPA_OBJECT_PLAIN, UVERBS_ACCESS_READ,
					   UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MPA_ATTR_PLAIN_ACCEPT_FLAGS,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MPA_ATTR_PLAIN_ACCEPT_SOCKET,
						UVERBS_ATTR_TYPE(s32),
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MPA_OBJECT_PLAIN,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct rnic_plain),
						 methods_destroy_plain,
						 &rnic_plain_fops, "[mpa_plain]",
						 O_RDONLY),
			    &UVERBS_METHOD(MPA_METHOD_PLAIN_CREATE),
			    &UVERBS_METHOD(MPA_METHOD_PLAIN_ACCEPT));

/* Doorbells ----------------------------------------------------------------- */

static struct rnic_doorbell *methods_doorbell(struct ib_uobject *uobj)
{
	return container_of(uobj, struct rnic_doorbell, uobj);
}

static int UVERBS_HANDLER(MPA_METHOD_DOORBELL_CREATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MPA_ATTR_DOORBELL_CREATE_HANDLE);

	if (!rnic_ucontext_doorbells())
		return -EOPNOTSUPP;
	return rnic_doorbell_open(methods_doorbell(uobj),
				  to_rnic_uctx(uobj->context));
}

static void methods_destroy_doorbell(struct ib_uobject *uobj,
				     enum rdma_remove_reason why)
{
	rnic_doorbell_close(methods_doorbell(uobj));
}

DECLARE_UVERBS_NAMED_METHOD(MPA_METHOD_DOORBELL_CREATE,
			    UVERBS_ATTR_FD(MPA_ATTR_DOORBELL_CREATE_HANDLE,
					   MPA_OBJECT_DOORBELL,
					   UVERBS_ACCESS_NEW, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MPA_OBJECT_DOORBELL,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct rnic_doorbell),
						 methods_destroy_doorbell,
						 &rnic_doorbell_fops,
						 "[mpa_doorbell]", O_WRONLY),
			    &UVERBS_METHOD(MPA_METHOD_DOORBELL_CREATE));

/* rnic_query_ucontext() writes it. */
ADD_UVERBS_ATTRIBUTES_SIMPLE(attributes_of_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(MPA_ATTR_QUERY_CONTEXT_FEATURES,
						 UVERBS_ATTR_TYPE(u32),
						 UA_OPTIONAL));

/* What the core adds to the commands of a device. */
const struct uapi_definition rnic_methods[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &attributes_of_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &methods_of_qp),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MPA_OBJECT_PLAIN),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MPA_OBJECT_DOORBELL),
	{},
};
