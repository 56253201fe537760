// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Memory windows. Those of type 2 are bound with posted work requests, those of
 * type 1 here.
 */
#include <errno.h>
#include <stdlib.h>

#include "mpa.h"

/**
 * mpa_alloc_mw() - ibv_alloc_mw(3)
 * @pd: protection domain
 * @type: IBV_MW_TYPE_*
 *
 * Return: the window, or NULL and errno: %EOPNOTSUPP if the module has none.
 */
struct ibv_mw *mpa_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp = { 0 };
	struct ibv_alloc_mw cmd = { 0 };
	struct ibv_mw *mw;
	int ret;

	if (!(to_mpa_context(pd->context)->features & MPA_FEATURE_MW)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	mw = calloc(1, sizeof(*mw));
	if (!mw) {
		errno = ENOMEM;
		return NULL;
	}
	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (!ret)
		return mw;

	free(mw);
	errno = ret;
	return NULL;
}

/**
 * mpa_dealloc_mw() - ibv_dealloc_mw(3)
 * @mw: the window, bound or not
 *
 * Return: 0 or a positive errno.
 */
int mpa_dealloc_mw(struct ibv_mw *mw)
{
	int ret = ibv_cmd_dealloc_mw(mw);

	if (!ret)
		free(mw);
	return ret;
}

/**
 * mpa_bind_mw() - ibv_bind_mw(3)
 * @ibqp: queue pair that executes the bind
 * @mw: a window of type 1; gets another key at once
 * @bind: what is to be bound
 *
 * libibverbs has checked the type and the protection domain.
 *
 * Return: as mpa_post_send().
 */
int mpa_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		struct ibv_mw_bind *bind)
{
	struct mpa_qp *qp = to_mpa_qp(ibqp);
	struct mpa_sqe *sqe;
	uint32_t rkey;
	int ret;

	pthread_mutex_lock(&qp->sq.lock);
	/* Two threads that bind it on this queue pair get different keys. */
	rkey = ibv_inc_rkey(mw->rkey);
	ret = mpa_sqe_start(qp, IBV_WR_BIND_MW, bind->send_flags, &sqe);
	if (!ret)
		ret = mpa_sqe_set_bind(sqe, mw, rkey, &bind->bind_info);
	if (!ret) {
		sqe->wr_id = bind->wr_id;
		qp->sq.next++;
		ret = mpa_sq_submit(qp);
	}
	if (!ret)
		mw->rkey = rkey;
	pthread_mutex_unlock(&qp->sq.lock);
	return ret;
}
