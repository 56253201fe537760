// SPDX-License-Identifier: GPL-2.0-only
/*
  * KUnit suite of kernel/ddp: the tables of tests/vectors/ddp.h, run in the
 * kernel. The sources under test are compiled into this module, so that nothing
 * needs to be exported. Bytes passed to them are in blocks of exactly their
 * size, so that KASAN detects every read beyond their end.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../kernel/ddp/header.c"
#include "../../kernel/ddp/check.c"
#include "../../kernel/ddp/terminate.c"
#include "../vectors/ddp.h"

enum { ROOM = 128 };	/* more than any ULPDU of the tables */

/* A copy of @n bytes in a block of that size. */
static u8 *exact(struct kunit *test, const u8 *bytes, u32 n)
{
	u8 *p = kunit_kmalloc(test, n, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p);
	memcpy(p, bytes, n);
	return p;
}

static u32 unhex(struct kunit *test, const char *text, u8 *bytes)
{
	u32 n = vec_unhex(text, bytes, ROOM);

	KUNIT_ASSERT_LE(test, n, (u32)ROOM);
	return n;
}

static void expect_bytes(struct kunit *test, const u8 *got, u32 n,
			  const char *want)
{
	u8 bytes[ROOM];
	u32 i, nr_want = unhex(test, want, bytes);

	KUNIT_ASSERT_EQ(test, n, nr_want);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, got[i], bytes[i], "byte %u", i);
}

/* A fault record in which every field is wrong. */
static struct ddp_fault unlike(const struct ddp_want *want)
{
	return (struct ddp_fault){
		.layer = 0xee,
		.etype = 0xee,
		.code = 0xee,
		.with_hdr = !want->fault.with_hdr,
		.with_rdmap = !want->fault.with_rdmap,
	};
}

static void expect_result(struct kunit *test, bool ok,
			   const struct ddp_fault *f,
			   const struct ddp_want *want)
{
	KUNIT_EXPECT_EQ(test, ok, want->ok);
	if (ok || want->ok)
		return;
	KUNIT_EXPECT_EQ(test, f->layer, want->fault.layer);
	KUNIT_EXPECT_EQ(test, f->etype, want->fault.etype);
	KUNIT_EXPECT_EQ(test, f->code, want->fault.code);
	KUNIT_EXPECT_EQ(test, f->with_hdr, want->fault.with_hdr);
	KUNIT_EXPECT_EQ(test, f->with_rdmap, want->fault.with_rdmap);
}

static void expect_hdr(struct kunit *test, const struct ddp_hdr *got,
		       const struct ddp_hdr *want)
{
	KUNIT_EXPECT_EQ(test, got->tagged, want->tagged);
	KUNIT_EXPECT_EQ(test, got->last, want->last);
	KUNIT_EXPECT_EQ(test, got->ddp_version, want->ddp_version);
	KUNIT_EXPECT_EQ(test, got->rdmap_version, want->rdmap_version);
	KUNIT_EXPECT_EQ(test, got->opcode, want->opcode);
	KUNIT_EXPECT_EQ(test, got->stag, want->stag);
	KUNIT_EXPECT_EQ(test, got->to, want->to);
	KUNIT_EXPECT_EQ(test, got->qn, want->qn);
	KUNIT_EXPECT_EQ(test, got->msn, want->msn);
	KUNIT_EXPECT_EQ(test, got->mo, want->mo);
	KUNIT_EXPECT_EQ(test, got->hdr_len, want->hdr_len);
	KUNIT_EXPECT_EQ(test, got->payload_len, want->payload_len);
}

/* Decodes and checks as the receive path does. */
static void expect_control(struct kunit *test, const u8 *bytes, u32 at_hand,
			   u32 ulpdu_len, const struct ddp_want *want)
{
	const u8 *p = exact(test, bytes, at_hand);
	struct ddp_fault f = unlike(want);
	struct ddp_hdr h;
	bool whole = !ddp_decode(p, ulpdu_len, &h);

	expect_result(test, ddp_check_control(&h, whole, RDMAP_VERSION, &f),
		       &f, want);
}

