/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the connection manager share. See cm.h for the rules. */
#ifndef MPA_RNIC_EP_H
#define MPA_RNIC_EP_H

#include "cm.h"

/* How long things may take that are no setting, ms. */
enum {
	/* Initiator: TCP's handshake. */
	MPA_CM_CONNECT_MS	= 20000,
	/* Responder: our consumer, with its answer to a Request. */
	MPA_CM_ANSWER_MS	= 60000,
	/*
	 * The same once its listener is gone: the core may have dropped the
	 * event, and nobody will ever answer.
	 */
	MPA_CM_ORPHAN_MS	= 10000,
	/* The peer's FIN, after a refusal or Terminate it has acknowledged. */
	MPA_CM_CLOSE_MS		= 5000,
};

/* What mpa_ep.work is to do; handled in this order. */
enum mpa_ep_todo {
	MPA_EP_DO_TIMEOUT,	/* the timer has expired */
	MPA_EP_DO_ABORT,	/* the QP or the device wants an end at once */
	MPA_EP_DO_CLOSED,	/* the stream has heard the last of TCP */
	MPA_EP_DO_FAILED,	/* the Initiator's startup has failed */
	MPA_EP_DO_RELEASE,	/* the QP waits to be released */
	MPA_EP_DO_TCP,		/* TCP has changed, without a stream attached */
	MPA_EP_DO_REFUSE,	/* the core could not take the Request */
	MPA_EP_DO_ORPHAN,	/* the listener is gone */
	MPA_EP_DO_BOUND,	/* the QP has last things to send */
	MPA_EP_DO_ORDERLY,	/* the QP wants an orderly end */
	MPA_EP_DO_COUNT
};

/* cm.c */
bool mpa_cm_same_net(const struct iw_cm_id *cm_id);
struct mpa_qp *mpa_cm_get_qp(const struct iw_cm_id *cm_id, u32 qpn);
void mpa_cm_params(const struct mpa_config *cfg, u32 ird, u32 ord,
		   struct mpa_params *p);
int mpa_cm_config(struct mpa_dev *dev, struct mpa_config *cfg);

/* ep.c */
void mpa_ep_set_state(struct mpa_ep *ep, enum mpa_ep_state to);
void mpa_ep_kick(struct mpa_ep *ep, enum mpa_ep_todo what);
void mpa_ep_arm(struct mpa_ep *ep, unsigned int ms);
void mpa_ep_disarm(struct mpa_ep *ep);
struct mpa_ep *mpa_ep_create(struct mpa_dev *dev, struct socket *sock);
void mpa_ep_unuse(struct mpa_ep *ep);
void mpa_ep_hook(struct mpa_ep *ep, void (*data_ready)(struct sock *sk));
void mpa_ep_unhook(struct mpa_ep *ep);
void mpa_ep_detach(struct mpa_ep *ep);
int mpa_ep_tell_established(struct mpa_ep *ep);
void mpa_ep_tell_failure(const struct mpa_ep *ep, struct iw_cm_id *cm_id,
			 int status);
void mpa_ep_reset_tcp(struct mpa_ep *ep);
void mpa_ep_finish(struct mpa_ep *ep, bool abort, int err);
void mpa_ep_drain(struct sock *sk);
void mpa_ep_release_refs(struct mpa_ep *ep, int err);
void mpa_ep_abort(struct mpa_ep *ep);
int mpa_ep_attach(struct mpa_ep *ep, enum mpa_ep_state to);
int mpa_ep_bind(struct mpa_ep *ep, struct iw_cm_id *cm_id, struct mpa_qp *qp);
struct mpa_ep *mpa_ep_of_id(struct mpa_dev *dev, const struct iw_cm_id *cm_id);
const char *mpa_ep_state_name(enum mpa_ep_state state);
void mpa_ep_forget_id(struct mpa_ep *ep);

/* close.c */
bool mpa_tcp_over(const struct sock *sk);
void mpa_ep_bound(struct mpa_ep *ep);
void mpa_ep_look(struct mpa_ep *ep);
void mpa_ep_unlinger(struct mpa_ep *ep);
void mpa_ep_linger(struct mpa_ep *ep);
void mpa_ep_orderly(struct mpa_ep *ep);
void mpa_ep_soon(struct mpa_ep *ep);

/* sock.c */
int mpa_addr_len(const struct sockaddr_storage *addr);
void mpa_addr_scope(const struct mpa_dev *dev, struct sockaddr_storage *addr);
int mpa_sock_names(struct socket *sock, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote);
int mpa_sock_open(const struct mpa_dev *dev, const struct iw_cm_id *cm_id,
		  struct socket **sock);
int mpa_sock_bind(const struct mpa_dev *dev, struct socket *sock,
		  const struct iw_cm_id *cm_id);

/* connect.c */
void mpa_ep_tcp(struct mpa_ep *ep);
void mpa_ep_failed(struct mpa_ep *ep);

/* accept.c */
int mpa_ep_take(struct mpa_dev *dev, struct mpa_listener *l,
		const struct mpa_config *cfg, struct socket *sock,
		const struct sockaddr_storage *local,
		const struct sockaddr_storage *remote);
void mpa_ep_orphan_all(struct mpa_dev *dev, const struct mpa_listener *l);
void mpa_ep_forget_request(struct mpa_ep *ep);
void mpa_requests_destroy(void);

/* listen.c */
void mpa_listener_get(struct mpa_listener *l);
void mpa_listener_put(struct mpa_listener *l);
bool mpa_listener_alive(struct mpa_listener *l);
u32 mpa_listener_id(const struct mpa_listener *l);
int mpa_listener_event(struct mpa_listener *l, struct iw_cm_event *event);
void mpa_listener_leave(struct mpa_listener *l);
bool mpa_listener_of_id(struct mpa_dev *dev, const struct iw_cm_id *cm_id,
			struct mpa_node_view *v);
void mpa_listeners_stop(struct mpa_dev *dev);
void mpa_listeners_restart(struct mpa_dev *dev);

#endif /* MPA_RNIC_EP_H */
