// SPDX-License-Identifier: GPL-2.0-only
/*
 * The objects of each network namespace: the settings that are its defaults,
 * devices, listeners, counters. See registry.h for locks and their order.
 *
 * A node is in one of the arrays of its namespace from mpa_node_add() to
 * mpa_node_remove(), and is accessed only under the lock. So no one holds a
 * reference to a node: netlink gets copies of values.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <net/netns/generic.h>

#include "netlink/ulp.h"
#include "registry.h"

DEFINE_SPINLOCK(mpa_registry_lock);

/* Names in /proc/lock_stat. */
static struct lock_class_key registry_devices_lock_class;
static struct lock_class_key registry_listeners_lock_class;
static struct lock_class_key registry_conns_lock_class;

static unsigned int registry_net_id __read_mostly;

/*
 * For views that are only passed on, because a view is too large for a stack.
 */
static struct mpa_node_view registry_shared_view;

static const char registry_counter_names[MPA_COUNT_NR][MPA_COUNTER_NAME_MAX] = {
	[MPA_COUNT_CONNS]		= "conns",
	[MPA_COUNT_CONNS_UP]		= "conns_up",
	[MPA_COUNT_OPENED]		= "opened",
	[MPA_COUNT_STARTUP]		= "startup_failures",
	[MPA_COUNT_REJECTED]		= "rejected",
	[MPA_COUNT_CRC]			= "crc_errors",
	[MPA_COUNT_MARKER]		= "marker_errors",
	[MPA_COUNT_LENGTH]		= "length_errors",
	[MPA_COUNT_TCP]			= "tcp_lost",
	[MPA_COUNT_TERM_SENT]		= "terminates_sent",
	[MPA_COUNT_TERM_RECEIVED]	= "terminates_received",
	[MPA_COUNT_HALF_OPEN]		= "half_open_dropped",
	[MPA_COUNT_SUPPRESSED]		= "failures_suppressed",
	[MPA_COUNT_TOO_SOON]		= "fpdus_too_soon",
	[MPA_COUNT_TUF_PIECES]		= "tuf_pieces",
	[MPA_COUNT_TUF_EMSS]		= "tuf_emss_changes",
	[MPA_COUNT_TUF_PARTED]		= "tuf_parted",
};

/**
 * mpa_net_of - objects of a namespace
 * @net: the namespace, still alive
 *
 * Any context.
 *
 * Return: the objects, never NULL.
 */
struct mpa_net *mpa_net_of(const struct net *net)
{
	return net_generic(net, registry_net_id);
}

/**
 * mpa_count - change a counter
 * @mn: namespace
 * @what: counter
 * @by: how much; negative for counters that decrease
 *
 * Any context.
 */
void mpa_count(struct mpa_net *mn, enum mpa_counter what, int by)
{
	atomic64_add(by, &mn->counters[what]);
}

/* ---- Settings in force ---- */

static const struct mpa_limits *node_limits(const struct mpa_node *node)
{
	return node->parent ? node->parent->limits : node->limits;
}

static void node_resolve(const struct mpa_node *node, struct mpa_config *cfg)
{
	const struct mpa_limits *lim = node_limits(node);

	lockdep_assert_held(&mpa_registry_lock);
	mpa_config_builtin(cfg);
	if (node->net)
		mpa_config_overlay(cfg, &mpa_net_of(node->net)->own);
	if (node->parent)
		mpa_config_overlay(cfg, &node->parent->own);
	mpa_config_overlay(cfg, &node->own);
	if (lim)
		mpa_config_clip(cfg, lim);
}

/* Passes the settings of a node to its owner. */
static void node_configure(struct mpa_node *node)
{
	struct mpa_config cfg;

	if (!node->ops->configured)
		return;
	node_resolve(node, &cfg);
	node->ops->configured(node, &cfg);
}

/**
 * mpa_node_config - settings in force at a node
 * @node: the node; one that was not added, or removed, inherits nothing from a
 *	namespace
 * @cfg: set to the settings, limited to what the device supports
 *
 * Any context.
 */
