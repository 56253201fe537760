// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Protection domains, thread domains, and protection domains and memory regions
 * that another process made.
 *
 * A thread domain is a promise of the program: what is made in a parent domain
 * that has one is used by one thread at a time.
 */
#include <errno.h>
#include <stdlib.h>

#include "mpa.h"

/**
 * struct mpa_td - a thread domain
 * @base: libibverbs' part
 * @users: parent domains that have it; atomic
 */
struct mpa_td {
	struct ibv_td base;
	unsigned int users;
};

/**
 * struct mpa_pd - a protection domain or a parent domain
 * @base: libibverbs' part; that of a parent domain has the handle of @pd
 * @users: parent domains of this protection domain; atomic
 * @pd: parent domain: the protection domain; else NULL
 * @td: parent domain: the thread domain, or NULL
 */
struct mpa_pd {
	struct ibv_pd base;
	unsigned int users;
	struct mpa_pd *pd;
	struct mpa_td *td;
};

static struct mpa_pd *to_mpa_pd(struct ibv_pd *pd)
{
	return mpa_container_of(pd, struct mpa_pd, base);
}

static struct mpa_td *to_mpa_td(struct ibv_td *td)
{
	return mpa_container_of(td, struct mpa_td, base);
}

static void domain_get(unsigned int *users)
{
	__atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
}

static void domain_put(unsigned int *users)
{
	__atomic_sub_fetch(users, 1, __ATOMIC_RELEASE);
}

static bool domain_in_use(const unsigned int *users)
{
	return __atomic_load_n(users, __ATOMIC_ACQUIRE) != 0;
}

static struct mpa_pd *pd_alloc(struct ibv_context *ibctx)
{
	struct mpa_pd *pd = calloc(1, sizeof(*pd));

	if (!pd) {
		errno = ENOMEM;
		return NULL;
	}
	pd->base.context = ibctx;
	return pd;
}

/**
 * mpa_alloc_pd() - ibv_alloc_pd(3)
 * @ibctx: open device
 *
 * Return: the domain, or NULL and errno.
 */
struct ibv_pd *mpa_alloc_pd(struct ibv_context *ibctx)
{
	struct ib_uverbs_alloc_pd_resp resp = { 0 };
	struct mpa_pd *pd = pd_alloc(ibctx);
	struct ibv_alloc_pd cmd = { 0 };
	int ret;

	if (!pd)
		return NULL;
	ret = ibv_cmd_alloc_pd(ibctx, &pd->base, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (!ret)
		return &pd->base;

	free(pd);
	errno = ret;
	return NULL;
}

static void parent_domain_free(struct mpa_pd *parent)
{
	domain_put(&parent->pd->users);
	if (parent->td)
		domain_put(&parent->td->users);
	free(parent);
}

/**
 * mpa_dealloc_pd() - ibv_dealloc_pd(3)
 * @ibpd: a protection domain or a parent domain; gone on success
 *
 * Return: 0, %EBUSY if it has parent domains, or another positive errno.
 */
int mpa_dealloc_pd(struct ibv_pd *ibpd)
{
	struct mpa_pd *pd = to_mpa_pd(ibpd);
	int ret;

	if (pd->pd) {
		parent_domain_free(pd);
		return 0;
	}
	if (domain_in_use(&pd->users))
		return EBUSY;
	ret = ibv_cmd_dealloc_pd(ibpd);
	if (!ret)
		free(pd);
	return ret;
}

/**
 * mpa_alloc_td() - ibv_alloc_td(3)
 * @ibctx: open device
 * @attr: nothing so far
 *
 * Return: the domain, or NULL and errno.
 */
struct ibv_td *mpa_alloc_td(struct ibv_context *ibctx,
			    struct ibv_td_init_attr *attr)
{
	struct mpa_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td) {
		errno = ENOMEM;
		return NULL;
	}
	td->base.context = ibctx;
	return &td->base;
}

/**
 * mpa_dealloc_td() - ibv_dealloc_td(3)
 * @ibtd: the domain; gone on success
 *
 * Return: 0, or %EBUSY if parent domains have it.
 */
int mpa_dealloc_td(struct ibv_td *ibtd)
{
	struct mpa_td *td = to_mpa_td(ibtd);

	if (domain_in_use(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

/**
 * mpa_alloc_parent_domain() - ibv_alloc_parent_domain(3)
 * @ibctx: open device
 * @attr: a protection domain, and a thread domain or NULL. Allocators are
 *	refused: rings are memory of the kernel
 *
 * Return: the domain, or NULL and errno.
 */
struct ibv_pd *mpa_alloc_parent_domain(struct ibv_context *ibctx,
				       struct ibv_parent_domain_init_attr *attr)
{
	struct mpa_pd *parent;

	if (attr->comp_mask & ~IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!attr->pd || to_mpa_pd(attr->pd)->pd) {
		errno = EINVAL;
		return NULL;
	}
	parent = pd_alloc(ibctx);
	if (!parent)
		return NULL;
	parent->pd = to_mpa_pd(attr->pd);
	parent->base.handle = attr->pd->handle;
	domain_get(&parent->pd->users);
	if (attr->td) {
		parent->td = to_mpa_td(attr->td);
		domain_get(&parent->td->users);
	}
	return &parent->base;
}

/**
 * mpa_pd_is_parent() - whether a domain is a parent domain
 * @ibpd: a domain, or NULL
 *
 * Return: true if so; false without a domain, too.
 */
bool mpa_pd_is_parent(struct ibv_pd *ibpd)
{
	return ibpd && to_mpa_pd(ibpd)->pd;
}

/**
 * mpa_pd_one_thread() - whether what is made in a domain is used by one thread
 * @ibpd: a protection domain or a parent domain
 */
bool mpa_pd_one_thread(struct ibv_pd *ibpd)
{
	return ibpd && to_mpa_pd(ibpd)->td;
}

/**
 * mpa_import_pd() - ibv_import_pd(3)
 * @ibctx: an open device, imported or not
 * @handle: of a protection domain that was made with it
 *
 * Return: the domain, or NULL and errno.
 */
struct ibv_pd *mpa_import_pd(struct ibv_context *ibctx, uint32_t handle)
{
	struct mpa_pd *pd = pd_alloc(ibctx);

	if (!pd)
		return NULL;
	pd->base.handle = handle;
	return &pd->base;
}

/**
 * mpa_unimport_pd() - ibv_unimport_pd(3)
 * @ibpd: from mpa_import_pd(); the original stays
 */
void mpa_unimport_pd(struct ibv_pd *ibpd)
{
	free(to_mpa_pd(ibpd));
}

/**
 * mpa_import_mr() - ibv_import_mr(3)
 * @ibpd: its domain
 * @handle: of a memory region that was made with the same device
 *
 * Return: the region, or NULL and errno.
 */
struct ibv_mr *mpa_import_mr(struct ibv_pd *ibpd, uint32_t handle)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int ret;

	if (!mr) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_query_mr(ibpd, mr, handle);
	if (!ret)
		return &mr->ibv_mr;

	free(mr);
	errno = ret;
	return NULL;
}

/**
 * mpa_unimport_mr() - ibv_unimport_mr(3)
 * @ibmr: from mpa_import_mr(); the original stays
 */
void mpa_unimport_mr(struct ibv_mr *ibmr)
{
	free(mpa_container_of(ibmr, struct verbs_mr, ibv_mr));
}
