// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings: their bounds, how an object inherits them, and how they become the
 * parameters of a connection. Pure functions: user-space tests compile them
 * too.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>

#include "../compat/export.h"
#include "../framing/startup.h"
#include "config.h"

enum {
	/* The largest depth; the next value means "do not negotiate". */
	DEPTH_MAX	= MPA_ENH_DEPTH_NONE - 1,
	RTR_ALL		= MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
	TIMEOUT_MIN	= 100,
	TIMEOUT_MAX	= 3600 * 1000,
	RECEIVE_WAIT_MAX = 60 * 1000,
	/* The limit of the socket option TCP_RTO_MIN_US, too. */
	RTO_MIN_MAX = 200,
};

/* The values of settings are those of framing/startup.h. */
static_assert((int)MPA_CONFIG_RTR_SEND == (int)MPA_RTR_SEND);
static_assert((int)MPA_CONFIG_RTR_WRITE == (int)MPA_RTR_WRITE);
static_assert((int)MPA_CONFIG_RTR_READ == (int)MPA_RTR_READ);
static_assert((int)MPA_RDMAP_EXTENSIONS_OFF == (int)MPA_EXTENSIONS_OFF);
static_assert((int)MPA_RDMAP_EXTENSIONS_NEGOTIATE ==
	      (int)MPA_EXTENSIONS_NEGOTIATE);
static_assert((int)MPA_RDMAP_EXTENSIONS_ON == (int)MPA_EXTENSIONS_ON);
static_assert(MPA_A_CONFIG_MAX < 32);

/* By MPA_A_CONFIG_*. */
const struct mpa_bounds mpa_config_bounds[MPA_A_CONFIG_MAX + 1] = {
	[MPA_A_CONFIG_CRC] = {
		.max = MPA_CONFIG_CRC_REQUIRED, .def = MPA_CONFIG_CRC_REQUIRED,
	},
	[MPA_A_CONFIG_MARKERS] = { .max = 1 },
	[MPA_A_CONFIG_REVISION] = {
		.max = MPA_REVISION_AUTO, .def = MPA_REVISION_AUTO,
	},
	[MPA_A_CONFIG_PERMISSIVE] = { .max = 1 },
	[MPA_A_CONFIG_EXCHANGE] = {
		.max = MPA_EXCHANGE_ENHANCED, .def = MPA_EXCHANGE_ENHANCED,
	},
	[MPA_A_CONFIG_PEER_TO_PEER] = { .max = 1, .def = 1 },
	[MPA_A_CONFIG_RTR] = { .min = 1, .max = RTR_ALL, .def = RTR_ALL },
	[MPA_A_CONFIG_IRD] = { .max = DEPTH_MAX, .def = DEPTH_MAX },
	[MPA_A_CONFIG_ORD] = { .max = DEPTH_MAX, .def = DEPTH_MAX },
	[MPA_A_CONFIG_STARTUP_TIMEOUT] = {
		.min = TIMEOUT_MIN, .max = TIMEOUT_MAX, .def = 5000,
	},
	[MPA_A_CONFIG_REPLY_TIMEOUT] = {
		.min = TIMEOUT_MIN, .max = TIMEOUT_MAX, .def = 30000,
	},
	[MPA_A_CONFIG_HALF_OPEN_MAX] = { .min = 1, .max = 65536, .def = 128 },
	[MPA_A_CONFIG_PACKING] = { .max = 1 },
	[MPA_A_CONFIG_SEGMENTS] = {
		.max = MPA_SEGMENTS_LONE, .def = MPA_SEGMENTS_AUTO,
	},
	/* A client may send nothing for any time. */
	[MPA_A_CONFIG_FIRST_FPDU_TIMEOUT] = { .max = TIMEOUT_MAX },
	[MPA_A_CONFIG_CLOSE_TIMEOUT] = {
		.min = TIMEOUT_MIN, .max = TIMEOUT_MAX, .def = 20 * 60 * 1000,
	},
	[MPA_A_CONFIG_LINGER_MAX] = { .min = 1, .max = 65536, .def = 8192 },
	[MPA_A_CONFIG_KEEPALIVE] = { .max = 1, .def = 1 },
	[MPA_A_CONFIG_USER_QP_MAX] = { .min = 1, .max = 65536, .def = 8192 },
	[MPA_A_CONFIG_USER_CQ_MAX] = { .min = 1, .max = 65536, .def = 16384 },
	[MPA_A_CONFIG_USER_MR_MAX] = { .min = 1, .max = 1048576, .def = 131072 },
	[MPA_A_CONFIG_USER_PD_MAX] = { .min = 1, .max = 65536, .def = 1024 },
	[MPA_A_CONFIG_USER_RINGS_MAX] = { .min = 1, .max = 1048576, .def = 4096 },
	[MPA_A_CONFIG_RDMAP_EXTENSIONS] = {
		.max = MPA_RDMAP_EXTENSIONS_ON,
		.def = MPA_RDMAP_EXTENSIONS_NEGOTIATE,
	},
	[MPA_A_CONFIG_RECEIVE_WAIT] = { .max = RECEIVE_WAIT_MAX },
	[MPA_A_CONFIG_PEER_TIMEOUT] = { .max = TIMEOUT_MAX },
	[MPA_A_CONFIG_PORT_MAPPING] = { .max = 1, .def = 1 },
	[MPA_A_CONFIG_EARLY_PLACEMENT] = { .max = 1 },
	[MPA_A_CONFIG_RTO_MIN] = { .max = RTO_MIN_MAX },
	[MPA_A_CONFIG_STARTUP] = { .max = MPA_CONFIG_STARTUP_EITHER },
	[MPA_A_CONFIG_FRAMING] = { .max = 1, .def = 1 },
};