#define NAMED_CASES(what)						\
static void what##_desc(const struct ddp_##what##_case *c, char *desc)	\
{									\
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);			\
}									\
									\
KUNIT_ARRAY_PARAM(what, ddp_##what##_cases, what##_desc)

NAMED_CASES(wire);
NAMED_CASES(read);
NAMED_CASES(fpdu);
NAMED_CASES(control);
NAMED_CASES(flip);
NAMED_CASES(untagged);
NAMED_CASES(region);
NAMED_CASES(right);
NAMED_CASES(invalidate);
NAMED_CASES(response);
NAMED_CASES(terminate);

static void opcode_desc(const struct ddp_opcode_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "opcode %X",
		 (unsigned int)(c - ddp_opcode_cases));
}

KUNIT_ARRAY_PARAM(opcode, ddp_opcode_cases, opcode_desc);

static void parse_desc(const struct ddp_parse_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "flags %02x, DDP control %02x",
		 c->flags, c->ctrl);
}

KUNIT_ARRAY_PARAM(parse, ddp_parse_cases, parse_desc);

/* header.c */

static void header_decode(struct kunit *test)
{
	const struct ddp_wire_case *c = test->param_value;
	u8 bytes[ROOM];
	u32 n = unhex(test, c->bytes, bytes);
	struct ddp_hdr h;

	KUNIT_EXPECT_EQ(test, ddp_decode(exact(test, bytes, n), c->ulpdu_len,
					 &h), 0);
	expect_hdr(test, &h, &c->want);
}

static void header_build(struct kunit *test)
{
	const struct ddp_wire_case *c = test->param_value;
	const struct ddp_hdr *h = &c->want;
	u8 bytes[ROOM];
	u32 n;

	if (h->tagged)
		n = ddp_build_tagged(bytes, h->ddp_version, h->opcode,
				     h->last, h->stag, h->to);
	else
		n = ddp_build_untagged(bytes, h->ddp_version, h->opcode,
				       h->last, h->stag, h->qn, h->msn, h->mo);
	expect_bytes(test, bytes, n, c->bytes);
}

static void header_decode_truncated(struct kunit *test)
{
	static const u8 ctrls[] = { 0x41, 0xc1, 0x00, 0x80, 0x7f, 0xff };
	u8 bytes[DDP_HDR_MAX];
	struct ddp_hdr h;
	u32 i, len;

	memset(bytes, 0xff, sizeof(bytes));
	for (i = 0; i < ARRAY_SIZE(ctrls); i++) {
		bool tagged = ctrls[i] & 0x80;
		u32 need = tagged ? 14 : 18;

		bytes[0] = ctrls[i];
		KUNIT_EXPECT_EQ(test, ddp_hdr_len(ctrls[i]), need);
		for (len = 0; len < need; len++) {
			const struct ddp_hdr zero = { .tagged = len && tagged };

			KUNIT_EXPECT_EQ(test, -EMSGSIZE,
					ddp_decode(exact(test, bytes, len),
						   len, &h));
			expect_hdr(test, &h, &zero);
		}
		KUNIT_EXPECT_EQ(test, 0,
				ddp_decode(exact(test, bytes, need), need,
					   &h));
	}
}

/* A segment continues another one if only the offset differs, as it should. */
static void header_continues(struct kunit *test)
{
	u8 bytes[DDP_UNTAGGED_LEN];
	u32 kind, bit, len;
	u8 *p, *next;

	for (kind = 0; kind < 4; kind++) {
		bool last = kind & 1;

		if (kind & 2)
			len = ddp_build_tagged(bytes, 1, RDMAP_WRITE, last, 7,
					       0xfffffffe);
		else
			len = ddp_build_untagged(bytes, 1, RDMAP_SEND, last,
						 0, DDP_QN_SEND, 9, 0xfffe);
		p = exact(test, bytes, len);
		next = exact(test, bytes, len);
		if (kind & 2)
			put_unaligned_be64(0xfffffffeULL + 1428, next + 6);
		else
			put_unaligned_be32(0xfffe + 1428, next + 14);
		KUNIT_EXPECT_EQ(test, !last, ddp_continues(p, next, 1428));
		KUNIT_EXPECT_FALSE(test, ddp_continues(p, next, 1427));
		for (bit = 0; bit < 8 * len; bit++) {
			next[bit / 8] ^= 1 << bit % 8;
			KUNIT_EXPECT_FALSE(test, ddp_continues(p, next, 1428));
			next[bit / 8] ^= 1 << bit % 8;
		}
		kunit_kfree(test, next);
		kunit_kfree(test, p);
	}
}

