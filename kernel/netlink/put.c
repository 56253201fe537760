// SPDX-License-Identifier: GPL-2.0-only
/*
 * Putting views into messages. Each nest has a function that puts it and one
 * that returns its maximum size.
 */
#include <linux/cred.h>
#include <linux/uidgid.h>

#include "family.h"

/* Size of all attributes up to @_max, each with at most a u32. */
#define U32S(_max)	((_max) * nla_total_size(sizeof(u32)))

enum {
	ADDR_MAX	= 16,
};

/* ---- Sizes ---- */

static size_t put_dev_size(void)
{
	return nla_total_size(0) + U32S(MPA_A_DEV_MAX) +
	       nla_total_size(MPA_DEV_NAME_MAX) + nla_total_size(IFNAMSIZ);
}

static size_t put_listen_size(void)
{
	return nla_total_size(0) + U32S(MPA_A_LISTEN_MAX) +
	       nla_total_size(ADDR_MAX);
}

/* The settings and %MPA_A_OWN. */
static size_t put_config_size(void)
{
	return nla_total_size(0) + U32S(MPA_A_CONFIG_MAX) +
	       nla_total_size(sizeof(u32));
}

static size_t put_own_config_size(void)
{
	return nla_total_size(0) + U32S(MPA_A_CONFIG_MAX);
}

static size_t put_counter_size(void)
{
	return nla_total_size(0) + nla_total_size(MPA_COUNTER_NAME_MAX) +
	       nla_total_size_64bit(sizeof(u64));
}

static size_t put_stats_size(void)
{
	return nla_total_size(0) +
	       MPA_A_CONN_STATS_MAX * nla_total_size_64bit(sizeof(u64));
}

static size_t put_framing_size(void)
{
	return nla_total_size(0) +
	       MPA_A_FRAMING_MAX * nla_total_size_64bit(sizeof(u64));
}

/**
 * mpa_conn_size - maximum size of what mpa_put_conn() puts
 *
 * Return: bytes of attributes.
 */
size_t mpa_conn_size(void)
{
	return nla_total_size(0) + U32S(MPA_A_CONN_MAX) +
	       2 * nla_total_size(ADDR_MAX) +
	       2 * nla_total_size_64bit(sizeof(u64)) + put_stats_size() +
	       put_framing_size();
}

/**
 * mpa_node_size - maximum size of what mpa_put_node() puts
 * @v: the node
 *
 * Return: bytes of attributes.
 */
size_t mpa_node_size(const struct mpa_node_view *v)
{
	return max(put_dev_size(), put_listen_size()) + put_config_size() +
	       put_own_config_size() + v->nr_counters * put_counter_size();
}

/**
 * mpa_failure_size - maximum size of what mpa_put_failure() puts
 *
 * Return: bytes of attributes.
 */
size_t mpa_failure_size(void)
{
	return nla_total_size(0) + U32S(MPA_A_FAILURE_MAX) +
	       max(mpa_conn_size(), put_listen_size());
}

/* ---- Common parts ---- */

/* In the user namespace that owns the network namespace. */
static int put_uid(struct sk_buff *skb, int attr, const struct net *net,
		   kuid_t uid)
{
	return nla_put_u32(skb, attr, from_kuid_munged(net->user_ns, uid));
}

static int put_addr(struct sk_buff *skb, int addr_attr, int port_attr,
		    const struct mpa_addr *addr)
{
	if (!addr->len)
		return 0;
	return nla_put(skb, addr_attr, addr->len, addr->bytes) ?:
	       nla_put_be16(skb, port_attr, addr->port);
}

