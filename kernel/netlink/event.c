// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notifications. A message is allocated with the maximum size of its views, so
 * that none is lost because it does not fit. If one is lost for lack of memory,
 * its readers get ENOBUFS, as with a full receive buffer.
 */
#include "family.h"
#include "ulp.h"

enum {
	GROUP_EVENTS	= 0,
};

/**
 * mpa_netlink_has_listeners - check if there are multicast listeners
 * @net: namespace
 *
 * For callers that can avoid making a view. Any context.
 *
 * Return: true if a notification would be received.
 */
bool mpa_netlink_has_listeners(struct net *net)
{
	return genl_has_listeners(&mpa_family, net, GROUP_EVENTS);
}

/*
 * Begins a message with @size bytes for attributes; sets @hdr. NULL if there
 * are no listeners or no memory.
 */
static struct sk_buff *event_begin(struct net *net, enum mpa_cmd cmd,
				   size_t size, void **hdr)
{
	struct sk_buff *skb;

	if (!mpa_netlink_has_listeners(net))
		return NULL;
	skb = genlmsg_new(size, GFP_ATOMIC);
	if (!skb) {
		genl_set_err(&mpa_family, net, 0, GROUP_EVENTS, -ENOBUFS);
		return NULL;
	}
	*hdr = genlmsg_put(skb, 0, 0, &mpa_family, 0, cmd);
	return skb;
}

/* Sends the message. @ret: result of filling it, which cannot be an error. */
static void event_finish(struct net *net, struct sk_buff *skb, void *hdr,
			 int ret)
{
	if (WARN_ON_ONCE(ret)) {
		nlmsg_free(skb);
		genl_set_err(&mpa_family, net, 0, GROUP_EVENTS, -ENOBUFS);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&mpa_family, net, skb, 0, GROUP_EVENTS,
				GFP_ATOMIC);
}

/**
 * mpa_notify_conn - notify about a connection
 * @net: its namespace
 * @cmd: %MPA_CMD_CONN_UP_NTF or %MPA_CMD_CONN_DOWN_NTF
 * @v: the connection
 *
 * Any context.
 */
void mpa_notify_conn(struct net *net, enum mpa_cmd cmd,
		     const struct mpa_conn_view *v)
{
	struct sk_buff *skb;
	void *hdr;

	skb = event_begin(net, cmd, mpa_conn_size(), &hdr);
	if (skb)
		event_finish(net, skb, hdr, mpa_put_conn(skb, net, v));
}

/**
 * mpa_notify_node - notify about a device, a listener or settings
 * @net: namespace
 * @cmd: MPA_CMD_DEV_*_NTF, MPA_CMD_LISTEN_*_NTF or %MPA_CMD_CONFIG_NTF
 * @v: the node. Its counters are left out, as they are not part of these events
 *
 * Any context.
 */
void mpa_notify_node(struct net *net, enum mpa_cmd cmd,
		     const struct mpa_node_view *v)
{
	struct sk_buff *skb;
	void *hdr;

	skb = event_begin(net, cmd, mpa_node_size(v), &hdr);
	if (skb)
		event_finish(net, skb, hdr, mpa_put_node(skb, net, v, false));
}

/**
 * mpa_notify_failure - notify about a rejection or failure
 * @net: namespace
 * @v: the failure; the caller limits the rate
 *
 * Any context.
 */
void mpa_notify_failure(struct net *net, const struct mpa_failure_view *v)
{
	struct sk_buff *skb;
	void *hdr;

	skb = event_begin(net, MPA_CMD_FAILURE_NTF, mpa_failure_size(), &hdr);
	if (skb)
		event_finish(net, skb, hdr, mpa_put_failure(skb, net, v));
}
