// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "mpa".
 */
#include <linux/kernel.h>
#include <linux/module.h>

#include "family.h"

static const struct genl_multicast_group mpa_groups[] = {
	{ .name = MPA_GENL_EVENTS },
};

/* mpa_netlink_init() adds the commands, which use the family themselves. */
struct genl_family mpa_family __ro_after_init = {
	.name		= MPA_GENL_NAME,
	.version	= MPA_GENL_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.mcgrps		= mpa_groups,
	.n_mcgrps	= ARRAY_SIZE(mpa_groups),
};
