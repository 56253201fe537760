// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replies and dumps. Devices, listeners and connections are objects with a
 * number. A dump continues after the last number it has put, so that an object
 * that exists during the whole dump is in it exactly once, whatever other
 * objects are added or removed meanwhile.
 */
#include <linux/limits.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "compat/genl.h"
#include "family.h"

/**
 * struct object_ops - a kind of object
 * @attr: its selector
 * @not_found: message if there is no such object
 * @view_size: bytes of a view
 * @pick: parse the selector
 * @generation: changes when an object is added or removed
 * @next: view the first object with number @from or higher, or -ENOENT
 * @number: number of the object in a view
 * @of_device: the object belongs to the device with @index
 * @size: maximum bytes of attributes that @put adds
 * @put: put a view
 */
struct object_ops {
	enum mpa_attr attr;
	const char *not_found;
	size_t view_size;
	int (*pick)(const struct nlattr *nest, struct mpa_pick *pick,
		    struct netlink_ext_ack *extack);
	u32 (*generation)(struct net *net);
	int (*next)(struct net *net, u32 from, void *view);
	u32 (*number)(const void *view);
	bool (*of_device)(const void *view, u32 index);
	size_t (*size)(const void *view);
	int (*put)(struct sk_buff *skb, const struct net *net, const void *view);
};

/**
 * struct dump - state of a dump, in &netlink_callback.ctx
 * @view: memory for a view
 * @from: number to continue with
 * @begun: the request has been checked
 * @over: there are no more numbers
 * @filtered: only objects of one device
 * @device: index of that device
 */
struct dump {
	void *view;
	u32 from;
	bool begun;
	bool over;
	bool filtered;
	u32 device;
};

/* ---- Kinds of objects ---- */

static u32 get_node_number(const void *view)
{
	const struct mpa_node_view *v = view;

	return v->id;
}

static size_t get_node_size(const void *view)
{
	return mpa_node_size(view);
}

static int get_fill_node(struct sk_buff *skb, const struct net *net,
			 const void *view)
{
	return mpa_put_node(skb, net, view, true);
}

static u32 get_dev_generation(struct net *net)
{
	return mpa_generation(net, MPA_NODE_DEVICE);
}

static int get_dev_next(struct net *net, u32 from, void *view)
{
	return mpa_view_next(net, MPA_NODE_DEVICE, from, view);
}

static u32 get_listen_generation(struct net *net)
{
	return mpa_generation(net, MPA_NODE_LISTENER);
}

static int get_listen_next(struct net *net, u32 from, void *view)
{
	return mpa_view_next(net, MPA_NODE_LISTENER, from, view);
}

static bool get_listen_of_device(const void *view, u32 index)
{
	const struct mpa_node_view *v = view;

	return v->owner == MPA_OWNER_DEVICE && v->dev_index == index;
}

static int get_conn_next(struct net *net, u32 from, void *view)
{
	return mpa_view_next_conn(net, from, view);
}

static u32 get_conn_number(const void *view)
{
	const struct mpa_conn_view *v = view;

	return v->id;
}

static bool get_conn_of_device(const void *view, u32 index)
{
	const struct mpa_conn_view *v = view;

	return v->owner == MPA_OWNER_DEVICE && v->label.dev_index == index;
}

static size_t get_conn_size(const void *view)
{
	return mpa_conn_size();
}

static int get_fill_conn(struct sk_buff *skb, const struct net *net,
			 const void *view)
{
	return mpa_put_conn(skb, net, view);
}

static const struct object_ops devices = {
	.attr		= MPA_A_DEV,
	.not_found	= "no such device in this network namespace",
	.view_size	= sizeof(struct mpa_node_view),
	.pick		= mpa_pick_dev,
	.generation	= get_dev_generation,
	.next		= get_dev_next,
	.number		= get_node_number,
	.size		= get_node_size,
	.put		= get_fill_node,
};

static const struct object_ops listeners = {
	.attr		= MPA_A_LISTEN,
	.not_found	= "no such listener in this network namespace",
	.view_size	= sizeof(struct mpa_node_view),
	.pick		= mpa_pick_listen,
	.generation	= get_listen_generation,
	.next		= get_listen_next,
	.number		= get_node_number,
	.of_device	= get_listen_of_device,
	.size		= get_node_size,
	.put		= get_fill_node,
};