/* Ends a nest, or cancels it if @ret is an error. */
static int put_nest_end(struct sk_buff *skb, struct nlattr *nest, int ret)
{
	if (ret) {
		nla_nest_cancel(skb, nest);
		return ret;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/* ---- Nodes ---- */

static int put_dev_attrs(struct sk_buff *skb, const struct mpa_node_view *v)
{
	return nla_put_u32(skb, MPA_A_DEV_INDEX, v->id) ?:
	       nla_put_string(skb, MPA_A_DEV_NAME, v->name) ?:
	       nla_put_u32(skb, MPA_A_DEV_IFINDEX, v->ifindex) ?:
	       nla_put_string(skb, MPA_A_DEV_IFNAME, v->ifname) ?:
	       nla_put_u32(skb, MPA_A_DEV_ACTIVE, v->active) ?:
	       nla_put_u32(skb, MPA_A_DEV_IRD_MAX, v->limits.ird_max) ?:
	       nla_put_u32(skb, MPA_A_DEV_ORD_MAX, v->limits.ord_max) ?:
	       nla_put_u32(skb, MPA_A_DEV_RTR, v->limits.rtr) ?:
	       nla_put_u32(skb, MPA_A_DEV_CONNS, v->conns) ?:
	       nla_put_u32(skb, MPA_A_DEV_LISTENERS, v->listeners);
}

static int put_dev(struct sk_buff *skb, const struct mpa_node_view *v)
{
	struct nlattr *nest = nla_nest_start(skb, MPA_A_DEV);

	return nest ? put_nest_end(skb, nest, put_dev_attrs(skb, v)) :
		      -EMSGSIZE;
}

static int put_listen_owner(struct sk_buff *skb, const struct net *net,
			    const struct mpa_node_view *v)
{
	if (v->owner == MPA_OWNER_SOCKET)
		return put_uid(skb, MPA_A_LISTEN_UID, net, v->uid);
	return nla_put_u32(skb, MPA_A_LISTEN_DEV_INDEX, v->dev_index) ?:
	       nla_put_u32(skb, MPA_A_LISTEN_HALF_OPEN, v->half_open);
}

static int put_listen_attrs(struct sk_buff *skb, const struct net *net,
			    const struct mpa_node_view *v)
{
	int ret;

	ret = nla_put_u32(skb, MPA_A_LISTEN_ID, v->id) ?:
	      nla_put_u32(skb, MPA_A_LISTEN_OWNER, v->owner) ?:
	      put_addr(skb, MPA_A_LISTEN_ADDR, MPA_A_LISTEN_PORT, &v->addr);
	if (!ret && v->addr.scope)
		ret = nla_put_u32(skb, MPA_A_LISTEN_SCOPE, v->addr.scope);
	return ret ?: nla_put_u32(skb, MPA_A_LISTEN_BACKLOG, v->backlog) ?:
		      put_listen_owner(skb, net, v);
}

static int put_listen(struct sk_buff *skb, const struct net *net,
		      const struct mpa_node_view *v)
{
	struct nlattr *nest = nla_nest_start(skb, MPA_A_LISTEN);

	return nest ? put_nest_end(skb, nest, put_listen_attrs(skb, net, v)) :
		      -EMSGSIZE;
}

static int put_config_attrs(struct sk_buff *skb, const struct mpa_config *cfg)
{
	int attr, ret = 0;

	for (attr = 1; attr <= MPA_A_CONFIG_MAX && !ret; attr++)
		ret = nla_put_u32(skb, attr, cfg->v[attr]);
	return ret;
}

static int put_config(struct sk_buff *skb, const struct mpa_node_view *v)
{
	struct nlattr *nest = nla_nest_start(skb, MPA_A_CONFIG);

	if (!nest)
		return -EMSGSIZE;
	return put_nest_end(skb, nest, put_config_attrs(skb, &v->config)) ?:
	       nla_put_u32(skb, MPA_A_OWN, v->own.set);
}

static int put_own_config_attrs(struct sk_buff *skb,
				const struct mpa_settings *own)
{
	int attr, ret = 0;

	for (attr = 1; attr <= MPA_A_CONFIG_MAX && !ret; attr++)
		if (own->set & BIT(attr))
			ret = nla_put_u32(skb, attr, own->v[attr]);
	return ret;
}

static int put_own_config(struct sk_buff *skb, const struct mpa_node_view *v)
{
	struct nlattr *nest = nla_nest_start(skb, MPA_A_OWN_CONFIG);

	return nest ? put_nest_end(skb, nest, put_own_config_attrs(skb, &v->own)) :
		      -EMSGSIZE;
}

static int put_counter_attrs(struct sk_buff *skb,
			     const struct mpa_counter_view *c)
{
	return nla_put_string(skb, MPA_A_COUNTER_NAME, c->name) ?:
	       nla_put_u64_64bit(skb, MPA_A_COUNTER_VALUE, c->value,
				 MPA_A_COUNTER_PAD);
}

static int put_counters(struct sk_buff *skb, const struct mpa_node_view *v)
{
	struct nlattr *nest;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < v->nr_counters && !ret; i++) {
		nest = nla_nest_start(skb, MPA_A_COUNTER);
		if (!nest)
			return -EMSGSIZE;
		ret = put_nest_end(skb, nest,
				   put_counter_attrs(skb, &v->counters[i]));
	}
	return ret;
}

/**
 * mpa_put_node - put a node and its settings
 * @skb: message
 * @net: namespace of the node
 * @v: the node; the defaults of a namespace have no nest of their own
 * @counters: also put its counters
 *
 * Return: 0, or -EMSGSIZE with a part of it put.
 */
int mpa_put_node(struct sk_buff *skb, const struct net *net,
		 const struct mpa_node_view *v, bool counters)
{
	int ret = 0;

	if (v->kind == MPA_NODE_DEVICE)
		ret = put_dev(skb, v);
	else if (v->kind == MPA_NODE_LISTENER)
		ret = put_listen(skb, net, v);
	ret = ret ?: put_config(skb, v);
	if (!ret && v->kind == MPA_NODE_DEVICE)
		ret = put_own_config(skb, v);
	if (!ret && counters)
		ret = put_counters(skb, v);
	return ret;
}

/* ---- Connections ---- */

/* Whose socket an application has handed over is shown, too. */
static int put_conn_owner(struct sk_buff *skb, const struct net *net,
			  const struct mpa_conn_view *v)
{
	int ret = 0;

	if (v->owner == MPA_OWNER_DEVICE) {
		ret = nla_put_u32(skb, MPA_A_CONN_DEV_INDEX, v->label.dev_index);
		if (!ret && v->label.qpn)
			ret = nla_put_u32(skb, MPA_A_CONN_QPN, v->label.qpn);
	}
	if (!ret && (v->owner == MPA_OWNER_SOCKET || v->inode))
		ret = put_uid(skb, MPA_A_CONN_UID, net, v->uid);
	if (!ret && v->inode)
		ret = nla_put_u64_64bit(skb, MPA_A_CONN_INODE, v->inode,
					MPA_A_CONN_PAD);
	return ret;
}

/* Number, owner and addresses. */
static int put_conn_identity(struct sk_buff *skb, const struct net *net,
			     const struct mpa_conn_view *v)
{
	int ret;

	ret = nla_put_u32(skb, MPA_A_CONN_ID, v->id) ?:
	      nla_put_u32(skb, MPA_A_CONN_OWNER, v->owner) ?:
	      put_conn_owner(skb, net, v);
	if (!ret && v->listen_id)
		ret = nla_put_u32(skb, MPA_A_CONN_LISTEN_ID, v->listen_id);
	ret = ret ?: put_addr(skb, MPA_A_CONN_LOCAL_ADDR,
			      MPA_A_CONN_LOCAL_PORT, &v->local) ?:
		     put_addr(skb, MPA_A_CONN_REMOTE_ADDR,
			      MPA_A_CONN_REMOTE_PORT, &v->remote);
	if (!ret && v->local.scope)
		ret = nla_put_u32(skb, MPA_A_CONN_LOCAL_SCOPE, v->local.scope);
	if (!ret && v->remote.scope)
		ret = nla_put_u32(skb, MPA_A_CONN_REMOTE_SCOPE, v->remote.scope);
	return ret;
}

/* Result of the startup exchange. */
static int put_conn_result(struct sk_buff *skb, const struct mpa_result *res)
{
	return nla_put_u32(skb, MPA_A_CONN_REVISION, res->rev) ?:
	       nla_put_u32(skb, MPA_A_CONN_DDP_VERSION, res->ddp_version) ?:
	       nla_put_u32(skb, MPA_A_CONN_ENHANCED, res->enhanced) ?:
	       nla_put_u32(skb, MPA_A_CONN_PEER_TO_PEER, res->p2p) ?:
	       nla_put_u32(skb, MPA_A_CONN_RTR, res->rtr) ?:
	       nla_put_u32(skb, MPA_A_CONN_TX_MARKERS, res->tx_markers) ?:
	       nla_put_u32(skb, MPA_A_CONN_RX_MARKERS, res->rx_markers) ?:
	       nla_put_u32(skb, MPA_A_CONN_CRC, res->crc) ?:
	       nla_put_u32(skb, MPA_A_CONN_IRD, res->ird) ?:
	       nla_put_u32(skb, MPA_A_CONN_ORD, res->ord) ?:
	       nla_put_u32(skb, MPA_A_CONN_PEER_IRD, res->peer_ird) ?:
	       nla_put_u32(skb, MPA_A_CONN_PEER_ORD, res->peer_ord) ?:
	       nla_put_u32(skb, MPA_A_CONN_RDMAP_EXTENSIONS, res->extensions) ?:
	       nla_put_u32(skb, MPA_A_CONN_START_KEY, res->start_key);
}

static int put_term(struct sk_buff *skb, int attr, u32 term)
{
	if (!(term & MPA_TERM_VALID))
		return 0;
	return nla_put_u32(skb, attr, term & ~MPA_TERM_VALID);
}

/* Phase, result, and reason of the end. */
static int put_conn_state(struct sk_buff *skb, const struct mpa_conn_view *v)
{
	int ret;

	ret = nla_put_u32(skb, MPA_A_CONN_PHASE, v->phase) ?:
	      nla_put_u64_64bit(skb, MPA_A_CONN_AGE, v->age_ms, MPA_A_CONN_PAD);
	if (!ret && v->busy)
		ret = nla_put_flag(skb, MPA_A_CONN_BUSY);
	if (!ret && v->started)
		ret = nla_put_u32(skb, MPA_A_CONN_INITIATOR, v->initiator);
	if (!ret && v->known)
		ret = put_conn_result(skb, &v->res);
	ret = ret ?: nla_put_u32(skb, MPA_A_CONN_MULPDU, v->mulpdu) ?:
		     nla_put_u32(skb, MPA_A_CONN_EMSS, v->emss);
	if (!ret && v->code)
		ret = nla_put_u32(skb, MPA_A_CONN_CODE, v->code) ?:
		      nla_put_u32(skb, MPA_A_CONN_ERR, v->err);
	return ret ?: put_term(skb, MPA_A_CONN_TERM_SENT, v->term_sent) ?:
		      put_term(skb, MPA_A_CONN_TERM_RECEIVED, v->term_received);
}

static int put_stat(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, MPA_A_CONN_STATS_PAD);
}