static const char * const config_bounds_text[MPA_A_CONFIG_MAX + 1] = {
	[MPA_A_CONFIG_CRC] = "crc must be 0 (preferred off) or 1 (required)",
	[MPA_A_CONFIG_MARKERS] = "markers must be 0 or 1",
	[MPA_A_CONFIG_REVISION] = "revision must be 0, 1, 2 or 3 (auto)",
	[MPA_A_CONFIG_PERMISSIVE] = "permissive must be 0 or 1",
	[MPA_A_CONFIG_EXCHANGE] = "exchange must be 0 (plain) or 1 (enhanced)",
	[MPA_A_CONFIG_PEER_TO_PEER] = "peer-to-peer must be 0 or 1",
	[MPA_A_CONFIG_RTR] = "rtr must be from 1 to 7: the sum of 1 (send), 2 (write), 4 (read)",
	[MPA_A_CONFIG_IRD] = "ird must be from 0 to 16382",
	[MPA_A_CONFIG_ORD] = "ord must be from 0 to 16382",
	[MPA_A_CONFIG_STARTUP_TIMEOUT] = "startup-timeout must be from 100 to 3600000 ms",
	[MPA_A_CONFIG_REPLY_TIMEOUT] = "reply-timeout must be from 100 to 3600000 ms",
	[MPA_A_CONFIG_HALF_OPEN_MAX] = "half-open-max must be from 1 to 65536",
	[MPA_A_CONFIG_PACKING] = "packing must be 0 or 1",
	[MPA_A_CONFIG_SEGMENTS] =
		"segments must be 0 (single), 1 (auto) or 2 (lone)",
	[MPA_A_CONFIG_FIRST_FPDU_TIMEOUT] =
		"first-fpdu-timeout must be from 0 (none) to 3600000 ms",
	[MPA_A_CONFIG_CLOSE_TIMEOUT] = "close-timeout must be from 100 to 3600000 ms",
	[MPA_A_CONFIG_LINGER_MAX] = "linger-max must be from 1 to 65536",
	[MPA_A_CONFIG_KEEPALIVE] = "keepalive must be 0 or 1",
	[MPA_A_CONFIG_USER_QP_MAX] = "user-qp-max must be from 1 to 65536",
	[MPA_A_CONFIG_USER_CQ_MAX] = "user-cq-max must be from 1 to 65536",
	[MPA_A_CONFIG_USER_MR_MAX] = "user-mr-max must be from 1 to 1048576",
	[MPA_A_CONFIG_USER_PD_MAX] = "user-pd-max must be from 1 to 65536",
	[MPA_A_CONFIG_USER_RINGS_MAX] = "user-rings-max must be from 1 to 1048576 MiB",
	[MPA_A_CONFIG_RDMAP_EXTENSIONS] =
		"rdmap-extensions must be 0 (off), 1 (negotiate) or 2 (on)",
	[MPA_A_CONFIG_RECEIVE_WAIT] = "receive-wait must be from 0 to 60000 ms",
	[MPA_A_CONFIG_PEER_TIMEOUT] =
		"peer-timeout must be from 0 (those of TCP) to 3600000 ms",
	[MPA_A_CONFIG_PORT_MAPPING] = "port-mapping must be 0 or 1",
	[MPA_A_CONFIG_EARLY_PLACEMENT] = "early-placement must be 0 or 1",
	[MPA_A_CONFIG_RTO_MIN] = "rto-min must be from 0 (that of TCP) to 200 ms",
	[MPA_A_CONFIG_STARTUP] =
		"startup must be 0 (frames), 1 (Start Keys) or 2 (either)",
	[MPA_A_CONFIG_FRAMING] = "framing must be 0 or 1",
};