static const struct object_ops conns = {
	.attr		= MPA_A_CONN,
	.not_found	= "no such connection in this network namespace",
	.view_size	= sizeof(struct mpa_conn_view),
	.pick		= mpa_pick_conn,
	.generation	= mpa_conn_generation,
	.next		= get_conn_next,
	.number		= get_conn_number,
	.of_device	= get_conn_of_device,
	.size		= get_conn_size,
	.put		= get_fill_conn,
};

static const struct object_ops *get_ops_of(const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *hdr = nlmsg_data(nlh);

	switch (hdr->cmd) {
	case MPA_CMD_DEV_GET:
		return &devices;
	case MPA_CMD_LISTEN_GET:
		return &listeners;
	default:
		return &conns;
	}
}

/* ---- Single objects ---- */

/* Allocates, fills and sends a reply. */
static int get_reply(struct genl_info *info, size_t size, const void *view,
		     int (*put)(struct sk_buff *skb, const struct net *net,
				const void *view))
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);
	void *hdr;
	int ret;

	if (!skb)
		return -ENOMEM;
	hdr = genlmsg_put_reply(skb, info, &mpa_family, 0, info->genlhdr->cmd);
	ret = hdr ? put(skb, genl_info_net(info), view) : -EMSGSIZE;
	if (WARN_ON_ONCE(ret)) {
		nlmsg_free(skb);
		return ret;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

/**
 * mpa_defaults_get - %MPA_CMD_DEFAULTS_GET
 * @skb: request
 * @info: request
 *
 * Return: 0, or a negative error.
 */
int mpa_defaults_get(struct sk_buff *skb, struct genl_info *info)
{
	struct mpa_node_view *v;
	int ret;

	ret = mpa_check_request(info->nlhdr, 0, info->extack);
	if (ret)
		return ret;
	v = kzalloc(sizeof(*v), GFP_KERNEL);
	if (!v)
		return -ENOMEM;
	mpa_view_defaults(genl_info_net(info), v);
	ret = get_reply(info, mpa_node_size(v), v, get_fill_node);
	kfree(v);
	return ret;
}

/* Views the selected object, or returns an error if it does not exist. */
static int get_find(struct net *net, const struct object_ops *ops,
		    const struct mpa_pick *pick, void *view)
{
	int ret;

	if (pick->name)
		return mpa_view_device(net, 0, pick->name, view);
	ret = ops->next(net, pick->id, view);
	if (!ret && ops->number(view) != pick->id)
		ret = -ENOENT;
	return ret;
}

static int get_not_found(const struct object_ops *ops,
			 const struct mpa_pick *pick,
			 struct netlink_ext_ack *extack)
{
	extack->_msg = ops->not_found;
	extack->bad_attr = pick->attr;
	return ops == &devices ? -ENODEV : -ENOENT;
}

static int get_find_and_reply(struct genl_info *info,
			      const struct object_ops *ops,
			      const struct mpa_pick *pick)
{
	void *view = kzalloc(ops->view_size, GFP_KERNEL);
	int ret;

	if (!view)
		return -ENOMEM;
	if (get_find(genl_info_net(info), ops, pick, view))
		ret = get_not_found(ops, pick, info->extack);
	else
		ret = get_reply(info, ops->size(view), view, ops->put);
	kfree(view);
	return ret;
}

/**
 * mpa_object_get - %MPA_CMD_DEV_GET, %MPA_CMD_LISTEN_GET, %MPA_CMD_CONN_GET
 * @skb: request
 * @info: request
 *
 * Return: 0, or a negative error.
 */
int mpa_object_get(struct sk_buff *skb, struct genl_info *info)
{
	const struct object_ops *ops = get_ops_of(info->nlhdr);
	struct mpa_pick pick;
	int ret;

	ret = mpa_check_request(info->nlhdr, BIT(ops->attr), info->extack);
	if (ret)
		return ret;
	if (GENL_REQ_ATTR_CHECK(info, ops->attr)) {
		GENL_SET_ERR_MSG(info, "no object selected");
		return -EINVAL;
	}
	ret = ops->pick(info->attrs[ops->attr], &pick, info->extack);
	return ret ?: get_find_and_reply(info, ops, &pick);
}

/* ---- Dumps ---- */

/**
 * mpa_object_start - begin a dump of devices, listeners or connections
 * @cb: the dump
 *
 * The request is checked in mpa_object_dump(), since extended ack messages
 * cannot be returned from here.
 *
 * Return: 0, or -ENOMEM.
 */
int mpa_object_start(struct netlink_callback *cb)
{
	struct dump *dump = (struct dump *)cb->ctx;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	dump->view = kzalloc(get_ops_of(cb->nlh)->view_size, GFP_KERNEL);
	return dump->view ? 0 : -ENOMEM;
}

/**
 * mpa_object_done - end a dump
 * @cb: the dump
 *
 * Return: 0.
 */
int mpa_object_done(struct netlink_callback *cb)
{
	struct dump *dump = (struct dump *)cb->ctx;

	kfree(dump->view);
	return 0;
}

/* Sets the filter if the request asks for the objects of one device. */
static int get_dump_filter(struct netlink_callback *cb, struct net *net,
			   struct dump *dump)
{
	struct nlattr *nest = mpa_dump_attrs(cb)[MPA_A_DEV];
	struct mpa_node_view *v;
	struct mpa_pick pick;
	int ret;

	if (!nest)
		return 0;
	ret = mpa_pick_dev(nest, &pick, cb->extack);
	if (ret)
		return ret;
	v = kzalloc(sizeof(*v), GFP_KERNEL);
	if (!v)
		return -ENOMEM;
	ret = get_find(net, &devices, &pick, v);
	if (ret)
		ret = get_not_found(&devices, &pick, cb->extack);
	dump->filtered = true;
	dump->device = v->id;
	kfree(v);
	return ret;
}

static int get_dump_begin(struct netlink_callback *cb, struct net *net,
			  struct dump *dump)
{
	const struct object_ops *ops = get_ops_of(cb->nlh);
	u32 allowed = ops->of_device ? BIT(MPA_A_DEV) : 0;
	int ret;

	if (dump->begun)
		return 0;
	ret = mpa_check_request(cb->nlh, allowed, cb->extack);
	if (!ret)
		ret = get_dump_filter(cb, net, dump);
	dump->begun = !ret;
	return ret;
}

static int get_dump_put(struct sk_buff *skb, struct netlink_callback *cb,
			const struct object_ops *ops, const void *view)
{
	const struct genlmsghdr *request = nlmsg_data(cb->nlh);
	void *hdr;
	int ret;

	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &mpa_family, NLM_F_MULTI, request->cmd);
	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	ret = ops->put(skb, sock_net(cb->skb->sk), view);
	if (ret)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return ret;
}