void mpa_node_config(const struct mpa_node *node, struct mpa_config *cfg)
{
	spin_lock_bh(&mpa_registry_lock);
	node_resolve(node, cfg);
	spin_unlock_bh(&mpa_registry_lock);
}
EXPORT_SYMBOL_NS_GPL(mpa_node_config, MPA_NS);

/**
 * mpa_net_config - settings in force in a namespace
 * @net: the namespace
 * @cfg: set to the settings
 *
 * Any context.
 */
void mpa_net_config(struct net *net, struct mpa_config *cfg)
{
	mpa_config_builtin(cfg);
	spin_lock_bh(&mpa_registry_lock);
	mpa_config_overlay(cfg, &mpa_net_of(net)->own);
	spin_unlock_bh(&mpa_registry_lock);
}

/* ---- Views ---- */

static void node_view(const struct mpa_node *node, struct mpa_node_view *v)
{
	lockdep_assert_held(&mpa_registry_lock);
	memset(v, 0, sizeof(*v));
	v->kind = node->kind;
	v->id = node->id;
	v->own = node->own;
	node_resolve(node, &v->config);
	node->ops->view(node, v);
}

static struct xarray *registry_nodes(struct mpa_net *mn,
				     enum mpa_node_kind kind)
{
	return kind == MPA_NODE_DEVICE ? &mn->devices : &mn->listeners;
}

static struct mpa_node *registry_find_by_name(struct net *net, const char *name)
{
	struct mpa_node *node;
	unsigned long index;

	lockdep_assert_held(&mpa_registry_lock);
	xa_for_each(&mpa_net_of(net)->devices, index, node)
		if (node->ops->is_called(node, name))
			return node;
	return NULL;
}

static struct mpa_node *registry_find(struct net *net, enum mpa_node_kind kind,
				      u32 id,
			     const char *name)
{
	lockdep_assert_held(&mpa_registry_lock);
	if (kind == MPA_NODE_DEVICE && name && *name)
		return registry_find_by_name(net, name);
	return xa_load(registry_nodes(mpa_net_of(net), kind), id);
}

static void registry_view_counters(const struct mpa_net *mn,
				   struct mpa_node_view *v)
{
	unsigned int i;

	BUILD_BUG_ON((int)MPA_COUNT_NR > (int)MPA_COUNTERS_MAX);
	for (i = 0; i < MPA_COUNT_NR; i++) {
		memcpy(v->counters[i].name, registry_counter_names[i],
		       MPA_COUNTER_NAME_MAX);
		v->counters[i].value = atomic64_read(&mn->counters[i]);
	}
	v->nr_counters = MPA_COUNT_NR;
}

static void registry_view_defaults(struct mpa_net *mn, struct mpa_node_view *v)
{
	lockdep_assert_held(&mpa_registry_lock);
	memset(v, 0, sizeof(*v));
	v->kind = MPA_NODE_DEFAULTS;
	v->own = mn->own;
	mpa_config_builtin(&v->config);
	mpa_config_overlay(&v->config, &mn->own);
	registry_view_counters(mn, v);
}

/**
 * mpa_view_defaults - read the defaults of a namespace
 * @net: the namespace
 * @v: set to its settings and counters
 *
 * Any context.
 */
void mpa_view_defaults(struct net *net, struct mpa_node_view *v)
{
	spin_lock_bh(&mpa_registry_lock);
	registry_view_defaults(mpa_net_of(net), v);
	spin_unlock_bh(&mpa_registry_lock);
}

/**
 * mpa_view_device - read a device
 * @net: its namespace
 * @index: the RDMA core's index; not used if @name is set
 * @name: name, or NULL
 * @v: set to the device
 *
 * Any context.
 *
 * Return: 0; -ENODEV there is none in this namespace.
 */
int mpa_view_device(struct net *net, u32 index, const char *name,
		    struct mpa_node_view *v)
{
	struct mpa_node *node;

	spin_lock_bh(&mpa_registry_lock);
	node = registry_find(net, MPA_NODE_DEVICE, index, name);
	if (node)
		node_view(node, v);
	spin_unlock_bh(&mpa_registry_lock);
	return node ? 0 : -ENODEV;
}

