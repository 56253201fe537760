/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel releases in modules, for those of the tests.
 */
#ifndef MPA_COMPAT_MODULE_H
#define MPA_COMPAT_MODULE_H

#include <linux/module.h>

/* Where the code of a module begins that is there as long as the module. */
static inline unsigned long mpa_module_text(const struct module *mod)
{
#ifdef MPA_HAVE_MODULE_MEMORY
	return (unsigned long)mod->mem[MOD_TEXT].base;
#else
	return (unsigned long)mod->core_layout.base;
#endif
}

/* Its bytes. */
static inline unsigned long mpa_module_text_size(const struct module *mod)
{
#ifdef MPA_HAVE_MODULE_MEMORY
	return mod->mem[MOD_TEXT].size;
#else
	return mod->core_layout.text_size;
#endif
}

#endif /* MPA_COMPAT_MODULE_H */
