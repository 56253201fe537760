/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Direct verbs of mpa devices: what verbs have no words for. Nothing is to be linked.
 * See mpadv(3).
 */
#ifndef INFINIBAND_MPADV_H
#define INFINIBAND_MPADV_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mpa-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * mpadv_set_receive_wait() - let messages wait for receives
 * @qp: queue pair of an mpa device, in any state
 * @milliseconds: how long a message that finds no receive waits for one before it ends
 *	the connection, up to %MPA_MAX_RECEIVE_WAIT; 0: it does not wait
 *
 * Replaces the setting receive-wait of mpactl(8) for this queue pair, until it is
 * destroyed. Applies from the next message on, and to one that waits already.
 *
 * Return: 0 or a positive errno: %EINVAL: too long, or the queue pair of another driver;
 * %EPROTONOSUPPORT: the module is older than this; %EIO: the device is gone.
 */
static inline int mpadv_set_receive_wait(struct ibv_qp *qp, uint32_t milliseconds)
{
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		char room[sizeof(struct ib_uverbs_ioctl_hdr) +
			  2 * sizeof(struct ib_uverbs_attr)];
	} cmd;
	struct ib_uverbs_attr *attr = cmd.hdr.attrs;

	memset(&cmd, 0, sizeof(cmd));
	cmd.hdr.length = sizeof(cmd);
	cmd.hdr.object_id = UVERBS_OBJECT_QP;
	cmd.hdr.method_id = MPA_METHOD_QP_MODIFY;
	cmd.hdr.num_attrs = 2;
	attr->attr_id = MPA_ATTR_QP_MODIFY_HANDLE;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = qp->handle;
	attr++;
	attr->attr_id = MPA_ATTR_QP_MODIFY_RECEIVE_WAIT;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->len = sizeof(milliseconds);
	/* Up to 8 bytes of data are in the attribute itself. */
	attr->data = milliseconds;
	return ioctl(qp->context->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

#ifdef __cplusplus
}
#endif

#endif /* INFINIBAND_MPADV_H */