/**
 * mpa_view_next - read the next device or listener
 * @net: its namespace
 * @kind: %MPA_NODE_DEVICE or %MPA_NODE_LISTENER
 * @from: lowest number
 * @v: the first with that number or a greater one
 *
 * Any context.
 *
 * Return: 0; -ENOENT there are no more.
 */
int mpa_view_next(struct net *net, enum mpa_node_kind kind, u32 from,
		  struct mpa_node_view *v)
{
	unsigned long index = from;
	struct mpa_node *node;

	spin_lock_bh(&mpa_registry_lock);
	node = xa_find(registry_nodes(mpa_net_of(net), kind), &index, U32_MAX,
		       XA_PRESENT);
	if (node)
		node_view(node, v);
	spin_unlock_bh(&mpa_registry_lock);
	return node ? 0 : -ENOENT;
}

/**
 * mpa_generation - detect a change of the result of a dump
 * @net: namespace
 * @kind: kind of nodes
 *
 * Any context.
 *
 * Return: a number that changes then.
 */
u32 mpa_generation(struct net *net, enum mpa_node_kind kind)
{
	/*
	 * Changed together with the nodes under mpa_registry_lock, which the
	 * caller takes next, to read them.
	 */
	return READ_ONCE(mpa_net_of(net)->generation[kind]);
}

/* Nodes below inherit the change. */
static void registry_next_generation(struct mpa_net *mn,
				     enum mpa_node_kind kind)
{
	int i;

	lockdep_assert_held(&mpa_registry_lock);
	for (i = kind; i <= MPA_NODE_LISTENER; i++)
		WRITE_ONCE(mn->generation[i], mn->generation[i] + 1);
}

/* ---- Adding and removing ---- */

static void node_send_event(const struct mpa_node *node, enum mpa_cmd cmd)
{
	lockdep_assert_held(&mpa_registry_lock);
	if (!mpa_netlink_has_listeners(node->net))
		return;
	node_view(node, &registry_shared_view);
	mpa_notify_node(node->net, cmd, &registry_shared_view);
}

/* Sleeps for memory here, so that none is needed under the lock. */
static int node_reserve(struct mpa_net *mn, struct mpa_node *node)
{
	int ret;

	if (node->kind == MPA_NODE_DEVICE)
		return xa_insert_bh(&mn->devices, node->id, NULL, GFP_KERNEL);
	ret = xa_alloc_cyclic_bh(&mn->listeners, &node->id, NULL,
				 XA_LIMIT(1, MPA_ID_MAX), &mn->next_listener,
				 GFP_KERNEL);
	return min(ret, 0);
}

/* Into the place that was reserved. */
static void node_insert(struct mpa_net *mn, struct mpa_node *node)
{
	lockdep_assert_held(&mpa_registry_lock);
	WARN_ON_ONCE(xa_is_err(xa_store(registry_nodes(mn, node->kind),
					node->id, node, GFP_ATOMIC)));
}

/**
 * mpa_node_add - add a device or listener to a namespace
 * @node: filled in by its owner, and in no namespace
 * @net: the namespace, which outlives the node there
 *
 * Process context. From now on the node is visible and its settings can be changed.
 * A device is added before its listeners.
 *
 * Return: 0; -ENOMEM; -EBUSY there is already a device with this index, or
 * @node is in a namespace.
 */