/* The core takes 0 for "no generations", so all are odd. */
static u32 get_dump_generation(const struct netlink_callback *cb,
			       struct net *net)
{
	return get_ops_of(cb->nlh)->generation(net) << 1 | 1;
}

/* Fills the message. Returns 0 after the last object. */
static int get_dump_fill(struct sk_buff *skb, struct netlink_callback *cb,
			 struct net *net, struct dump *dump)
{
	const struct object_ops *ops = get_ops_of(cb->nlh);
	u32 number;
	int ret;

	while (!dump->over) {
		ret = ops->next(net, dump->from, dump->view);
		if (ret) {
			dump->over = ret == -ENOENT;
			return dump->over ? 0 : ret;
		}
		if (!dump->filtered ||
		    ops->of_device(dump->view, dump->device)) {
			ret = get_dump_put(skb, cb, ops, dump->view);
			if (ret)
				return ret;
		}
		number = ops->number(dump->view);
		dump->over = number == U32_MAX;
		dump->from = number + 1;
	}
	return 0;
}

/**
 * mpa_object_dump - fill one message of a dump
 * @skb: message
 * @cb: the dump
 *
 * The generation is read before each message, and once more before the end of
 * the dump is reported, so that no change during the dump goes unnoticed: the
 * core compares @cb->seq with that of the message before, also at the end.
 *
 * Return: bytes in @skb; 0: the dump is complete; or a negative error.
 */
int mpa_object_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dump *dump = (struct dump *)cb->ctx;
	struct net *net = sock_net(cb->skb->sk);
	int ret;

	ret = get_dump_begin(cb, net, dump);
	if (ret)
		return ret;
	cb->seq = get_dump_generation(cb, net);
	/* A dump that puts nothing can be inconsistent, too. */
	if (!cb->prev_seq)
		cb->prev_seq = cb->seq;
	ret = get_dump_fill(skb, cb, net, dump);
	if (ret && !(ret == -EMSGSIZE && skb->len))
		return ret;
	/* The end follows: filling may have slept, and has found no more. */
	if (!skb->len)
		cb->seq = get_dump_generation(cb, net);
	return skb->len;
}
