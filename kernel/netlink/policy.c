// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes that requests may contain. scripts/check-netlink compares the
 * policies with the YAML specification. Functions check what a policy cannot
 * express.
 *
 * The core refuses attribute types without a policy and any bytes that are not
 * part of an attribute: all levels are parsed strictly.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/string.h>

#include "family.h"

enum {
	DEPTH_MAX	= 16382,
	TIMEOUT_MIN	= 100,
	TIMEOUT_MAX	= 3600000,
	HALF_OPEN_MAX	= 65536,
	LINGER_MAX	= 65536,
	OBJECTS_MAX	= 65536,
	REGIONS_MAX	= 1048576,
	RINGS_MAX	= 1048576,
	RECEIVE_WAIT_MAX = 60000,
	RTR_ALL		= MPA_CONFIG_RTR_SEND | MPA_CONFIG_RTR_WRITE |
			  MPA_CONFIG_RTR_READ,
};

/* Policies store 16-bit ranges only; in 6.1 a range cannot be const. */
static struct netlink_range_validation timeout_range = {
	.min	= TIMEOUT_MIN,
	.max	= TIMEOUT_MAX,
};

static struct netlink_range_validation half_open_range = {
	.min	= 1,
	.max	= HALF_OPEN_MAX,
};

static struct netlink_range_validation optional_timeout_range = {
	.max	= TIMEOUT_MAX,
};

static struct netlink_range_validation linger_range = {
	.min	= 1,
	.max	= LINGER_MAX,
};

static struct netlink_range_validation objects_range = {
	.min	= 1,
	.max	= OBJECTS_MAX,
};

static struct netlink_range_validation regions_range = {
	.min	= 1,
	.max	= REGIONS_MAX,
};

static struct netlink_range_validation rings_range = {
	.min	= 1,
	.max	= RINGS_MAX,
};

static struct netlink_range_validation receive_wait_range = {
	.max	= RECEIVE_WAIT_MAX,
};

static const struct nla_policy dev_policy[MPA_A_DEV_NAME + 1] = {
	[MPA_A_DEV_INDEX]	= { .type = NLA_U32 },
	[MPA_A_DEV_NAME]	= { .type = NLA_NUL_STRING,
				    .len = MPA_DEV_NAME_MAX - 1 },
};

static const struct nla_policy listen_policy[MPA_A_LISTEN_ID + 1] = {
	[MPA_A_LISTEN_ID]	= NLA_POLICY_MIN(NLA_U32, 1),
};

static const struct nla_policy conn_policy[MPA_A_CONN_ID + 1] = {
	[MPA_A_CONN_ID]		= NLA_POLICY_MIN(NLA_U32, 1),
};

static const struct nla_policy config_policy[MPA_A_CONFIG_MAX + 1] = {
	[MPA_A_CONFIG_CRC] =
		NLA_POLICY_RANGE(NLA_U32, MPA_CONFIG_CRC_PREFERRED_OFF,
				 MPA_CONFIG_CRC_REQUIRED),
	[MPA_A_CONFIG_MARKERS]		= NLA_POLICY_MAX(NLA_U32, 1),
	[MPA_A_CONFIG_REVISION] =
		NLA_POLICY_RANGE(NLA_U32, MPA_REVISION_0, MPA_REVISION_AUTO),
	[MPA_A_CONFIG_PERMISSIVE]	= NLA_POLICY_MAX(NLA_U32, 1),
	[MPA_A_CONFIG_EXCHANGE] =
		NLA_POLICY_RANGE(NLA_U32, MPA_EXCHANGE_PLAIN,
				 MPA_EXCHANGE_ENHANCED),
	[MPA_A_CONFIG_PEER_TO_PEER]	= NLA_POLICY_MAX(NLA_U32, 1),
	[MPA_A_CONFIG_RTR]		= NLA_POLICY_RANGE(NLA_U32, 1, RTR_ALL),
	[MPA_A_CONFIG_IRD]		= NLA_POLICY_MAX(NLA_U32, DEPTH_MAX),
	[MPA_A_CONFIG_ORD]		= NLA_POLICY_MAX(NLA_U32, DEPTH_MAX),
	[MPA_A_CONFIG_STARTUP_TIMEOUT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &timeout_range),
	[MPA_A_CONFIG_REPLY_TIMEOUT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &timeout_range),
	[MPA_A_CONFIG_HALF_OPEN_MAX] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &half_open_range),
	[MPA_A_CONFIG_PACKING]		= NLA_POLICY_MAX(NLA_U32, 1),
	[MPA_A_CONFIG_SEGMENTS] =
		NLA_POLICY_RANGE(NLA_U32, MPA_SEGMENTS_SINGLE,
				 MPA_SEGMENTS_LONE),
	[MPA_A_CONFIG_FIRST_FPDU_TIMEOUT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &optional_timeout_range),
	[MPA_A_CONFIG_CLOSE_TIMEOUT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &timeout_range),
	[MPA_A_CONFIG_LINGER_MAX] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &linger_range),
	[MPA_A_CONFIG_KEEPALIVE]	= NLA_POLICY_MAX(NLA_U32, 1),
	[MPA_A_CONFIG_USER_QP_MAX] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &objects_range),
	[MPA_A_CONFIG_USER_CQ_MAX] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &objects_range),
	[MPA_A_CONFIG_USER_MR_MAX] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &regions_range),
	[MPA_A_CONFIG_USER_PD_MAX] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &objects_range),
	[MPA_A_CONFIG_USER_RINGS_MAX] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &rings_range),
	[MPA_A_CONFIG_RDMAP_EXTENSIONS] =
		NLA_POLICY_RANGE(NLA_U32, MPA_RDMAP_EXTENSIONS_OFF,
				 MPA_RDMAP_EXTENSIONS_ON),
	[MPA_A_CONFIG_RECEIVE_WAIT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &receive_wait_range),
	[MPA_A_CONFIG_PEER_TIMEOUT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &optional_timeout_range),
	[MPA_A_CONFIG_PORT_MAPPING]	= NLA_POLICY_MAX(NLA_U32, 1),
	[MPA_A_CONFIG_EARLY_PLACEMENT]	= NLA_POLICY_MAX(NLA_U32, 1),
	[MPA_A_CONFIG_RTO_MIN]		= NLA_POLICY_MAX(NLA_U32, 200),
	[MPA_A_CONFIG_STARTUP] =
		NLA_POLICY_MAX(NLA_U32, MPA_CONFIG_STARTUP_EITHER),
	[MPA_A_CONFIG_FRAMING]		= NLA_POLICY_MAX(NLA_U32, 1),
};

