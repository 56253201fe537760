// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commands of the generic netlink family "mpa", and its registration.
 * Documentation/netlink/specs/mpa.yaml describes the commands.
 */
#include <linux/kernel.h>

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
 * mpa_set() checks the privilege itself: with GENL_UNS_ADMIN_PERM the core
 * would refuse a request without a message.
 */
static const struct genl_ops mpa_genl_ops[] = {
	{
		/* No policy: no attributes. */
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

/**
 * mpa_netlink_init - register the family
 *
 * To be called before any event can occur that is notified.
 *
 * Return: 0, or a negative error.
 */
int __init mpa_netlink_init(void)
{
	mpa_family.ops = mpa_genl_ops;
	mpa_family.n_ops = ARRAY_SIZE(mpa_genl_ops);
	return genl_register_family(&mpa_family);
}

/**
 * mpa_netlink_exit - unregister the family
 *
 * To be called when no more events can occur. No command runs on return.
 */
void mpa_netlink_exit(void)
{
	genl_unregister_family(&mpa_family);
}
