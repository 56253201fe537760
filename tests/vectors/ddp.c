// SPDX-License-Identifier: GPL-2.0-only
/* kernel/ddp: its tables. */
#include <kunit/test.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../kernel/compat/unaligned.h"

#include "../../kernel/ddp/atomic.h"
#include "../../kernel/ddp/check.h"
#include "../../kernel/ddp/header.h"
#include "../../kernel/ddp/terminate.h"
#include "bytes.h"
#include "ddp.h"

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

/* Every field is set. */
static int decode(struct bytes b, u32 ulpdu_len, struct ddp_hdr *h)
{
	memset(h, 0xee, sizeof(*h));
	return ddp_decode(b.p, ulpdu_len, h);
}

/* Decodes and checks as the receive path does. */
static void expect_control_of(struct kunit *test, bool extensions,
			      struct bytes b, u32 ulpdu_len,
			      const struct ddp_want *want)
{
	struct ddp_fault f = unlike(want);
	struct ddp_hdr h;
	bool whole = !decode(b, ulpdu_len, &h);

	expect_result(test, ddp_check_control(&h, whole, RDMAP_VERSION,
					      extensions, &f), &f, want);
}

/* On a stream without extensions. */
static void expect_control(struct kunit *test, struct bytes b, u32 ulpdu_len,
			   const struct ddp_want *want)
{
	expect_control_of(test, false, b, ulpdu_len, want);
}

VEC_PARAM(wire, ddp_wire_cases);
VEC_PARAM(read, ddp_read_cases);
VEC_PARAM(fpdu, ddp_fpdu_cases);
VEC_PARAM(control, ddp_control_cases);
VEC_PARAM(extension, ddp_extension_cases);
VEC_PARAM(imm, ddp_imm_cases);
VEC_PARAM(atomic, ddp_atomic_cases);
VEC_PARAM(result, ddp_result_cases);
VEC_PARAM(atomic_check, ddp_atomic_check_cases);
VEC_PARAM(atomic_response, ddp_atomic_response_cases);
VEC_PARAM(flip, ddp_flip_cases);
VEC_PARAM(untagged, ddp_untagged_cases);
VEC_PARAM(region, ddp_region_cases);
VEC_PARAM(right, ddp_right_cases);
VEC_PARAM(invalidate, ddp_invalidate_cases);
VEC_PARAM(response, ddp_response_cases);
VEC_PARAM(terminate, ddp_terminate_cases);

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
	struct ddp_hdr h;

	KUNIT_EXPECT_EQ(test, 0, decode(unhex(test, c->bytes), c->ulpdu_len,
					&h));
	expect_hdr(test, &h, &c->want);
}

static void header_build(struct kunit *test)
{
	const struct ddp_wire_case *c = test->param_value;
	struct bytes want = unhex(test, c->bytes);
	struct bytes got = alloc_bytes(test, want.n);
	const struct ddp_hdr *h = &c->want;

	if (h->tagged)
		got.n = ddp_build_tagged(got.p, h->ddp_version, h->opcode,
					 h->last, h->stag, h->to);
	else
		got.n = ddp_build_untagged(got.p, h->ddp_version, h->opcode,
					   h->last, h->stag, h->qn, h->msn,
					   h->mo);
	expect_same(test, got, want);
}

/* Each first byte, and each length around that of the header. */
static void header_truncated(struct kunit *test)
{
	static const struct ddp_want refused = WANT_NO_HEADER(2, 0, 3);
	struct ddp_hdr h;
	u32 ctrl, len;

	for (ctrl = 0; ctrl <= 0xff; ctrl++) {
		bool tagged = ctrl & 0x80;
		u32 need = tagged ? 14 : 18;

		KUNIT_EXPECT_EQ(test, ddp_hdr_len(ctrl), need);
		for (len = 0; len <= 20; len++) {
			const struct ddp_hdr zero = { .tagged = len && tagged };
			struct bytes b = alloc_bytes(test, min(len, need));

			if (len)
				b.p[0] = ctrl;
			if (len < need) {
				KUNIT_EXPECT_EQ(test, -EMSGSIZE,
						decode(b, len, &h));
				expect_hdr(test, &h, &zero);
				expect_control(test, b, len, &refused);
			} else {
				KUNIT_EXPECT_EQ(test, 0, decode(b, len, &h));
				KUNIT_EXPECT_EQ(test, h.hdr_len, need);
				KUNIT_EXPECT_EQ(test, h.payload_len,
						len - need);
			}
			free_bytes(test, b);
		}
	}
}