static const struct nla_policy change_policy[MPA_A_INHERIT + 1] = {
	[MPA_A_DEV]	= NLA_POLICY_NESTED(dev_policy),
	[MPA_A_LISTEN]	= NLA_POLICY_NESTED(listen_policy),
	[MPA_A_CONFIG]	= NLA_POLICY_NESTED(config_policy),
	[MPA_A_INHERIT]	= NLA_POLICY_MASK(NLA_U32, MPA_CONFIG_ALL),
};

const struct nla_policy mpa_dev_get_policy[MPA_A_DEV + 1] = {
	[MPA_A_DEV]	= NLA_POLICY_NESTED(dev_policy),
};

const struct nla_policy mpa_listen_get_policy[MPA_A_LISTEN + 1] = {
	[MPA_A_DEV]	= NLA_POLICY_NESTED(dev_policy),
	[MPA_A_LISTEN]	= NLA_POLICY_NESTED(listen_policy),
};

const struct nla_policy mpa_conn_get_policy[MPA_A_CONN + 1] = {
	[MPA_A_DEV]	= NLA_POLICY_NESTED(dev_policy),
	[MPA_A_CONN]	= NLA_POLICY_NESTED(conn_policy),
};

const struct nla_policy mpa_set_policy[MPA_A_CHANGE + 1] = {
	[MPA_A_CHECK]	= { .type = NLA_FLAG },
	[MPA_A_CHANGE]	= NLA_POLICY_NESTED(change_policy),
};

/*
 * The core takes the last one of repeated attributes and ignores the byte order
 * flag; here both are refused. The policies limit the depth of nesting and have
 * checked that what is flagged as a nest is one.
 */
static int policy_check_level(const struct nlattr *head, int len, u32 repeated,
			      struct netlink_ext_ack *extack)
{
	const struct nlattr *nla;
	u32 seen = 0;
	int rem, ret;

