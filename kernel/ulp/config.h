/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings: what they may be, how an object's own lie over those it inherits,
 * what they make of a connection. Pure functions.
 */
#ifndef MPA_ULP_CONFIG_H
#define MPA_ULP_CONFIG_H

#include <linux/bits.h>
#include <linux/mpa_netlink.h>
#include <linux/types.h>

struct mpa_params;

/**
 * struct mpa_config - a value for every setting
 * @v: by MPA_A_CONFIG_*
 */
struct mpa_config {
	u32 v[MPA_A_CONFIG_MAX + 1];
};

/**
 * struct mpa_settings - what was set at one object
 * @set: bits 1 << MPA_A_CONFIG_*
 * @v: by MPA_A_CONFIG_*; meaningful where @set has a bit
 */
struct mpa_settings {
	u32 set;
	u32 v[MPA_A_CONFIG_MAX + 1];
};

/**
 * struct mpa_limits - what a device can
 * @ird_max: deepest %MPA_A_CONFIG_IRD
 * @ord_max: deepest %MPA_A_CONFIG_ORD
 * @rtr: RTR kinds it knows, MPA_RTR_* set
 */
struct mpa_limits {
	u16 ird_max;
	u16 ord_max;
	u8 rtr;
};

/**
 * struct mpa_bounds - what a setting may be
 * @min: least value
 * @max: greatest value
 * @def: built in
 */
struct mpa_bounds {
	u32 min;
	u32 max;
	u32 def;
};

/* By MPA_A_CONFIG_*. */
extern const struct mpa_bounds mpa_config_bounds[MPA_A_CONFIG_MAX + 1];

/* Every setting there is. */
#define MPA_CONFIG_ALL	(GENMASK(MPA_A_CONFIG_MAX, 1))
/* Those that bound what a user's context may own. */
#define MPA_CONFIG_USER_LIMITS	(GENMASK(MPA_A_CONFIG_USER_RINGS_MAX,	\
					 MPA_A_CONFIG_USER_QP_MAX))

void mpa_config_builtin(struct mpa_config *cfg);
void mpa_config_overlay(struct mpa_config *cfg, const struct mpa_settings *own);
void mpa_config_clip(struct mpa_config *cfg, const struct mpa_limits *lim);
const char *mpa_config_refuse(const struct mpa_settings *change,
			      const struct mpa_limits *lim, unsigned int *attr);
const char *mpa_config_not_for_listener(const struct mpa_settings *change,
					unsigned int *attr);
void mpa_settings_change(struct mpa_settings *own,
			 const struct mpa_settings *change, u32 inherit);
void mpa_config_params(const struct mpa_config *cfg, struct mpa_params *p);

#endif /* MPA_ULP_CONFIG_H */
