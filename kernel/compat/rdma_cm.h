/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the interfaces of the RDMA core do not tell.
 */
#ifndef MPA_COMPAT_RDMA_CM_H
#define MPA_COMPAT_RDMA_CM_H

#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

/**
 * mpa_rdma_cm_id - the rdma_cm_id behind an identifier of the iWARP CM
 * @cm_id: the identifier, in connect, accept or create_listen, or until the event that
 *	ends connect
 *
 * struct iw_cm_id has neither the consumer's network namespace nor its QP, and
 * no function returns them. The only user of iw_cm in the kernel is rdma_cm. It
 * passes its struct rdma_cm_id as the context, and has bound that to the device
 * and to @cm_id before it calls connect, accept or create_listen. This function
 * relies on it, and checks that the context points back.
 *
 * It can go when struct iw_cm_id has a network namespace and a QP.
 *
 * Return: the rdma_cm_id, or NULL if the context does not point back.
 */
static inline struct rdma_cm_id *mpa_rdma_cm_id(const struct iw_cm_id *cm_id)
{
	struct rdma_cm_id *id = cm_id->context;

	if (!id || id->device != cm_id->device || rdma_iw_cm_id(id) != cm_id)
		return NULL;
	return id;
}

#endif /* MPA_COMPAT_RDMA_CM_H */
