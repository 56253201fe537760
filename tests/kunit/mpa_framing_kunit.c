// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cases of kernel/framing in the kernel, with its own CRC32c. The sources
 * under test are compiled into this module, so that nothing needs to be exported.
 */
#include <linux/module.h>

#include "../../kernel/framing/early.c"
#include "../../kernel/framing/fpdu.c"
#include "../../kernel/framing/reader.c"
#include "../../kernel/framing/segment.c"
#include "../../kernel/framing/startkey.c"
#include "../../kernel/framing/startup.c"
#include "../../kernel/framing/tuf_align.c"
#include "../../kernel/framing/tuf_marker.c"
#include "../vectors/early.c"
#include "../vectors/fpdu.c"
#include "../vectors/reader.c"
#include "../vectors/segment.c"
#include "../vectors/startkey.c"
#include "../vectors/startup.c"
#include "../vectors/tuf.c"

MODULE_DESCRIPTION("KUnit suites of the MPA framing");
MODULE_LICENSE("GPL");