static void header_read_request(struct kunit *test)
{
	const struct ddp_read_case *c = test->param_value;
	u8 bytes[ROOM];
	u32 n = unhex(test, c->bytes, bytes);
	struct rdmap_read rd;

	rdmap_read_decode(exact(test, bytes, n), &rd);
	KUNIT_EXPECT_EQ(test, rd.sink_stag, c->want.sink_stag);
	KUNIT_EXPECT_EQ(test, rd.sink_to, c->want.sink_to);
	KUNIT_EXPECT_EQ(test, rd.size, c->want.size);
	KUNIT_EXPECT_EQ(test, rd.src_stag, c->want.src_stag);
	KUNIT_EXPECT_EQ(test, rd.src_to, c->want.src_to);

	memset(bytes, 0xee, sizeof(bytes));
	n = rdmap_read_build(bytes, &c->want);
	expect_bytes(test, bytes, n, c->bytes);
}

static u32 build_reference_ulpdu(enum ddp_fpdu_kind kind, u8 *p)
{
	static const struct rdmap_read no_read;
	u32 n = 0;

	switch (kind) {
	case DDP_FPDU_WRITE:
		n = ddp_build_tagged(p, 1, RDMAP_WRITE, true, 0, 0);
		break;
	case DDP_FPDU_RESPONSE:
		n = ddp_build_tagged(p, 1, RDMAP_READ_RESP, true, 0, 0);
		break;
	case DDP_FPDU_READ:
		n = ddp_build_untagged(p, 1, RDMAP_READ_REQ, true, 0, 1, 1, 0);
		n += rdmap_read_build(p + n, &no_read);
		break;
	case DDP_FPDU_SEND:
		n = ddp_build_untagged(p, 1, RDMAP_SEND, true, 0, 0, 1, 0);
		memset(p + n, 0, 24);
		n += 24;
		break;
	case DDP_FPDU_TERMINATE:
		n = rdmap_terminate_build(p, 1, &ddp_fault_ird, NULL, 0, 0);
		break;
	}
	return n;
}

static void header_reference_fpdu(struct kunit *test)
{
	const struct ddp_fpdu_case *c = test->param_value;
	u8 fpdu[ROOM];
	u32 n = build_reference_ulpdu(c->kind, fpdu + 2);

	put_unaligned_be16(n, fpdu);
	n += 2;
	KUNIT_ASSERT_EQ(test, n % 4, 0);
	put_unaligned_le32(ddp_crc32c(fpdu, n), fpdu + n);
	expect_bytes(test, fpdu, n + 4, c->fpdu);
}

/* check.c */

static void check_control(struct kunit *test)
{
	const struct ddp_control_case *c = test->param_value;
	u8 bytes[ROOM];
	u32 n = unhex(test, c->bytes, bytes);

	expect_control(test, bytes, n, c->ulpdu_len, &c->want);
}

static void check_control_bits(struct kunit *test)
{
	const struct ddp_flip_case *c = test->param_value;
	u8 bytes[ROOM] = {};
	u32 bit;

	unhex(test, c->bytes, bytes);
	for (bit = 0; bit < ARRAY_SIZE(c->want); bit++) {
		u8 mask = 0x80 >> bit % 8;

		bytes[bit / 8] ^= mask;
		expect_control(test, bytes, DDP_HDR_MAX, c->ulpdu_len,
			       &c->want[bit]);
		bytes[bit / 8] ^= mask;
	}
}

