# SPDX-License-Identifier: GPL-2.0-only
"""What reads differently within the kernel: {path: [(text, its replacement)]}.

Each text must be in the file once: the series cannot be made otherwise.
"""

EDITS = {
    # Numbers that only the kernel may give: see CHANGES in series.py.
    "uapi/linux/mpa.h": [
        ("""\
/*
 * Level of the options below: the number of the RFC. The kernel assigns levels
 * consecutively in include/linux/socket.h, so a module outside of the kernel
 * must not take the next one. 5044 is far from these and from the IPPROTO_*
 * values, which are levels too. In the kernel this would become the next SOL_*
 * number.
 */
#define SOL_MPA		5044

""", ""),
        ("""\
/*
 * inet_diag: attribute of INET_DIAG_ULP_INFO in addition to the name of the
 * protocol, and its contents.
 */
#define INET_ULP_INFO_MPA	64

enum {
""", """\
/* inet_diag: contents of INET_ULP_INFO_MPA */
enum {
"""),
    ],
    "uapi/linux/tcp_framing.h": [
        (""" *
 * The values are those of Linux with linux-mpa; the draft assigns none. They are
 * far from the options of TCP itself.
""", """ *
 * The draft assigns no numbers to the options: those of Linux are in linux/tcp.h.
"""),
        ("""\
#define TCP_FRAMING_MODE		504400
#define TCP_SEND_EMSS			504401
#define TCP_FRAMING_PACK_PDUS		504402
#define TCP_FRAMING_EMERGENCY		504403
#define TCP_FRAMING_SEND_INTERVAL	504404
#define TCP_FRAMING_RECV_INTERVAL	504405
#define TCP_FRAMING_SEND_KEY		504406
#define TCP_FRAMING_RECV_KEY		504407
#define TCP_FRAMING_EMSS_NOTICE		504408
#define TCP_FRAMING_INFO		504409

""", ""),
    ],
    "uapi/linux/mpa_netlink.h": [
        ("""\
 * one network namespace. Documentation/netlink/specs/mpa.yaml specifies the
 * commands; scripts/check-netlink compares this file with it.
""", """\
 * one network namespace. Documentation/netlink/specs/mpa.yaml specifies the
 * commands.
"""),
    ],
    "kernel/netlink/policy.c": [
        (" scripts/check-netlink compares the\n * policies with the YAML specification. "
         "Functions check what a policy cannot\n * express.\n",
         " Functions check what a\n * policy cannot express.\n"),
    ],
    "kernel/ulp/trace.h": [("(as in mpactl)", "(as in netlink)")],
    "kernel/ulp/config.c": [
        (" Pure functions: user-space tests compile them\n * too.\n", " Pure functions.\n"),
    ],
    # The version is that of the kernel.
    "kernel/rnic/query.c": [
        ("#include <rdma/ib_mad.h>\n", "#include <linux/utsname.h>\n#include <rdma/ib_mad.h>\n"),
        ("""\
/* What verbs call firmware is this module. */
static u64 rnic_query_fw_ver(void)
{
	unsigned int major, minor, patch;

	if (sscanf(MPA_VERSION, "%u.%u.%u", &major, &minor, &patch) != 3)
		return 0;
	return (u64)major << 32 | minor << 16 | patch;
}

""", ""),
        ("the version of the module, for", "the release of the kernel, for"),
        ("strscpy(str, MPA_VERSION, IB_FW_VERSION_NAME_MAX)",
         "strscpy(str, init_utsname()->release, IB_FW_VERSION_NAME_MAX)"),
        ("	attr->fw_ver = rnic_query_fw_ver();\n", ""),
    ],
    "kernel/rnic/verbs.c": [
        ("""\
/*
 * The provider recognizes the device by this attribute, since it has no driver
 * number.
 */
""", """\
/* For providers that do not know the driver's number. */
"""),
        ("RDMA_DRIVER_UNKNOWN", "RDMA_DRIVER_MPA"),
    ],
    # Tests are linked to what they test.
    "tests/kunit/mpa_framing_kunit.c": [
        ("""\
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
""", """\
/* KUnit suites of the framing. */
"""),
        ("""\

MODULE_DESCRIPTION("KUnit suites of the MPA framing");
MODULE_LICENSE("GPL");
""", ""),
    ],
    "tests/kunit/mpa_queue_kunit.c": [
        ("""\
 * KUnit suite of kernel/ulp/queue.c: where positions in a receive queue are found. The
 * source under test is compiled into this module, so that nothing needs to be exported.
 */
#include <linux/module.h>
""", """\
 * KUnit suite of kernel/ulp/queue.c: where positions in a receive queue are found.
 */
"""),
        ("kernel/ulp/queue.c\"\n", "kernel/ulp/queue.h\"\n"),
        ("""\

MODULE_DESCRIPTION("KUnit suite of positions in a receive queue");
MODULE_LICENSE("GPL");
""", ""),
    ],
    # There the cases are a part of the module, and there may be no file system.
    "tests/kunit/ulp/rx.c": [
        ("""\
/* The parameter of mpa.ko. */
static bool fast_path;

/*
 * A parameter of this module would not be set yet when the cases run. They run in
 * kernel threads, which see no files in later kernels; this does not.
 */
static int read_fast_path(struct kunit_suite *suite)
{
	struct file *file = filp_open("/sys/module/mpa/parameters/fast_path",
				      O_RDONLY, 0);
	loff_t pos = 0;
	char value = 0;
	int ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_read(file, &value, 1, &pos);
	filp_close(file, NULL);
	fast_path = value == 'Y';
	return ret == 1 ? 0 : -EIO;
}
""", """\
/* It does not change while the cases run. */
static bool fast_path;

static int read_fast_path(struct kunit_suite *suite)
{
	fast_path = mpa_fast_path;
	return 0;
}
"""),
    ],
    "tests/kunit/mpa_ulp_kunit.c": [
        ("""\
 * KUnit suite of kernel/ulp: streams over loopback sockets, through the API
 * that mpa.ko exports. Needs mpa.ko loaded and nothing else.
""", """\
 * KUnit suite of streams over loopback sockets, through what the module
 * exports.
"""),
        ("mpa_ulp_fixture.c", "mpa_ulp_fixture.h"),
        ("#include <linux/fs.h>\n", ""),
        ('#include "../vectors/framing.h"\n',
         '#include "../../kernel/ulp/conn.h"\n#include "../vectors/framing.h"\n'),
        ("""\

MODULE_DESCRIPTION("KUnit suite of kernel/ulp");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(MPA_NS);
""", ""),
    ],
    "tests/kunit/mpa_rules_kunit.c": [
        (" * which have the settings for streams. Needs only mpa.ko to be loaded.",
         " * which have the settings for streams."),
        ("mpa_ulp_fixture.c", "mpa_ulp_fixture.h"),
        ("""\

MODULE_DESCRIPTION("KUnit suite of MPA's rules about TCP");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(MPA_NS);
""", ""),
    ],
    "kernel/rnic/netdev.c": [("linux-mpa software RNIC", "MPA software RNIC")],
}

