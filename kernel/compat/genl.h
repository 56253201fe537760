/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in generic netlink.
 */
#ifndef MPA_COMPAT_GENL_H
#define MPA_COMPAT_GENL_H

#include <net/genetlink.h>

/**
 * mpa_dump_attrs - attributes of the request of a dump
 * @cb: the dump
 *
 * Return: attributes by type, as accepted by the command's policy.
 */
static inline struct nlattr **mpa_dump_attrs(struct netlink_callback *cb)
{
#ifdef MPA_HAVE_DUMPIT_GENL_INFO
	return genl_dumpit_info(cb)->info.attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

#endif /* MPA_COMPAT_GENL_H */