static void check_control_opcodes(struct kunit *test)
{
	const struct ddp_opcode_case *c = test->param_value;
	u8 opcode = c - ddp_opcode_cases;
	u8 bytes[ROOM];
	u32 i, n;

	n = ddp_build_tagged(bytes, 1, opcode, true, 0, 0);
	expect_control(test, bytes, n, n + c->payload, &c->tagged);

	BUILD_BUG_ON(ARRAY_SIZE(ddp_queue_numbers) !=
		     ARRAY_SIZE(c->untagged));
	for (i = 0; i < ARRAY_SIZE(ddp_queue_numbers); i++) {
		n = ddp_build_untagged(bytes, 1, opcode, true, 0,
				       ddp_queue_numbers[i], 1, 0);
		expect_control(test, bytes, n, n + c->payload,
			       &c->untagged[i]);
	}
}

static void check_untagged(struct kunit *test)
{
	const struct ddp_untagged_case *c = test->param_value;
	struct ddp_fault f = unlike(&c->want);

	expect_result(test, ddp_check_untagged(&c->h, &c->q, &f), &f,
		       &c->want);
}

static void check_tagged(struct kunit *test)
{
	const struct ddp_region_case *c = test->param_value;
	const struct ddp_hdr h = RESPONSE(true, 7, c->to, c->len);
	struct ddp_fault f = unlike(&c->tagged);

	expect_result(test, ddp_check_tagged(&h, &c->r, &f), &f, &c->tagged);
}

static void check_read(struct kunit *test)
{
	const struct ddp_region_case *c = test->param_value;
	const struct rdmap_read rd = { .size = c->len, .src_to = c->to };
	struct ddp_fault f = unlike(&c->read);

	expect_result(test, rdmap_check_read(&rd, &c->r, &f), &f, &c->read);
}

static void check_right(struct kunit *test)
{
	const struct ddp_right_case *c = test->param_value;
	struct ddp_fault f = unlike(&c->want);

	expect_result(test, rdmap_check_right(c->read, c->len, c->right, &f),
		       &f, &c->want);
}

static void check_invalidate(struct kunit *test)
{
	const struct ddp_invalidate_case *c = test->param_value;
	struct ddp_fault f = unlike(&c->want);

	expect_result(test, rdmap_check_invalidate(&c->r, &f), &f, &c->want);
}

static void check_response(struct kunit *test)
{
	const struct ddp_response_case *c = test->param_value;
	struct ddp_fault f = unlike(&c->want);

	expect_result(test, rdmap_check_response(&c->h, &c->v, &f), &f,
		       &c->want);
}

static void check_faults_of_other_layers(struct kunit *test)
{
	static const struct {
		const struct ddp_fault *fault;
		struct ddp_want want;
	} faults[] = {
		{ &ddp_fault_crc, WANT_NO_HEADER(2, 0, 2) },
		{ &ddp_fault_marker, WANT_NO_HEADER(2, 0, 3) },
		{ &ddp_fault_mpa_local, WANT_NO_HEADER(2, 0, 5) },
		{ &ddp_fault_ird, WANT_NO_HEADER(2, 0, 6) },
		{ &ddp_fault_rtr, WANT_NO_HEADER(2, 0, 7) },
		{ &ddp_fault_local, WANT_NO_HEADER(0, 0, 0) },
		{ &ddp_fault_stream, WANT(0, 2, 7) },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(faults); i++)
		expect_result(test, false, faults[i].fault, &faults[i].want);
}

/* terminate.c */

static void terminate_build(struct kunit *test)
{
	const struct ddp_terminate_case *c = test->param_value;
	u8 bytes[ROOM], *p;
	const u8 *seg = NULL;
	u32 n = 0;

	if (c->seg) {
		n = unhex(test, c->seg, bytes);
		seg = exact(test, bytes, n);
	}
	p = kunit_kmalloc(test, RDMAP_TERM_ULPDU_MAX, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p);
	memset(p, 0xee, RDMAP_TERM_ULPDU_MAX);
	n = rdmap_terminate_build(p, 1, &c->fault, seg, n, c->seg_len);
	expect_bytes(test, p, n, c->want);
}