static int put_stats_attrs(struct sk_buff *skb, const struct mpa_conn_stats *st)
{
	return put_stat(skb, MPA_A_CONN_STATS_TX_FPDUS, st->tx_fpdus) ?:
	       put_stat(skb, MPA_A_CONN_STATS_TX_BATCHES, st->tx_batches) ?:
	       put_stat(skb, MPA_A_CONN_STATS_TX_BYTES, st->tx_bytes) ?:
	       put_stat(skb, MPA_A_CONN_STATS_TX_SHORT, st->tx_short) ?:
	       put_stat(skb, MPA_A_CONN_STATS_RX_FPDUS, st->rx_fpdus) ?:
	       put_stat(skb, MPA_A_CONN_STATS_RX_BYTES, st->rx_bytes) ?:
	       put_stat(skb, MPA_A_CONN_STATS_RX_CRC_ERRORS,
			st->rx_crc_errors) ?:
	       put_stat(skb, MPA_A_CONN_STATS_RX_MARKER_ERRORS,
			st->rx_marker_errors) ?:
	       put_stat(skb, MPA_A_CONN_STATS_RX_LENGTH_ERRORS,
			st->rx_length_errors) ?:
	       put_stat(skb, MPA_A_CONN_STATS_RX_TOO_SOON, st->rx_too_soon) ?:
	       put_stat(skb, MPA_A_CONN_STATS_RX_DROPPED, st->rx_dropped);
}