int mpa_node_add(struct mpa_node *node, struct net *net)
{
	struct mpa_net *mn = mpa_net_of(net);
	int ret;

	if (WARN_ON_ONCE(mpa_node_listed(node)))
		return -EBUSY;
	ret = node_reserve(mn, node);
	if (ret)
		return ret;
	spin_lock_bh(&mpa_registry_lock);
	node_insert(mn, node);
	/* mpa_node_listed() reads it without the lock. */
	WRITE_ONCE(node->net, net);
	node_configure(node);
	registry_next_generation(mn, node->kind);
	node_send_event(node, node->kind == MPA_NODE_DEVICE ?
			MPA_CMD_DEV_ADD_NTF : MPA_CMD_LISTEN_ADD_NTF);
	spin_unlock_bh(&mpa_registry_lock);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(mpa_node_add, MPA_NS);

static void node_erase(struct mpa_node *node)
{
	struct mpa_net *mn = mpa_net_of(node->net);

	lockdep_assert_held(&mpa_registry_lock);
	xa_erase(registry_nodes(mn, node->kind), node->id);
	registry_next_generation(mn, node->kind);
	node_send_event(node, node->kind == MPA_NODE_DEVICE ?
			MPA_CMD_DEV_DEL_NTF : MPA_CMD_LISTEN_DEL_NTF);
	WRITE_ONCE(node->net, NULL);
}

/**
 * mpa_node_remove - remove a device or listener from its namespace
 * @node: the node, without listeners; nothing is done if it is in no namespace
 *
 * Any context. On return the node is not accessed any more.
 */
void mpa_node_remove(struct mpa_node *node)
{
	spin_lock_bh(&mpa_registry_lock);
	if (node->net)
		node_erase(node);
	spin_unlock_bh(&mpa_registry_lock);
}
EXPORT_SYMBOL_NS_GPL(mpa_node_remove, MPA_NS);

/**
 * mpa_node_changed - notify a change of a device
 * @node: the device; nothing is done if it is in no namespace
 *
 * Any context. For changes of its name, its network device or its port state.
 */
void mpa_node_changed(struct mpa_node *node)
{
	spin_lock_bh(&mpa_registry_lock);
	if (node->net) {
		registry_next_generation(mpa_net_of(node->net), node->kind);
		if (node->kind == MPA_NODE_DEVICE)
			node_send_event(node, MPA_CMD_DEV_CHANGE_NTF);
	}
	spin_unlock_bh(&mpa_registry_lock);
}
EXPORT_SYMBOL_NS_GPL(mpa_node_changed, MPA_NS);

/**
 * mpa_node_listed - check whether a node is in a namespace
 * @node: the node; not added or removed by its owner at the same time
 *
 * Return: true if so.
 */
bool mpa_node_listed(const struct mpa_node *node)
{
	return READ_ONCE(node->net);
}

/* ---- Failures ---- */

/**
 * mpa_failure_due - check the rate limit of failure notifications
 * @mn: namespace
 * @suppressed: set to the number of suppressed failures if true is returned
 *
 * Any context.
 *
 * Return: true if the failure may be notified; else it is counted as
 * suppressed.
 */
bool mpa_failure_due(struct mpa_net *mn, u32 *suppressed)
{
	bool due;

	spin_lock_bh(&mn->failure_lock);
	/* Not time_after_eq(), for which long ago is in the future. */
	if (jiffies - mn->failure_second >= HZ) {
		mn->failure_second = jiffies;
		mn->failures = 0;
	}
	due = mn->failures < MPA_FAILURES_PER_SECOND;
	if (due) {
		mn->failures++;
		*suppressed = mn->suppressed;
		mn->suppressed = 0;
	} else {
		mn->suppressed++;
	}
	spin_unlock_bh(&mn->failure_lock);
	if (!due)
		mpa_count(mn, MPA_COUNT_SUPPRESSED, 1);
	return due;
}

static void node_send_half_open(const struct mpa_node *node)
{
	struct mpa_failure_view v = {
		.kind = MPA_FAILURE_HALF_OPEN,
		.listener = &registry_shared_view,
	};

	lockdep_assert_held(&mpa_registry_lock);
	if (!mpa_netlink_has_listeners(node->net) ||
	    !mpa_failure_due(mpa_net_of(node->net), &v.suppressed))
		return;
	node_view(node, &registry_shared_view);
	mpa_notify_failure(node->net, &v);
}

/**
 * mpa_node_half_open - a listener has refused a peer
 * @node: the listener; nothing is done if it is in no namespace
 *
 * Any context. Too many peers had not sent their Request
 * (%MPA_A_CONFIG_HALF_OPEN_MAX).
 */
void mpa_node_half_open(struct mpa_node *node)
{
	spin_lock_bh(&mpa_registry_lock);
	if (node->net) {
		mpa_count(mpa_net_of(node->net), MPA_COUNT_HALF_OPEN, 1);
		node_send_half_open(node);
	}
	spin_unlock_bh(&mpa_registry_lock);
}
EXPORT_SYMBOL_NS_GPL(mpa_node_half_open, MPA_NS);

/* ---- Changing settings ---- */

static struct mpa_node *registry_find_target(struct net *net,
					     const struct mpa_change *c)
{
	if (c->kind == MPA_NODE_DEFAULTS)
		return NULL;
	return registry_find(net, c->kind, c->id, c->name);
}

static int registry_refuse_change(const struct mpa_change *c,
				  const struct mpa_limits *lim,
		  struct mpa_refusal *no)
{
	u32 unknown = c->inherit & ~(u32)MPA_CONFIG_ALL;
	u32 both = c->inherit & c->to.set;

	no->why = mpa_config_refuse(&c->to, lim, &no->attr);
	if (no->why)
		return -EINVAL;
	if (unknown) {
		no->attr = __ffs(unknown);
		no->why = "unknown setting";
		return -EINVAL;
	}
	if (both) {
		no->attr = __ffs(both);
		no->why = "setting is both set and inherited";
		return -EINVAL;
	}
	return 0;
}

/* Also finds the node, which stays valid until the lock is released. */
static int registry_check_change(struct net *net, struct mpa_change *c,
				 struct mpa_refusal *no)
{
	struct mpa_node *node = registry_find_target(net, c);

	lockdep_assert_held(&mpa_registry_lock);
	c->node = node;
	if (c->kind == MPA_NODE_DEFAULTS)
		return registry_refuse_change(c, NULL, no);
	if (node && c->kind == MPA_NODE_LISTENER) {
		no->why = mpa_config_not_for_listener(&c->to, &no->attr);
		if (no->why)
			return -EINVAL;
	}
	if (node)
		return registry_refuse_change(c, node_limits(node), no);
	no->attr = 0;
	if (c->kind == MPA_NODE_DEVICE) {
		no->why = "no such device in this network namespace";
		return -ENODEV;
	}
	no->why = "no such listener in this network namespace";
	return -ENOENT;
}

/* Returns whether the devices of the namespace inherit the change. */
static bool registry_make_change(struct mpa_net *mn, const struct mpa_change *c)
{
	struct mpa_node *node = c->node;

	lockdep_assert_held(&mpa_registry_lock);
	mpa_settings_change(node ? &node->own : &mn->own, &c->to, c->inherit);
	if (node)
		node->stale = true;
	registry_next_generation(mn, c->kind);
	return !node;
}

static void node_refresh(struct mpa_node *node)
{
	node->stale = false;
	node_configure(node);
}

/*
 * Owners get the settings after all changes: those in between are never in force.
 * There may be many changes for one node, which gets them once.
 */
static void registry_make_changes(struct net *net,
				  const struct mpa_change *changes,
				  unsigned int nr)
{
	struct mpa_net *mn = mpa_net_of(net);
	struct mpa_node *node;
	unsigned long index;
	bool all = false;
	unsigned int i;

	lockdep_assert_held(&mpa_registry_lock);
	for (i = 0; i < nr; i++)
		all |= registry_make_change(mn, &changes[i]);
	if (all)
		xa_for_each(&mn->devices, index, node)
			node_refresh(node);
	for (i = 0; i < nr; i++)
		if (changes[i].node && changes[i].node->stale)
			node_refresh(changes[i].node);
}

/* A target that has gone meanwhile has an event of its own. */
static void registry_notify_change(struct net *net, const struct mpa_change *c)
{
	struct mpa_node *node;

	spin_lock_bh(&mpa_registry_lock);
	node = registry_find_target(net, c);
	if (node) {
		node_send_event(node, MPA_CMD_CONFIG_NTF);
	} else if (c->kind == MPA_NODE_DEFAULTS && mpa_netlink_has_listeners(net)) {
		registry_view_defaults(mpa_net_of(net), &registry_shared_view);
		mpa_notify_node(net, MPA_CMD_CONFIG_NTF, &registry_shared_view);
	}
	spin_unlock_bh(&mpa_registry_lock);
}

static int registry_check_changes(struct net *net, struct mpa_change *changes,
				  unsigned int nr, struct mpa_refusal *no)
{
	int ret = 0;

	for (no->which = 0; no->which < nr && !ret; no->which++)
		ret = registry_check_change(net, &changes[no->which], no);
	if (ret)
		no->which--;
	return ret;
}

/**
 * mpa_change_settings - make all of several changes, or none
 * @net: namespace
 * @changes: the changes; later ones override earlier ones. Sets
 *	&mpa_change.node
 * @nr: number of changes
 * @check: only check whether the changes can be made
 * @no: set on errors to the change that was refused and why
 *
 * Any context. Readers of settings see all changes or none, and the owner of each
 * device that they affect gets its settings once. A notification is sent for each
 * after all were made, with the lock taken for each: a user may make many at
 * once.
 *
 * Return: 0; -EINVAL invalid value; -ENODEV, -ENOENT there is no such device or
 * listener.
 */
int mpa_change_settings(struct net *net, struct mpa_change *changes,
			unsigned int nr, bool check, struct mpa_refusal *no)
{
	unsigned int i;
	int ret;

	spin_lock_bh(&mpa_registry_lock);
	ret = registry_check_changes(net, changes, nr, no);
	if (!ret && !check)
		registry_make_changes(net, changes, nr);
	spin_unlock_bh(&mpa_registry_lock);
	for (i = 0; !ret && !check && i < nr; i++)
		registry_notify_change(net, &changes[i]);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mpa_change_settings, MPA_NS);

/* ---- Namespaces ---- */

static int __net_init registry_net_init(struct net *net)
{
	struct mpa_net *mn = mpa_net_of(net);

	xa_init_flags(&mn->devices, XA_FLAGS_LOCK_BH);
	lockdep_set_class(&mn->devices.xa_lock, &registry_devices_lock_class);
	xa_init_flags(&mn->listeners, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	lockdep_set_class(&mn->listeners.xa_lock, &registry_listeners_lock_class);
	xa_init_flags(&mn->conns, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	lockdep_set_class(&mn->conns.xa_lock, &registry_conns_lock_class);
	spin_lock_init(&mn->failure_lock);
	mn->failure_second = jiffies;
	mn->no_waiting_until = jiffies;
	return 0;
}

static void registry_forget(struct xarray *nodes)
{
	struct mpa_node *node;
	unsigned long index;

	lockdep_assert_held(&mpa_registry_lock);
	xa_for_each(nodes, index, node)
		WRITE_ONCE(node->net, NULL);
	xa_destroy(nodes);
}

/*
 * The network devices of the namespace have left and its sockets are closed. A
 * device that is still being removed calls mpa_node_remove() later, when its
 * node is in no namespace.
 */
static void __net_exit registry_net_exit(struct net *net)
{
	struct mpa_net *mn = mpa_net_of(net);
	unsigned long index = 0;

	spin_lock_bh(&mpa_registry_lock);
	registry_forget(&mn->listeners);
	registry_forget(&mn->devices);
	spin_unlock_bh(&mpa_registry_lock);
	/* Without entries it may still have nodes, of an insertion that failed. */
	WARN_ON_ONCE(xa_find(&mn->conns, &index, ULONG_MAX, XA_PRESENT));
	xa_destroy(&mn->conns);
}

static struct pernet_operations registry_net_ops = {
	.init	= registry_net_init,
	.exit	= registry_net_exit,
	.id	= &registry_net_id,
	.size	= sizeof(struct mpa_net),
};

/**
 * mpa_registry_init - register the namespace data, before any user of it
 *
 * Return: 0 or a negative error.
 */
int mpa_registry_init(void)
{
	return register_pernet_subsys(&registry_net_ops);
}

/**
 * mpa_registry_exit - unregister the namespace data, after all users of it
 */
void mpa_registry_exit(void)
{
	unregister_pernet_subsys(&registry_net_ops);
}
