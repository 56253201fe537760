// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite of kernel/ulp: streams over loopback sockets, through the API
 * that mpa.ko exports. Needs mpa.ko loaded and nothing else.
 */
#include <linux/crc32c.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../vectors/framing.h"
#include "mpa_ulp_fixture.c"

enum {
	SHORT_MS	= 150,	/* timeouts that expire */
	IN_TIME_MS	= 2000,	/* timeouts that expire, but something happens before */
	LONG_MS		= 60000, /* timeouts that do not */
	MARKERS		= 0x80,	/* in a flag byte */
	CRC		= 0x40,
	REJECT		= 0x20,
	ENHANCED	= 0x10,
};

static const struct link_options plain;

static struct mpa_params params(u8 rev, bool markers, bool crc)
{
	return (struct mpa_params){
		.markers = markers,
		.crc = crc,
		.rev = rev,
		.rtr = MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
		.ird = 8,
		.ord = 4,
		.ird_max = 16,
	};
}

#include "ulp/attach.c"
#include "ulp/exchange.c"
#include "ulp/startup.c"
#include "ulp/end.c"
#include "ulp/rx.c"
#include "ulp/tx.c"
#include "ulp/detach.c"

static struct kunit_case cases[] = {
	KUNIT_CASE(attach__shared),
	KUNIT_CASE(attach__refused),
	KUNIT_CASE(attach__restores_callbacks),
	KUNIT_CASE(attach__socket_released_first),
	KUNIT_CASE_PARAM(exchange__traffic, exchange_next),
	KUNIT_CASE_PARAM(exchange__private_data, pd_gen_params),
	KUNIT_CASE_PARAM(exchange__figure, figure_gen_params),
	KUNIT_CASE_PARAM(exchange__reject_private_data, pd_gen_params),
	KUNIT_CASE(exchange__reject),
	KUNIT_CASE(exchange__reject_and_more),
	KUNIT_CASE(exchange__too_new),
	KUNIT_CASE(exchange__ird_cannot_be_met),
	KUNIT_CASE_PARAM(startup__bad_frame, bad_frame_gen_params),
	KUNIT_CASE(startup__frame_too_slow),
	KUNIT_CASE(startup__two_initiators),
	KUNIT_CASE(startup__reply_comes_first),
	KUNIT_CASE(startup__no_reply),
	KUNIT_CASE(startup__no_request),
	KUNIT_CASE(startup__late_answer),
	KUNIT_CASE(startup__no_rtr),
	KUNIT_CASE(startup__rtr),
	KUNIT_CASE(startup__more_behind_request),
	KUNIT_CASE(startup__fpdu_behind_reply),
	KUNIT_CASE(startup__no_first_fpdu),
	KUNIT_CASE(startup__first_fpdu),
	KUNIT_CASE_PARAM(startup__last_message, last_gen_params),
	KUNIT_CASE(startup__last_message_fails),
	KUNIT_CASE(startup__responder_on_the_wire),
	KUNIT_CASE(startup__responder_waits),
	KUNIT_CASE_PARAM(end__of_tcp, end_next),
	KUNIT_CASE_PARAM(end__peer_vanishes, loss_gen_params),
	KUNIT_CASE_PARAM(end__half_close, ends_gen_params),
	KUNIT_CASE(fault__crc),
	KUNIT_CASE(fault__crc_not_in_use),
	KUNIT_CASE(fault__length_without_crc),
	KUNIT_CASE(fault__marker),
	KUNIT_CASE(fault__marker_right),
	KUNIT_CASE_PARAM(fault__second_marker, marker_gen_params),
	KUNIT_CASE(fault__refused_by_owner),
	KUNIT_CASE(fault__flipped),
	KUNIT_CASE_PARAM(receive__drip, drip_gen_params),
	KUNIT_CASE_PARAM(receive__longest, buffer_gen_params),
	KUNIT_CASE_PARAM(receive__through_buffers, buffer_gen_params),
	KUNIT_CASE_PARAM(receive__put_off, buffer_gen_params),
	KUNIT_CASE(receive__longest_of_ours),
	KUNIT_CASE_PARAM(send__in_series, series_gen_params),
	KUNIT_CASE(receive__joined_until_bad),
	KUNIT_CASE(send__to_sleeper),
	KUNIT_CASE(send__after_end),
	KUNIT_CASE(send__catches_up),
	KUNIT_CASE_PARAM(answer__at_once, answer_gen_params),
	KUNIT_CASE(send__atomic_without_scatter_gather),
	KUNIT_CASE(answer__too_much),
	KUNIT_CASE(answer__too_long),
	KUNIT_CASE(answer__peer_does_not_read),
	KUNIT_CASE(detach__under_traffic),
	KUNIT_CASE(detach__in_startup),
	{}
};

static struct kunit_suite suite = {
	.name = "mpa_ulp",
	.suite_init = read_fast_path,
	.init = fx_init,
	.exit = fx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of kernel/ulp");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(MPA_NS);