/**
 * mpa_config_builtin - get the built-in settings
 * @cfg: set to the settings
 */
void mpa_config_builtin(struct mpa_config *cfg)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cfg->v); i++)
		cfg->v[i] = mpa_config_bounds[i].def;
}

/**
 * mpa_config_overlay - replace inherited settings by an object's own
 * @cfg: inherited settings; changed to those in force
 * @own: settings that were set at the object
 */
void mpa_config_overlay(struct mpa_config *cfg, const struct mpa_settings *own)
{
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(cfg->v); i++)
		if (own->set & BIT(i))
			cfg->v[i] = own->v[i];
}

/**
 * mpa_config_clip - limit settings to what a device supports
 * @cfg: settings in force; changed
 * @lim: limits of the device
 *
 * If the device supports none of the RTR kinds that were set, peer-to-peer mode
 * is not requested. A peer that requests it must still be offered a kind (RFC
 * 6581 section 9.2), so all kinds that the device supports are in force then.
 */
void mpa_config_clip(struct mpa_config *cfg, const struct mpa_limits *lim)
{
	u32 *v = cfg->v;

	v[MPA_A_CONFIG_IRD] = min_t(u32, v[MPA_A_CONFIG_IRD], lim->ird_max);
	v[MPA_A_CONFIG_ORD] = min_t(u32, v[MPA_A_CONFIG_ORD], lim->ord_max);
	v[MPA_A_CONFIG_PACKING] = 0;
	if (v[MPA_A_CONFIG_RTR] & lim->rtr) {
		v[MPA_A_CONFIG_RTR] &= lim->rtr;
	} else {
		v[MPA_A_CONFIG_RTR] = lim->rtr;
		v[MPA_A_CONFIG_PEER_TO_PEER] = 0;
	}
}

static const char *config_beyond_device(unsigned int attr, u32 v,
					const struct mpa_limits *lim)
{
	switch (attr) {
	case MPA_A_CONFIG_IRD:
		return v > lim->ird_max ? "ird exceeds the limit of the device" :
					  NULL;
	case MPA_A_CONFIG_ORD:
		return v > lim->ord_max ? "ord exceeds the limit of the device" :
					  NULL;
	case MPA_A_CONFIG_RTR:
		/* All kinds means all that the device supports. */
		return v != RTR_ALL && v & ~lim->rtr ?
			       "rtr contains a kind that the device does not support" :
			       NULL;
	case MPA_A_CONFIG_PACKING:
		return "packing does not apply to devices";
	case MPA_A_CONFIG_FRAMING:
		return "framing does not apply to devices";
	default:
		return NULL;
	}
}

static const char *config_refuse_value(unsigned int attr, u32 v,
				       const struct mpa_limits *lim)
{
	const struct mpa_bounds *b = &mpa_config_bounds[attr];

	if (v < b->min || v > b->max)
		return config_bounds_text[attr];
	return lim ? config_beyond_device(attr, v, lim) : NULL;
}

static unsigned int config_lowest_bit(u32 set)
{
	unsigned int i = 0;

	while (!(set & BIT(i)))
		i++;
	return i;
}

/**
 * mpa_config_refuse - check settings before they are set
 * @change: settings to set
 * @lim: limits of the device, or of the device that the listener belongs to;
 *	else NULL
 * @attr: set to the first MPA_A_CONFIG_* that is refused, or to the number of
 *	an unknown bit
 *
 * Return: NULL if all are allowed; else a message for the user.
 */