# Pages of Documentation.
EDITS |= {
    "Documentation/architecture.rst": [
        ("symbols are exported in the namespace ``MPA``.\n", """\
symbols are exported in the namespace ``MPA``.

Files are named by the layer they belong to: ``ulp/`` is ``net/mpa/``, ``framing/`` and
``netlink/`` are directories there, ``rnic/`` is ``drivers/infiniband/sw/mpa/``, and
``ddp/`` is a directory there. Headers that other modules include are in
``include/net/mpa/``. ``providers/`` is in rdma-core.
"""),
        ("``kernel/ulp/mpa.h``", "``include/net/mpa/mpa.h``"),
        (" Files are below\n``kernel/`` unless they begin with ``userspace/``.\n", "\n"),
        ("Outermost first; a lock is taken only inside those above it. ``lockdep`` checks "
         "this in\nthe debug, smp and kasan test configurations.\n",
         "Outermost first; a lock is taken only inside those above it.\n"),
        ("What each layer may include (``scripts/check-includes`` enforces it)::\n\n"
         "\tcompat\t\tnothing\n"
         "\tframing\t\tof compat only unaligned.h\n"
         "\tddp\t\tthe same, and the types of framing\n"
         "\tulp\t\tframing, compat, and of netlink only ulp.h\n"
         "\tnetlink\t\tcompat, and of ulp only netlink.h\n"
         "\trnic\t\tddp, compat, and of ulp only mpa.h\n\n"
         "``compat`` is where kernels differ. Its headers offer one form of each interface "
         "that has\nchanged since 6.1; ``Kbuild.features`` finds out which form the kernel's "
         "headers have.\n",
         "What each layer may include::\n\n"
         "\tframing\t\tnothing\n"
         "\tddp\t\tnothing\n"
         "\tulp\t\tframing, and of netlink only ulp.h\n"
         "\tnetlink\t\tof ulp only netlink.h\n"
         "\trnic\t\tddp, and of ulp only mpa.h\n"),
        (": the same sources are compiled into\nthe modules, into KUnit suites and into "
         "user-space tests under sanitizers. The cases in\n``tests/vectors`` run in both.\n",
         ", which KUnit tests cover\ncompletely.\n"),
        ("``kernel/compat/memcg.h``", "``rnic/memcg.h``"),
        ("(``user-qp-max`` and so on in ``mpactl(8)``)", "(``user-qp-max`` and so on)"),
        ("(``synchronize_rcu_tasks()``): in 6.1 a thread",
         "(``synchronize_rcu_tasks()``): a thread"),
        ("and crash the kernel; ``51-removal`` in the smp\nconfiguration delays threads "
         "there.\n", "and crash the kernel.\n"),
        ("\nDeviations from the first design\n================================\n",
         "\nEnds and receives\n=================\n"),
    ],
    "Documentation/netlink.rst": [
        ("``netlink/specs/mpa.yaml`` is normative: the request and\nthe reply of each command, "
         "every attribute with its type, range, default and meaning, in\nthe format",
         "``Documentation/netlink/specs/mpa.yaml`` is normative:\nthe request and the reply "
         "of each command, every attribute with its type, range, default\nand meaning, in the "
         "format"),
        ("``uapi/linux/mpa_netlink.h`` has the same numbers\nfor C; ``scripts/check-netlink`` "
         "compares header, policies and replies with the\nspecification. ``mpactl(8)`` is "
         "built on the family. This page is for authors of other\nclients.\n",
         "``linux/mpa_netlink.h`` has the same numbers for C.\nThis page is for authors of "
         "clients.\n"),
        ("The Python client of a kernel's source tree (``tools/net/ynl``) needs no code",
         "The Python client (``tools/net/ynl``) needs no code"),
    ],
    "Documentation/ipsec.rst": [
        (", as the test ``stock/36-ipsec`` sets it up (on both\nhosts, with your own key; ",
         " (on both hosts, with your own key;\n"),
        (", as in the test ``stock/49-ike``: a child", ": a child"),
    ],
}
