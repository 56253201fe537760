// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cases of kernel/ddp in the kernel. The sources under test are compiled into
 * this module, so that nothing needs to be exported.
 */
#include <linux/module.h>

#include "../../kernel/ddp/atomic.c"
#include "../../kernel/ddp/check.c"
#include "../../kernel/ddp/header.c"
#include "../../kernel/ddp/terminate.c"
#include "../vectors/ddp.c"

MODULE_DESCRIPTION("KUnit suite of the DDP and RDMAP header functions");
MODULE_LICENSE("GPL");