const char *mpa_config_refuse(const struct mpa_settings *change,
			      const struct mpa_limits *lim, unsigned int *attr)
{
	u32 unknown = change->set & ~(u32)MPA_CONFIG_ALL;
	const char *why;
	unsigned int i;

	if (unknown) {
		*attr = config_lowest_bit(unknown);
		return "unknown setting";
	}
	for (i = 1; i <= MPA_A_CONFIG_MAX; i++) {
		if (!(change->set & BIT(i)))
			continue;
		why = config_refuse_value(i, change->v[i], lim);
		if (why) {
			*attr = i;
			return why;
		}
	}
	return NULL;
}

/**
 * mpa_config_not_for_listener - check for settings that only devices have
 * @change: settings to set at a listener
 * @attr: set to the first such MPA_A_CONFIG_*
 *
 * Return: NULL if there is none; else a message for the user.
 */
const char *mpa_config_not_for_listener(const struct mpa_settings *change,
					unsigned int *attr)
{
	u32 devices = change->set & ((u32)MPA_CONFIG_USER_LIMITS |
				     BIT(MPA_A_CONFIG_PORT_MAPPING));

	if (!devices)
		return NULL;
	*attr = config_lowest_bit(devices);
	return "user limits and port-mapping do not apply to listeners";
}

/**
 * mpa_settings_change - change the settings of an object
 * @own: its own settings
 * @change: settings to set; mpa_config_refuse() has returned NULL for them
 * @inherit: MPA_A_CONFIG_* bits of settings to inherit again; @change has
 *	precedence
 */
void mpa_settings_change(struct mpa_settings *own,
			 const struct mpa_settings *change, u32 inherit)
{
	unsigned int i;

	own->set &= ~inherit;
	own->set |= change->set;
	for (i = 1; i <= MPA_A_CONFIG_MAX; i++) {
		if (change->set & BIT(i))
			own->v[i] = change->v[i];
		else if (!(own->set & BIT(i)))
			own->v[i] = 0;
	}
}

/**
 * struct mpa_config_revs - meaning of a revision setting
 * @rev: highest revision
 * @rev_min: lowest revision
 * @may_permit: permissive mode has a meaning: revision 0 is neither the only
 *	revision nor excluded
 */
struct mpa_config_revs {
	u8 rev;
	u8 rev_min;
	bool may_permit;
};

static const struct mpa_config_revs config_revisions[] = {
	[MPA_REVISION_0] = { MPA_REV_RDMAC, MPA_REV_RDMAC, false },
	[MPA_REVISION_1] = { MPA_REV_1, MPA_REV_1, true },
	[MPA_REVISION_2] = { MPA_REV_2, MPA_REV_2, false },
	[MPA_REVISION_AUTO] = { MPA_REV_2, MPA_REV_1, true },
};

/**
 * mpa_config_params - convert settings to parameters of the startup exchange
 * @cfg: settings in force, clipped to the device if there is one
 * @p: set to what this side requests; its depths are those that the settings
 *	allow and may be lowered by the caller
 */
void mpa_config_params(const struct mpa_config *cfg, struct mpa_params *p)
{
	const u32 *v = cfg->v;
	const struct mpa_config_revs *r =
		&config_revisions[v[MPA_A_CONFIG_REVISION]];
	bool plain = v[MPA_A_CONFIG_EXCHANGE] == MPA_EXCHANGE_PLAIN;

	*p = (struct mpa_params){
		.markers = v[MPA_A_CONFIG_MARKERS],
		.crc = v[MPA_A_CONFIG_CRC] == MPA_CONFIG_CRC_REQUIRED,
		.permissive = r->may_permit && v[MPA_A_CONFIG_PERMISSIVE],
		.plain = plain,
		.extensions = v[MPA_A_CONFIG_RDMAP_EXTENSIONS],
		.rev = r->rev,
		.rev_min = r->rev_min,
		.rtr = v[MPA_A_CONFIG_RTR],
		.ird = v[MPA_A_CONFIG_IRD],
		.ord = v[MPA_A_CONFIG_ORD],
		.ird_max = v[MPA_A_CONFIG_IRD],
	};
	if (p->permissive)
		p->rev_min = MPA_REV_RDMAC;
	/* It is requested in the enhanced data of RFC 6581. */
	p->p2p = v[MPA_A_CONFIG_PEER_TO_PEER] && p->rtr && !plain &&
		 r->rev == MPA_REV_2;
}
EXPORT_SYMBOL_NS_GPL(mpa_config_params, MPA_NS);
