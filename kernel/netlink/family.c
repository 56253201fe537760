// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink family "mpa": its commands, and its life.
 * Documentation/netlink/specs/mpa.yaml says what they take and give.
 */
#include <linux/kernel.h>
#include <linux/module.h>

#include "family.h"
#include "ulp.h"

#define OBJECT_OP(_cmd, _policy, _max) {				\
	.cmd		= (_cmd),					\
	.policy		= (_policy),					\
	.maxattr	= (_max),					\
	.doit		= mpa_object_get,				\
	.start		= mpa_object_start,				\
	.dumpit		= mpa_object_dump,				\
	.done		= mpa_object_done,				\
}

/*
 * Whoever may set is decided in the command itself, since the core says no
 * without a word.
 */
static const struct genl_ops mpa_genl_ops[] = {
	{
		/* No policy: no attribute. */
		.cmd		= MPA_CMD_DEFAULTS_GET,
		.doit		= mpa_defaults_get,
	},
	OBJECT_OP(MPA_CMD_DEV_GET, mpa_dev_get_policy, MPA_A_DEV),
	OBJECT_OP(MPA_CMD_LISTEN_GET, mpa_listen_get_policy, MPA_A_LISTEN),
	OBJECT_OP(MPA_CMD_CONN_GET, mpa_conn_get_policy, MPA_A_CONN),
	{
		.cmd		= MPA_CMD_SET,
		.policy		= mpa_set_policy,
		.maxattr	= MPA_A_CHANGE,
		.doit		= mpa_set,
	},
};

static const struct genl_multicast_group mpa_groups[] = {
	{ .name = MPA_GENL_EVENTS },
};

struct genl_family mpa_family __ro_after_init = {
	.name		= MPA_GENL_NAME,
	.version	= MPA_GENL_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= mpa_genl_ops,
	.n_ops		= ARRAY_SIZE(mpa_genl_ops),
	.mcgrps		= mpa_groups,
	.n_mcgrps	= ARRAY_SIZE(mpa_groups),
};

/**
 * mpa_netlink_init - offer the family
 *
 * Before anything that could be told of can happen.
 *
 * Return: 0, or a negative error.
 */
int __init mpa_netlink_init(void)
{
	return genl_register_family(&mpa_family);
}

/**
 * mpa_netlink_exit - take the family back
 *
 * Nothing that could be told of happens any more. On return no command runs.
 */
void mpa_netlink_exit(void)
{
	genl_unregister_family(&mpa_family);
}
