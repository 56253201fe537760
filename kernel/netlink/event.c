// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notifications. They are made as long as their views can make them, so that
 * none is lost for want of room; one that is lost for want of memory shows up as
 * ENOBUFS at its readers, as a full receive buffer does.
 */
#include "family.h"
#include "ulp.h"

enum {
	GROUP_EVENTS	= 0,
};

/**
 * mpa_netlink_has_listeners - does anybody listen?
 * @net: namespace
 *
 * For callers to whom the view itself is work. Any context.
 *
 * Return: true if a notification would reach someone.
 */
bool mpa_netlink_has_listeners(struct net *net)
{
	return genl_has_listeners(&mpa_family, net, GROUP_EVENTS);
}

/* Nobody listens, or @size bytes of attributes are ready at @hdr. */
static struct sk_buff *event_begin(struct net *net, enum mpa_cmd cmd,
				   size_t size, void **hdr)
{
	struct sk_buff *skb;

	if (!mpa_netlink_has_listeners(net))
		return NULL;
	skb = genlmsg_new(size, GFP_ATOMIC);
	if (!skb) {
		genl_set_err(&mpa_family, net, 0, GROUP_EVENTS, ENOBUFS);
		return NULL;
	}
	*hdr = genlmsg_put(skb, 0, 0, &mpa_family, 0, cmd);
	return skb;
}

/* @ret: what putting it has come to; more than the room there is cannot be. */
static void event_finish(struct net *net, struct sk_buff *skb, void *hdr,
			 int ret)
{
	if (WARN_ON_ONCE(ret)) {
		nlmsg_free(skb);
		genl_set_err(&mpa_family, net, 0, GROUP_EVENTS, ENOBUFS);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&mpa_family, net, skb, 0, GROUP_EVENTS,
				GFP_ATOMIC);
}

/**
 * mpa_notify_conn - tell of a connection
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
 * mpa_notify_node - tell of a device, a listener, or settings
 * @net: namespace
 * @cmd: MPA_CMD_DEV_*_NTF, MPA_CMD_LISTEN_*_NTF or %MPA_CMD_CONFIG_NTF
 * @v: the node; its counters are left out, they have changed in no way that
 *	anybody waits for
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
 * mpa_notify_failure - tell of something that was refused or has failed
 * @net: namespace
 * @v: what; whether it is time to tell is for the caller to say
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
