// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands of this driver in addition to verbs, for user space: uapi/rdma/mpa-abi.h
 * describes them. The core checks what attributes there are, and their sizes.
 */
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mpa_rnic
#include <rdma/uverbs_named_ioctl.h>

#include <rdma/mpa-abi.h>

#include "methods.h"
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

ADD_UVERBS_METHODS(methods_of_qp, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(MPA_METHOD_QP_MODIFY));

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
	{},
};