	nla_for_each_attr(nla, head, len, rem) {
		u32 bit = BIT(nla_type(nla));

		if (nla->nla_type & NLA_F_NET_BYTEORDER) {
			NL_SET_ERR_MSG_ATTR(extack, nla,
					    "network byte order not supported");
			return -EINVAL;
		}
		if (seen & bit & ~repeated) {
			NL_SET_ERR_MSG_ATTR(extack, nla,
					    "duplicate attribute");
			return -EINVAL;
		}
		seen |= bit;
		if (!(nla->nla_type & NLA_F_NESTED))
			continue;
		ret = policy_check_level(nla_data(nla), nla_len(nla), 0,
					 extack);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * mpa_check_request - check what a policy cannot express
 * @nlh: request that its policy accepts
 * @allowed: bits 1 << MPA_A_* of the attributes that this use of the command
 *	allows: a command and its dump share one policy
 * @extack: extended ack for the error message
 *
 * Return: 0, or -EINVAL.
 */
int mpa_check_request(const struct nlmsghdr *nlh, u32 allowed,
		      struct netlink_ext_ack *extack)
{
	const struct genlmsghdr *hdr = nlmsg_data(nlh);
	const struct nlattr *nla;
	int rem;

	if (hdr->version > MPA_GENL_VERSION) {
		NL_SET_ERR_MSG(extack,
			       "request of a later version: upgrade the modules");
		return -EINVAL;
	}
	if (hdr->version < MPA_GENL_VERSION) {
		NL_SET_ERR_MSG(extack,
			       "request of an earlier version: upgrade the program");
		return -EINVAL;
	}
	nlmsg_for_each_attr(nla, nlh, GENL_HDRLEN, rem) {
		/* Without a policy any type is possible. */
		if (nla_type(nla) >= 32 || !(BIT(nla_type(nla)) & allowed)) {
			NL_SET_ERR_MSG_ATTR(extack, nla,
					    "attribute not allowed in this request");
			return -EINVAL;
		}
	}
	return policy_check_level(nlmsg_attrdata(nlh, GENL_HDRLEN),
				  nlmsg_attrlen(nlh, GENL_HDRLEN),
				  BIT(MPA_A_CHANGE), extack);
}

/**
 * mpa_parse_change - parse a change
 * @tb: its attributes
 * @nest: %MPA_A_CHANGE
 * @extack: extended ack for the error message
 *
 * Return: 0, or a negative error.
 */
int mpa_parse_change(struct nlattr *tb[MPA_A_INHERIT + 1],
		     const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	return nla_parse_nested(tb, MPA_A_INHERIT, nest, change_policy, extack);
}

/**
 * mpa_parse_config - parse settings
 * @tb: the settings
 * @nest: %MPA_A_CONFIG
 * @extack: extended ack for the error message
 *
 * Return: 0, or a negative error.
 */
int mpa_parse_config(struct nlattr *tb[MPA_A_CONFIG_MAX + 1],
		     const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	return nla_parse_nested(tb, MPA_A_CONFIG_MAX, nest, config_policy,
				extack);
}

/* A policy does not check that a string ends at the end of its attribute. */
static int policy_check_name(const struct nlattr *attr,
			     struct netlink_ext_ack *extack)
{
	if (strlen(nla_data(attr)) + 1 == nla_len(attr) && nla_len(attr) > 1)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "invalid name");
	return -EINVAL;
}

/**
 * mpa_pick_dev - parse the selector of a device
 * @nest: %MPA_A_DEV
 * @pick: the selection
 * @extack: extended ack for the error message
 *
 * Return: 0, or a negative error.
 */
int mpa_pick_dev(const struct nlattr *nest, struct mpa_pick *pick,
		 struct netlink_ext_ack *extack)
{
	struct nlattr *tb[ARRAY_SIZE(dev_policy)];
	int ret;

	ret = nla_parse_nested(tb, ARRAY_SIZE(tb) - 1, nest, dev_policy, extack);
	if (ret)
		return ret;
	if (tb[MPA_A_DEV_INDEX] && tb[MPA_A_DEV_NAME]) {
		NL_SET_ERR_MSG_ATTR(extack, tb[MPA_A_DEV_NAME],
				    "both index and name of a device");
		return -EINVAL;
	}
	if (tb[MPA_A_DEV_INDEX]) {
		*pick = (struct mpa_pick){
			.id = nla_get_u32(tb[MPA_A_DEV_INDEX]),
			.attr = tb[MPA_A_DEV_INDEX],
		};
		return 0;
	}
	if (!tb[MPA_A_DEV_NAME]) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "index or name is missing");
		NL_SET_ERR_ATTR_MISS(extack, nest, MPA_A_DEV_INDEX);
		return -EINVAL;
	}
	*pick = (struct mpa_pick){
		.name = nla_data(tb[MPA_A_DEV_NAME]),
		.attr = tb[MPA_A_DEV_NAME],
	};
	return policy_check_name(pick->attr, extack);
}

/* Selection by the number @type, the only attribute in @policy. */
static int policy_pick_id(const struct nlattr *nest, int type,
			  const struct nla_policy *policy,
			  struct mpa_pick *pick, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[MPA_A_CONN_ID + 1];
	int ret;

	BUILD_BUG_ON(ARRAY_SIZE(tb) <= MPA_A_LISTEN_ID);
	ret = nla_parse_nested(tb, type, nest, policy, extack);
	if (ret)
		return ret;
	if (!tb[type]) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "id is missing");
		NL_SET_ERR_ATTR_MISS(extack, nest, type);
		return -EINVAL;
	}
	*pick = (struct mpa_pick){
		.id = nla_get_u32(tb[type]),
		.attr = tb[type],
	};
	return 0;
}

/**
 * mpa_pick_listen - parse the selector of a listener
 * @nest: %MPA_A_LISTEN
 * @pick: the selection
 * @extack: extended ack for the error message
 *
 * Return: 0, or a negative error.
 */
int mpa_pick_listen(const struct nlattr *nest, struct mpa_pick *pick,
		    struct netlink_ext_ack *extack)
{
	return policy_pick_id(nest, MPA_A_LISTEN_ID, listen_policy, pick,
			      extack);
}

/**
 * mpa_pick_conn - parse the selector of a connection
 * @nest: %MPA_A_CONN
 * @pick: the selection
 * @extack: extended ack for the error message
 *
 * Return: 0, or a negative error.
 */
int mpa_pick_conn(const struct nlattr *nest, struct mpa_pick *pick,
		  struct netlink_ext_ack *extack)
{
	return policy_pick_id(nest, MPA_A_CONN_ID, conn_policy, pick, extack);
}
