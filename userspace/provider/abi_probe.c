// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Tables in which every slot of our declaration points to a function named
 * after it. Nothing of this is linked: check-abi reads the relocations of the
 * object file and compares them with those of installed providers.
 */
#include "rdma_core_abi.h"

#define DECLARE_SLOT(name) void name(void);
#define DECLARE_OP(result, name, arguments) DECLARE_SLOT(probe_##name)
#define DECLARE_OTHER(name) DECLARE_SLOT(probe_##name)
#define FILL_OP(result, name, arguments) .name = (void *)probe_##name,
#define FILL_OTHER(name) .name = (void *)probe_##name,

VERBS_CONTEXT_OPS(DECLARE_OP, DECLARE_OTHER)
DECLARE_SLOT(probe_match_device)
DECLARE_SLOT(probe_alloc_context)
DECLARE_SLOT(probe_import_context)
DECLARE_SLOT(probe_alloc_device)
DECLARE_SLOT(probe_uninit_device)

extern const struct verbs_context_ops probe_context_ops;
extern const struct verbs_device_ops probe_device_ops;

const struct verbs_context_ops probe_context_ops = {
	VERBS_CONTEXT_OPS(FILL_OP, FILL_OTHER)
};

const struct verbs_device_ops probe_device_ops = {
	.match_device = (void *)probe_match_device,
	.alloc_context = (void *)probe_alloc_context,
	.import_context = (void *)probe_import_context,
	.alloc_device = (void *)probe_alloc_device,
	.uninit_device = (void *)probe_uninit_device,
};