static int put_stats(struct sk_buff *skb, const struct mpa_conn_stats *st)
{
	struct nlattr *nest = nla_nest_start(skb, MPA_A_CONN_STATS);

	return nest ? put_nest_end(skb, nest, put_stats_attrs(skb, st)) :
		      -EMSGSIZE;
}

static int put_count(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, MPA_A_FRAMING_PAD);
}

static int put_framing_attrs(struct sk_buff *skb,
			     const struct tcp_framing_info *f)
{
	return nla_put_u32(skb, MPA_A_FRAMING_MODE, f->mode) ?:
	       nla_put_u32(skb, MPA_A_FRAMING_FLAGS, f->flags) ?:
	       nla_put_u32(skb, MPA_A_FRAMING_EMSS, f->emss) ?:
	       nla_put_u32(skb, MPA_A_FRAMING_SEND_INTERVAL,
			   f->send_interval) ?:
	       nla_put_u32(skb, MPA_A_FRAMING_RECV_INTERVAL,
			   f->recv_interval) ?:
	       put_count(skb, MPA_A_FRAMING_TX_PDUS, f->tx_pdus) ?:
	       put_count(skb, MPA_A_FRAMING_TX_FRAMES, f->tx_frames) ?:
	       put_count(skb, MPA_A_FRAMING_TX_PIECES, f->tx_pieces) ?:
	       put_count(skb, MPA_A_FRAMING_EMSS_CHANGES, f->emss_changes) ?:
	       put_count(skb, MPA_A_FRAMING_RX_FRAMES, f->rx_frames) ?:
	       put_count(skb, MPA_A_FRAMING_RX_ALIGNED, f->rx_aligned) ?:
	       put_count(skb, MPA_A_FRAMING_RX_UNALIGNED, f->rx_unaligned) ?:
	       put_count(skb, MPA_A_FRAMING_RX_PARTED, f->rx_parted);
}

