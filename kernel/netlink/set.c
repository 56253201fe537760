// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes to settings: all of a request or none. The request is parsed into a
 * list of values. The registry decides if they can be applied; if it refuses
 * one, the error points to the attribute that it came from.
 */
#include <linux/capability.h>
#include <linux/slab.h>

#include "family.h"

/* MPA_A_CHANGE number @which; NULL if there are fewer. */
static const struct nlattr *set_nth_change(const struct nlmsghdr *nlh,
					   unsigned int which)
{
	const struct nlattr *nla;
	int rem;

	nlmsg_for_each_attr(nla, nlh, GENL_HDRLEN, rem)
		if (nla_type(nla) == MPA_A_CHANGE && !which--)
			return nla;
	return NULL;
}

static int set_count_changes(struct genl_info *info)
{
	const struct nlattr *nla;
	int rem, nr = 0;

	nlmsg_for_each_attr(nla, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(nla) != MPA_A_CHANGE)
			continue;
		if (++nr > MPA_CHANGES_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, nla,
					    "too many changes in one request");
			return -E2BIG;
		}
	}
	if (!nr) {
		NL_SET_ERR_ATTR_MISS(info->extack, NULL, MPA_A_CHANGE);
		GENL_SET_ERR_MSG(info, "request contains no change");
		return -EINVAL;
	}
	return nr;
}

/* ---- Parsing ---- */

static int set_parse_object(struct mpa_change *change, struct nlattr **tb,
			    struct netlink_ext_ack *extack)
{
	struct mpa_pick pick = {};
	int ret = 0;

	if (tb[MPA_A_DEV] && tb[MPA_A_LISTEN]) {
		NL_SET_ERR_MSG_ATTR(extack, tb[MPA_A_LISTEN],
				    "both device and listener in one change");
		return -EINVAL;
	}
	change->kind = MPA_NODE_DEFAULTS;
	if (tb[MPA_A_DEV]) {
		change->kind = MPA_NODE_DEVICE;
		ret = mpa_pick_dev(tb[MPA_A_DEV], &pick, extack);
	} else if (tb[MPA_A_LISTEN]) {
		change->kind = MPA_NODE_LISTENER;
		ret = mpa_pick_listen(tb[MPA_A_LISTEN], &pick, extack);
	}
	if (ret)
		return ret;
	change->id = pick.id;
	if (pick.name)
		strscpy(change->name, pick.name, sizeof(change->name));
	return 0;
}

static int set_parse_config(struct mpa_settings *to, const struct nlattr *nest,
			    struct netlink_ext_ack *extack)
{
	struct nlattr *tb[MPA_A_CONFIG_MAX + 1];
	int attr, ret;

	ret = mpa_parse_config(tb, nest, extack);
	if (ret)
		return ret;
	for (attr = 1; attr <= MPA_A_CONFIG_MAX; attr++) {
		if (!tb[attr])
			continue;
		to->set |= BIT(attr);
		to->v[attr] = nla_get_u32(tb[attr]);
	}
	return 0;
}

static int set_parse_change(struct mpa_change *change,
			    const struct nlattr *nest,
			    struct netlink_ext_ack *extack)
{
	struct nlattr *tb[MPA_A_INHERIT + 1];
	int ret;

	ret = mpa_parse_change(tb, nest, extack) ?:
	      set_parse_object(change, tb, extack);
	if (!ret && tb[MPA_A_CONFIG])
		ret = set_parse_config(&change->to, tb[MPA_A_CONFIG], extack);
	if (ret)
		return ret;
	if (tb[MPA_A_INHERIT])
		change->inherit = nla_get_u32(tb[MPA_A_INHERIT]);
	if (change->inherit & change->to.set) {
		NL_SET_ERR_MSG_ATTR(extack, tb[MPA_A_INHERIT],
				    "setting is both set and inherited");
		return -EINVAL;
	}
	if (!change->inherit && !change->to.set) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "empty change");
		return -EINVAL;
	}
	return 0;
}

static int set_parse_changes(struct mpa_change *changes,
			     const struct genl_info *info)
{
	const struct nlattr *nla;
	int rem, ret;

	nlmsg_for_each_attr(nla, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(nla) != MPA_A_CHANGE)
			continue;
		ret = set_parse_change(changes++, nla, info->extack);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- Errors ---- */

static const struct nlattr *set_find_attr(const struct nlattr *nest, int type)
{
	return nla_find(nla_data(nest), nla_len(nest), type);
}

/* The setting, or its bit in %MPA_A_INHERIT, or the selector of the object. */
static const struct nlattr *set_bad_attr(const struct nlattr *change,
					 unsigned int setting)
{
	const struct nlattr *nest, *nla;

	if (setting) {
		nest = set_find_attr(change, MPA_A_CONFIG);
		nla = nest ? set_find_attr(nest, setting) : NULL;
		return nla ?: set_find_attr(change, MPA_A_INHERIT) ?: change;
	}
	nest = set_find_attr(change, MPA_A_DEV) ?:
		       set_find_attr(change, MPA_A_LISTEN);
	return nest ? nla_data(nest) : change;
}

static void set_report_refusal(const struct genl_info *info,
			       const struct mpa_refusal *no)
{
	const struct nlattr *change = set_nth_change(info->nlhdr, no->which);

	info->extack->_msg = no->why;
	if (change)
		info->extack->bad_attr = set_bad_attr(change, no->attr);
}

static int set_apply(struct genl_info *info, struct mpa_change *changes,
		     unsigned int nr)
{
	bool check = info->attrs[MPA_A_CHECK];
	struct mpa_refusal no = {};
	int ret;

	ret = set_parse_changes(changes, info);
	if (ret)
		return ret;
	ret = mpa_change_settings(genl_info_net(info), changes, nr, check, &no);
	if (ret)
		set_report_refusal(info, &no);
	else if (!check)
		GENL_SET_ERR_MSG(info, "settings are for new connections only");
	return ret;
}

/**
 * mpa_set - %MPA_CMD_SET
 * @skb: request
 * @info: request
 *
 * Return: 0, with a message that existing connections keep their settings; or a
 * negative error, and nothing has changed.
 */
int mpa_set(struct sk_buff *skb, struct genl_info *info)
{
	struct mpa_change *changes;
	int nr, ret;

	if (!netlink_ns_capable(skb, genl_info_net(info)->user_ns,
				CAP_NET_ADMIN)) {
		GENL_SET_ERR_MSG(info, "CAP_NET_ADMIN required");
		return -EPERM;
	}
	ret = mpa_check_request(info->nlhdr,
				BIT(MPA_A_CHECK) | BIT(MPA_A_CHANGE),
				info->extack);
	if (ret)
		return ret;
	nr = set_count_changes(info);
	if (nr < 0)
		return nr;
	changes = kvcalloc(nr, sizeof(*changes), GFP_KERNEL_ACCOUNT);
	if (!changes)
		return -ENOMEM;
	ret = set_apply(info, changes, nr);
	kvfree(changes);
	return ret;
}