/* A segment continues another one if only the offset differs, as it should. */
static void header_continues(struct kunit *test)
{
	/* Also sums that wrap an MO or a TO, or carry into the upper half of a TO. */
	static const u64 offsets[] = { 0xfffe, 0xfffffffe, ~0ULL };
	u32 kind, bit, len;

	for (kind = 0; kind < 4 * ARRAY_SIZE(offsets); kind++) {
		bool last = kind & 1, tagged = kind & 2;
		u64 offset = offsets[kind / 4];
		struct bytes one, next;
		u8 hdr[DDP_UNTAGGED_LEN];

		if (tagged)
			len = ddp_build_tagged(hdr, 1, RDMAP_WRITE, last, 7,
					       offset);
		else
			len = ddp_build_untagged(hdr, 1, RDMAP_SEND, last, 0,
						 DDP_QN_SEND, 9, offset);
		one = copy_bytes(test, hdr, len);
		next = copy_bytes(test, hdr, len);
		if (tagged)
			put_unaligned_be64(offset + 1428, next.p + 6);
		else
			put_unaligned_be32(offset + 1428, next.p + 14);
		KUNIT_EXPECT_EQ(test, !last, ddp_continues(one.p, next.p, 1428));
		KUNIT_EXPECT_FALSE(test, ddp_continues(one.p, next.p, 1427));
		KUNIT_EXPECT_FALSE(test, ddp_continues(one.p, next.p, 1429));
		for (bit = 0; bit < 8 * len; bit++) {
			next.p[bit / 8] ^= 1 << bit % 8;
			KUNIT_EXPECT_FALSE(test, ddp_continues(one.p, next.p,
							       1428));
			next.p[bit / 8] ^= 1 << bit % 8;
		}
	}
}

static void header_read_request(struct kunit *test)
{
	const struct ddp_read_case *c = test->param_value;
	struct bytes bytes = unhex(test, c->bytes);
	struct bytes got = alloc_bytes(test, 28);
	struct rdmap_read rd;

	memset(&rd, 0xee, sizeof(rd));
	rdmap_read_decode(bytes.p, &rd);
	KUNIT_EXPECT_EQ(test, rd.sink_stag, c->want.sink_stag);
	KUNIT_EXPECT_EQ(test, rd.sink_to, c->want.sink_to);
	KUNIT_EXPECT_EQ(test, rd.size, c->want.size);
	KUNIT_EXPECT_EQ(test, rd.src_stag, c->want.src_stag);
	KUNIT_EXPECT_EQ(test, rd.src_to, c->want.src_to);

	got.n = rdmap_read_build(got.p, &c->want);
	expect_same(test, got, bytes);
}

static void header_immediate(struct kunit *test)
{
	const struct ddp_imm_case *c = test->param_value;
	struct bytes want = unhex(test, c->bytes);
	struct bytes got = alloc_bytes(test, 8);
	__be32 imm;

	memcpy(&imm, want.p, sizeof(imm));
	if (!c->sloppy) {
		memset(got.p, 0xee, got.n);
		KUNIT_EXPECT_EQ(test, rdmap_imm_build(got.p, imm), 8);
		expect_same(test, got, want);
	}
	KUNIT_EXPECT_EQ(test, rdmap_imm_decode(want.p), imm);
}

/* atomic.c */

static void atomic_request(struct kunit *test)
{
	const struct ddp_atomic_case *c = test->param_value;
	struct bytes bytes = unhex(test, c->bytes);
	struct bytes got = alloc_bytes(test, 52);
	struct rdmap_atomic a;

	memset(&a, 0xee, sizeof(a));
	rdmap_atomic_decode(bytes.p, &a);
	KUNIT_EXPECT_EQ(test, a.op, c->want.op);
	KUNIT_EXPECT_EQ(test, a.id, c->want.id);
	KUNIT_EXPECT_EQ(test, a.stag, c->want.stag);
	KUNIT_EXPECT_EQ(test, a.to, c->want.to);
	KUNIT_EXPECT_EQ(test, a.data, c->want.data);
	KUNIT_EXPECT_EQ(test, a.mask, c->want.mask);
	KUNIT_EXPECT_EQ(test, a.compare, c->want.compare);
	KUNIT_EXPECT_EQ(test, a.compare_mask, c->want.compare_mask);

	memset(got.p, 0xee, got.n);
	KUNIT_EXPECT_EQ(test, rdmap_atomic_build(got.p, &c->want), 52);
	expect_same(test, got, bytes);
	/* The reserved bits are ignored. */
	memset(bytes.p, 0xff, 3);
	bytes.p[3] |= 0xf0;
	rdmap_atomic_decode(bytes.p, &a);
	KUNIT_EXPECT_EQ(test, a.op, c->want.op);
}

static void atomic_response(struct kunit *test)
{
	struct bytes want = unhex(test, "01020304 1112131415161718");
	struct bytes got = alloc_bytes(test, 12);
	u64 value;
	u32 id;

	KUNIT_EXPECT_EQ(test, rdmap_atomic_response_build(got.p, 0x01020304,
							  0x1112131415161718ULL),
			12);
	expect_same(test, got, want);
	rdmap_atomic_response_decode(want.p, &id, &value);
	KUNIT_EXPECT_EQ(test, id, 0x01020304);
	KUNIT_EXPECT_EQ(test, value, 0x1112131415161718ULL);
}

