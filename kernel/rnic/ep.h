/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the connection manager share. See cm.h for the rules. */
#ifndef MPA_RNIC_EP_H
#define MPA_RNIC_EP_H

#include "cm.h"

/* How long things may take that are no setting, ms. */
enum {
	/* Initiator: TCP's handshake. */
	RNIC_CM_CONNECT_MS	= 20000,
	/* Responder: our consumer, with its answer to a Request. */
	RNIC_CM_ANSWER_MS	= 60000,
	/*
	 * The same once its listener is gone: the core may have dropped the
	 * event, and nobody will ever answer.
	 */
	RNIC_CM_ORPHAN_MS	= 10000,
	/* The peer's FIN, after a refusal or Terminate it has acknowledged. */
	RNIC_CM_CLOSE_MS		= 5000,
};

/* What rnic_ep.work is to do; handled in this order. */
enum rnic_ep_todo {
	RNIC_EP_DO_TIMEOUT,	/* the timer has expired */
	RNIC_EP_DO_ABORT,	/* the QP or the device wants an end at once */
	RNIC_EP_DO_CLOSED,	/* the stream has heard the last of TCP */
	RNIC_EP_DO_FAILED,	/* the Initiator's startup has failed */
	RNIC_EP_DO_RELEASE,	/* the QP waits to be released */
	RNIC_EP_DO_TCP,		/* TCP has changed, without a stream attached */
	RNIC_EP_DO_REFUSE,	/* the core could not take the Request */
	RNIC_EP_DO_ORPHAN,	/* the listener is gone */
	RNIC_EP_DO_BOUND,	/* the QP has last things to send */
	RNIC_EP_DO_ORDERLY,	/* the QP wants an orderly end */
	RNIC_EP_DO_COUNT
};

/* cm.c */
bool rnic_cm_same_net(const struct iw_cm_id *cm_id);
struct rnic_qp *rnic_cm_get_qp(const struct iw_cm_id *cm_id, u32 qpn);
void rnic_cm_params(const struct mpa_config *cfg, u32 ird, u32 ord,
		    struct mpa_params *p);
int rnic_cm_config(struct rnic_dev *dev, struct mpa_config *cfg);

/* ep.c */
void rnic_ep_set_state(struct rnic_ep *ep, enum rnic_ep_state to);
void rnic_ep_kick(struct rnic_ep *ep, enum rnic_ep_todo what);
void rnic_ep_arm(struct rnic_ep *ep, unsigned int ms);
void rnic_ep_disarm(struct rnic_ep *ep);
struct rnic_ep *rnic_ep_create(struct rnic_dev *dev, struct socket *sock,
			       const struct rnic_ep_role *role);
void rnic_ep_unuse(struct rnic_ep *ep);
void rnic_ep_hook(struct rnic_ep *ep, void (*data_ready)(struct sock *sk));
void rnic_ep_unhook(struct rnic_ep *ep);
void rnic_ep_detach(struct rnic_ep *ep);
int rnic_ep_tell_established(struct rnic_ep *ep);
void rnic_ep_tell_failure(const struct rnic_ep *ep, struct iw_cm_id *cm_id,
			  int status);
void rnic_ep_reset_tcp(struct rnic_ep *ep);
void rnic_ep_finish(struct rnic_ep *ep, bool abort, int err);
void rnic_ep_drain(struct sock *sk);
void rnic_ep_release_refs(struct rnic_ep *ep, int err);
void rnic_ep_abort(struct rnic_ep *ep);
int rnic_ep_attach(struct rnic_ep *ep, enum rnic_ep_state to);
int rnic_ep_bind(struct rnic_ep *ep, struct iw_cm_id *cm_id, struct rnic_qp *qp);
struct rnic_ep *rnic_ep_of_id(struct rnic_dev *dev, const struct iw_cm_id *cm_id);
const char *rnic_ep_state_name(enum rnic_ep_state state);
void rnic_ep_forget_id(struct rnic_ep *ep);

/* close.c */
bool rnic_tcp_over(const struct sock *sk);
void rnic_ep_bound(struct rnic_ep *ep);
void rnic_ep_look(struct rnic_ep *ep);
void rnic_ep_unlinger(struct rnic_ep *ep);
void rnic_ep_linger(struct rnic_ep *ep);
void rnic_ep_orderly(struct rnic_ep *ep);
void rnic_ep_soon(struct rnic_ep *ep);

/* sock.c */
int rnic_addr_len(const struct sockaddr_storage *addr);
void rnic_addr_scope(const struct rnic_dev *dev, struct sockaddr_storage *addr);
int rnic_sock_names(struct socket *sock, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote);
int rnic_sock_open(const struct rnic_dev *dev, const struct iw_cm_id *cm_id,
		   struct socket **sock);
int rnic_sock_bind(const struct rnic_dev *dev, struct socket *sock,
		   const struct iw_cm_id *cm_id);

/* accept.c */
int rnic_ep_take(struct rnic_dev *dev, struct rnic_listener *l,
		 const struct mpa_config *cfg, struct socket *sock,
		const struct sockaddr_storage *local,
		const struct sockaddr_storage *remote);
void rnic_ep_orphan_all(struct rnic_dev *dev, const struct rnic_listener *l);
void rnic_requests_destroy(void);

/* listen.c */
void rnic_listener_get(struct rnic_listener *l);
void rnic_listener_put(struct rnic_listener *l);
bool rnic_listener_alive(struct rnic_listener *l);
u32 rnic_listener_id(const struct rnic_listener *l);
int rnic_listener_event(struct rnic_listener *l, struct iw_cm_event *event);
void rnic_listener_leave(struct rnic_listener *l);
bool rnic_listener_of_id(struct rnic_dev *dev, const struct iw_cm_id *cm_id,
			 struct mpa_node_view *v);
void rnic_listeners_stop(struct rnic_dev *dev);
void rnic_listeners_restart(struct rnic_dev *dev);

#endif /* MPA_RNIC_EP_H */