static int put_framing(struct sk_buff *skb, const struct mpa_conn_view *v)
{
	struct nlattr *nest;

	if (!v->framed)
		return 0;
	nest = nla_nest_start(skb, MPA_A_CONN_FRAMING);
	return nest ? put_nest_end(skb, nest, put_framing_attrs(skb, &v->framing)) :
		      -EMSGSIZE;
}

/**
 * mpa_put_conn - put a connection
 * @skb: message
 * @net: namespace of the connection
 * @v: the connection
 *
 * Return: 0, or -EMSGSIZE with nothing put.
 */
int mpa_put_conn(struct sk_buff *skb, const struct net *net,
		 const struct mpa_conn_view *v)
{
	struct nlattr *nest = nla_nest_start(skb, MPA_A_CONN);
	int ret;

	if (!nest)
		return -EMSGSIZE;
	ret = put_conn_identity(skb, net, v) ?: put_conn_state(skb, v) ?:
	      put_stats(skb, &v->stats) ?: put_framing(skb, v);
	return put_nest_end(skb, nest, ret);
}

/* ---- Failures ---- */

static int put_failure_attrs(struct sk_buff *skb,
			     const struct mpa_failure_view *v)
{
	return nla_put_u32(skb, MPA_A_FAILURE_KIND, v->kind) ?:
	       nla_put_u32(skb, MPA_A_FAILURE_ERR, v->err) ?:
	       put_term(skb, MPA_A_FAILURE_TERM, v->term) ?:
	       nla_put_u32(skb, MPA_A_FAILURE_SUPPRESSED, v->suppressed);
}

/**
 * mpa_put_failure - put a failure and the connection or listener it belongs to
 * @skb: message
 * @net: namespace of the failure
 * @v: the failure
 *
 * Return: 0, or -EMSGSIZE with a part of it put.
 */
int mpa_put_failure(struct sk_buff *skb, const struct net *net,
		    const struct mpa_failure_view *v)
{
	struct nlattr *nest = nla_nest_start(skb, MPA_A_FAILURE);
	int ret;

	if (!nest)
		return -EMSGSIZE;
	ret = put_nest_end(skb, nest, put_failure_attrs(skb, v));
	if (!ret && v->conn)
		ret = mpa_put_conn(skb, net, v->conn);
	if (!ret && v->listener)
		ret = put_listen(skb, net, v->listener);
	return ret;
}