static void atomic_result(struct kunit *test)
{
	const struct ddp_result_case *c = test->param_value;
	const struct rdmap_atomic a = {
		.op = c->op, .data = c->data, .mask = c->mask,
		.compare = c->compare, .compare_mask = c->compare_mask,
	};

	KUNIT_EXPECT_EQ(test, rdmap_atomic_result(&a, c->old), c->want);
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

/* RTR frames and the example of RFC 5044; none needs a pad. */
static void header_reference_fpdu(struct kunit *test)
{
	static const struct ddp_want good = WANT_OK;
	const struct ddp_fpdu_case *c = test->param_value;
	struct bytes want = unhex(test, c->fpdu);
	struct bytes fpdu = alloc_bytes(test, want.n);
	struct bytes ulpdu = { fpdu.p + 2, 0 };

	ulpdu.n = build_reference_ulpdu(c->kind, ulpdu.p);
	KUNIT_ASSERT_EQ(test, 2 + ulpdu.n + 4, want.n);
	put_unaligned_be16(ulpdu.n, fpdu.p);
	put_unaligned_le32(~crc32c(~0, fpdu.p, 2 + ulpdu.n),
			   ulpdu.p + ulpdu.n);
	expect_same(test, fpdu, want);
	expect_control(test, ulpdu, ulpdu.n, &good);
}

/* check.c */

static void check_control(struct kunit *test)
{
	const struct ddp_control_case *c = test->param_value;

	expect_control(test, unhex(test, c->bytes), c->ulpdu_len, &c->want);
}

/* Without extensions each of them is unexpected, whatever else is wrong. */
static void check_extension(struct kunit *test)
{
	static const struct ddp_want unexpected = WANT_OP;
	const struct ddp_control_case *c = test->param_value;

	expect_control_of(test, true, unhex(test, c->bytes), c->ulpdu_len,
			  &c->want);
	expect_control_of(test, false, unhex(test, c->bytes), c->ulpdu_len,
			  &unexpected);
}

static void check_control_bits(struct kunit *test)
{
	static const struct ddp_want good = WANT_OK;
	const struct ddp_flip_case *c = test->param_value;
	struct bytes header = unhex(test, c->bytes);
	/* Payload follows, which another T bit makes header. */
	struct bytes b = alloc_bytes(test, DDP_HDR_MAX);
	u32 bit;

	memset(b.p, 0, b.n);
	memcpy(b.p, header.p, header.n);
	expect_control(test, b, c->ulpdu_len, &good);
	for (bit = 0; bit < ARRAY_SIZE(c->want); bit++) {
		u8 mask = 0x80 >> bit % 8;

		b.p[bit / 8] ^= mask;
		expect_control(test, b, c->ulpdu_len, &c->want[bit]);
		b.p[bit / 8] ^= mask;
	}
}

/* Returns in how many places the opcode is allowed. */
static u32 expect_opcode(struct kunit *test, bool extensions, u8 opcode,
			 const struct ddp_opcode_case *c)
{
	struct bytes tagged = alloc_bytes(test, 14);
	struct bytes b = alloc_bytes(test, 18);
	u32 i, nr_good = c->tagged.ok;

	ddp_build_tagged(tagged.p, 1, opcode, true, 0xdead, 0xbeef);
	expect_control_of(test, extensions, tagged, 14 + c->payload, &c->tagged);
	for (i = 0; i < ARRAY_SIZE(ddp_queue_numbers); i++) {
		ddp_build_untagged(b.p, 1, opcode, true, 0,
				   ddp_queue_numbers[i], 1, 0);
		expect_control_of(test, extensions, b, 18 + c->payload,
				  &c->untagged[i]);
		nr_good += c->untagged[i].ok;
	}
	return nr_good;
}

static void check_control_opcodes(struct kunit *test)
{
	u32 opcode, plain = 0, extended = 0;

	BUILD_BUG_ON(ARRAY_SIZE(ddp_queue_numbers) !=
		     ARRAY_SIZE(ddp_opcode_cases->untagged));
	for (opcode = 0; opcode < ARRAY_SIZE(ddp_opcode_cases); opcode++) {
		plain += expect_opcode(test, false, opcode,
				       &ddp_opcode_cases[opcode]);
		extended += expect_opcode(test, true, opcode,
					  &ddp_extension_opcodes[opcode]);
	}
	/* Each of them in one place */
	KUNIT_EXPECT_EQ(test, plain, 8);
	KUNIT_EXPECT_EQ(test, extended, 12);
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
	const struct rdmap_read rd = { 1, 2, c->len, 7, c->to };
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

static void check_atomic(struct kunit *test)
{
	const struct ddp_atomic_check_case *c = test->param_value;
	const struct rdmap_atomic a = { .op = c->op, .to = c->to };
	struct ddp_fault f = unlike(&c->want);

	expect_result(test, rdmap_check_atomic(&a, &c->r, &f), &f, &c->want);
}

static void check_atomic_right(struct kunit *test)
{
	static const struct ddp_want good = WANT_OK, refused = WANT(0, 1, 2);
	struct ddp_fault f = unlike(&refused);

	expect_result(test, rdmap_check_atomic_right(true, &f), &f, &good);
	expect_result(test, rdmap_check_atomic_right(false, &f), &f, &refused);
}

static void check_atomic_response(struct kunit *test)
{
	const struct ddp_atomic_response_case *c = test->param_value;
	const struct ddp_hdr h = { .last = true, .opcode = 11, .qn = 3,
				   .msn = c->msn };
	struct ddp_fault f = unlike(&c->want);

	expect_result(test, rdmap_check_atomic_response(&h, &c->v, c->id, &f),
		      &f, &c->want);
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
	struct bytes got = alloc_bytes(test, RDMAP_TERM_ULPDU_MAX);
	struct bytes seg = {};

	if (c->seg)
		seg = unhex(test, c->seg);
	got.n = rdmap_terminate_build(got.p, 1, &c->fault, seg.p, seg.n,
				      c->seg_len);
	expect_same(test, got, unhex(test, c->want));
}

static void terminate_parse(struct kunit *test)
{
	static const u8 start[] = { 0x5a, 0xa7, 0, 0, 0x12, 0x34, 0 };
	const struct ddp_parse_case *c = test->param_value;
	struct bytes all = alloc_bytes(test, 80);
	u32 len;

	memset(all.p, 0xff, all.n);
	memcpy(all.p, start, sizeof(start));
	all.p[2] = c->flags;
	all.p[6] = c->ctrl;
	for (len = 0; len <= all.n; len++) {
		struct bytes part = copy_bytes(test, all.p, len);
		bool good = c->need && len >= c->need;
		struct rdmap_terminate t;

		memset(&t, 0xee, sizeof(t));
		KUNIT_EXPECT_EQ_MSG(test, good ? 0 : -EPROTO,
				    rdmap_terminate_parse(part.p, len, &t),
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
	KUNIT_EXPECT_STRNEQ(test, unknown, "");
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
	for (i = 0; i <= 0xff; i++)
		KUNIT_EXPECT_STREQ(test, rdmap_error_text(0, 0, i),
				   rdmap_error_text(0, 0, 0));
}

static struct kunit_case ddp_cases[] = {
	KUNIT_CASE_PARAM(header_decode, wire_gen_params),
	KUNIT_CASE_PARAM(header_build, wire_gen_params),
	KUNIT_CASE(header_truncated),
	KUNIT_CASE(header_continues),
	KUNIT_CASE_PARAM(header_read_request, read_gen_params),
	KUNIT_CASE_PARAM(header_immediate, imm_gen_params),
	KUNIT_CASE_PARAM(atomic_request, atomic_gen_params),
	KUNIT_CASE(atomic_response),
	KUNIT_CASE_PARAM(atomic_result, result_gen_params),
	KUNIT_CASE_PARAM(header_reference_fpdu, fpdu_gen_params),
	KUNIT_CASE_PARAM(check_control, control_gen_params),
	KUNIT_CASE_PARAM(check_extension, extension_gen_params),
	KUNIT_CASE_PARAM(check_control_bits, flip_gen_params),
	KUNIT_CASE(check_control_opcodes),
	KUNIT_CASE_PARAM(check_untagged, untagged_gen_params),
	KUNIT_CASE_PARAM(check_tagged, region_gen_params),
	KUNIT_CASE_PARAM(check_read, region_gen_params),
	KUNIT_CASE_PARAM(check_right, right_gen_params),
	KUNIT_CASE_PARAM(check_invalidate, invalidate_gen_params),
	KUNIT_CASE_PARAM(check_response, response_gen_params),
	KUNIT_CASE_PARAM(check_atomic, atomic_check_gen_params),
	KUNIT_CASE(check_atomic_right),
	KUNIT_CASE_PARAM(check_atomic_response, atomic_response_gen_params),
	KUNIT_CASE(check_faults_of_other_layers),
	KUNIT_CASE_PARAM(terminate_build, terminate_gen_params),
	KUNIT_CASE_PARAM(terminate_parse, parse_gen_params),
	KUNIT_CASE(terminate_texts),
	{}
};

static struct kunit_suite ddp_suite = {
	.name = "mpa_ddp",
	.test_cases = ddp_cases,
};

kunit_test_suite(ddp_suite);
