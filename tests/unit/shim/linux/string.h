/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MPA_SHIM_LINUX_STRING_H
#define MPA_SHIM_LINUX_STRING_H

#include <string.h>

#endif /* MPA_SHIM_LINUX_STRING_H */