static void terminate_parse(struct kunit *test)
{
	const struct ddp_parse_case *c = test->param_value;
	u8 bytes[ROOM];
	u32 len;

	memset(bytes, 0xff, sizeof(bytes));
	unhex(test, "5A A7 00 00 12 34 00", bytes);
	bytes[2] = c->flags;
	bytes[6] = c->ctrl;
	for (len = 0; len <= 80; len++) {
		bool good = c->need && len >= c->need;
		struct rdmap_terminate t;

		KUNIT_EXPECT_EQ_MSG(test, good ? 0 : -EPROTO,
				    rdmap_terminate_parse(exact(test, bytes,
								len),
							  len, &t),
				    "%u bytes", len);
		KUNIT_EXPECT_EQ(test, t.layer, len < 4 ? 0 : 5);
		KUNIT_EXPECT_EQ(test, t.etype, len < 4 ? 0 : 10);
		KUNIT_EXPECT_EQ(test, t.code, len < 4 ? 0 : 0xa7);
		KUNIT_EXPECT_EQ(test, t.has_len, good && (c->flags & 0x80));
		KUNIT_EXPECT_EQ(test, t.has_ddp, good && (c->flags & 0x40));
		KUNIT_EXPECT_EQ(test, t.has_rdmap, good && (c->flags & 0x20));
		KUNIT_EXPECT_EQ(test, t.seg_len, t.has_len ? 0x1234 : 0);
	}
}

static const char *text_of(const struct ddp_error_case *e)
{
	return rdmap_error_text(e->layer, e->etype, e->code);
}

static void terminate_texts(struct kunit *test)
{
	const char *unknown = rdmap_error_text(9, 9, 9);
	u32 i, j;

	KUNIT_ASSERT_NOT_NULL(test, unknown);
	for (i = 0; i < ARRAY_SIZE(ddp_defined_errors); i++) {
		const char *text = text_of(&ddp_defined_errors[i]);

		KUNIT_ASSERT_NOT_NULL(test, text);
		KUNIT_EXPECT_STRNEQ(test, text, unknown);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, text,
					    text_of(&ddp_defined_errors[j]));
	}
	for (i = 0; i < ARRAY_SIZE(ddp_undefined_errors); i++)
		KUNIT_EXPECT_STREQ(test, unknown,
				   text_of(&ddp_undefined_errors[i]));
}

static struct kunit_case mpa_ddp_cases[] = {
	KUNIT_CASE_PARAM(header_decode, wire_gen_params),
	KUNIT_CASE_PARAM(header_build, wire_gen_params),
	KUNIT_CASE(header_decode_truncated),
	KUNIT_CASE(header_continues),
	KUNIT_CASE_PARAM(header_read_request, read_gen_params),
	KUNIT_CASE_PARAM(header_reference_fpdu, fpdu_gen_params),
	KUNIT_CASE_PARAM(check_control, control_gen_params),
	KUNIT_CASE_PARAM(check_control_bits, flip_gen_params),
	KUNIT_CASE_PARAM(check_control_opcodes, opcode_gen_params),
	KUNIT_CASE_PARAM(check_untagged, untagged_gen_params),
	KUNIT_CASE_PARAM(check_tagged, region_gen_params),
	KUNIT_CASE_PARAM(check_read, region_gen_params),
	KUNIT_CASE_PARAM(check_right, right_gen_params),
	KUNIT_CASE_PARAM(check_invalidate, invalidate_gen_params),
	KUNIT_CASE_PARAM(check_response, response_gen_params),
	KUNIT_CASE(check_faults_of_other_layers),
	KUNIT_CASE_PARAM(terminate_build, terminate_gen_params),
	KUNIT_CASE_PARAM(terminate_parse, parse_gen_params),
	KUNIT_CASE(terminate_texts),
	{}
};

static struct kunit_suite mpa_ddp_suite = {
	.name = "mpa_ddp",
	.test_cases = mpa_ddp_cases,
};

kunit_test_suite(mpa_ddp_suite);

MODULE_DESCRIPTION("KUnit suite of the DDP and RDMAP header functions");
MODULE_LICENSE("GPL");
