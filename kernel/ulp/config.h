/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings: their bounds, how an object inherits them, and how they become the
 * parameters of a connection. Pure functions.
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
 * struct mpa_settings - settings that were set at one object
 * @set: bits 1 << MPA_A_CONFIG_*
 * @v: by MPA_A_CONFIG_*; meaningful where @set has a bit
 */
struct mpa_settings {
	u32 set;
	u32 v[MPA_A_CONFIG_MAX + 1];
};

/**
 * struct mpa_limits - limits of a device
 * @ird_max: maximum of %MPA_A_CONFIG_IRD
 * @ord_max: maximum of %MPA_A_CONFIG_ORD
 * @rtr: RTR kinds it supports, MPA_RTR_* bits
 */
struct mpa_limits {
	u16 ird_max;
	u16 ord_max;
	u8 rtr;
};

/**
 * struct mpa_bounds - bounds of a setting
 * @min: minimum
 * @max: maximum
 * @def: built-in value
 */
struct mpa_bounds {
	u32 min;
	u32 max;
	u32 def;
};

/* By MPA_A_CONFIG_*. */
extern const struct mpa_bounds mpa_config_bounds[MPA_A_CONFIG_MAX + 1];

/* All settings. */
#define MPA_CONFIG_ALL	(GENMASK(MPA_A_CONFIG_MAX, 1))
/* Settings that limit what a user context may own. */
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
