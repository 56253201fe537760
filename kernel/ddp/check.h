/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The receive checks of RFC 5041 section 7 and RFC 5040 section 7, as pure
 * functions: from a header and the state of the caller they determine the fault
 * to be reported, if any. The first failed check decides; the order is that of
 * the lists in the RFCs.
 */
#ifndef MPA_DDP_CHECK_H
#define MPA_DDP_CHECK_H

#include <linux/types.h>

#include "header.h"

struct rdmap_atomic;

/**
 * struct ddp_fault - an error as a Terminate reports it (RFC 5040 section 4.8)
 * @layer: enum rdmap_layer
 * @etype: error type of the layer: enum rdmap_error_type, ddp_error_type or
 *	llp_error_type
 * @code: error code of the type: enum rdmap_error_code, ddp_tagged_error_code,
 *	ddp_untagged_error_code or llp_error_code
 * @with_hdr: the Terminate carries segment length and DDP header (M and D)
 * @with_rdmap: the Terminate also carries the RDMAP header of a Read Request
 *	(R)
 */
struct ddp_fault {
	u8 layer;
	u8 etype;
	u8 code;
	bool with_hdr;
	bool with_rdmap;
};

/**
 * struct ddp_queue_view - state of an untagged queue for a check
 * @msn: MSN of the message that is expected or in progress
 * @mo: bytes of it received so far
 * @opcode: opcode of its first segment; valid if @mo_open
 * @mo_open: a segment of it has been received
 * @buffer: a buffer is available for it
 * @buffer_len: bytes the buffer can hold
 */
struct ddp_queue_view {
	u32 msn;
	u32 mo;
	u8 opcode;
	bool mo_open;
	bool buffer;
	u64 buffer_len;
};

/**
 * struct ddp_region_view - state of an STag for a check
 * @found: the STag identifies a valid region, including its key
 * @same_pd: the region belongs to the protection domain of the stream
 * @allowed: the region grants the access that is checked
 * @base: first tagged offset of the region
 * @len: bytes of the region
 */
struct ddp_region_view {
	bool found;
	bool same_pd;
	bool allowed;
	u64 base;
	u64 len;
};

/* All return true if the segment passes; else false, and @f is set. */
bool ddp_check_control(const struct ddp_hdr *h, bool whole, u8 version,
		       bool extensions, struct ddp_fault *f);
bool ddp_check_untagged(const struct ddp_hdr *h,
			const struct ddp_queue_view *q, struct ddp_fault *f);
bool ddp_check_tagged(const struct ddp_hdr *h,
		      const struct ddp_region_view *r, struct ddp_fault *f);
bool rdmap_check_read(const struct rdmap_read *rd,
		      const struct ddp_region_view *r, struct ddp_fault *f);
bool rdmap_check_atomic(const struct rdmap_atomic *a,
			const struct ddp_region_view *r, struct ddp_fault *f);
bool rdmap_check_atomic_right(bool right, struct ddp_fault *f);
bool rdmap_check_right(bool read, u32 len, bool right, struct ddp_fault *f);
bool rdmap_check_invalidate(const struct ddp_region_view *r,
			    struct ddp_fault *f);

/**
 * struct ddp_read_view - the outstanding Read that a response must match
 * @outstanding: a Read is outstanding
 * @stag: its sink STag
 * @to: tagged offset of its next byte
 * @left: bytes still to be received
 */
struct ddp_read_view {
	bool outstanding;
	u32 stag;
	u64 to;
	u32 left;
};

bool rdmap_check_response(const struct ddp_hdr *h,
			  const struct ddp_read_view *v, struct ddp_fault *f);

/**
 * struct ddp_atomic_view - the request that an Atomic Response must match
 * @outstanding: the oldest outstanding request is atomic
 * @msn: MSN of the next response
 * @id: identifier of the request
 */
struct ddp_atomic_view {
	bool outstanding;
	u32 msn;
	u32 id;
};

bool rdmap_check_atomic_response(const struct ddp_hdr *h,
				 const struct ddp_atomic_view *v, u32 id,
				 struct ddp_fault *f);

/* Faults found by other code, for rdmap_terminate_build(). */
extern const struct ddp_fault ddp_fault_crc;		/* 2/0/02 */
extern const struct ddp_fault ddp_fault_marker;		/* 2/0/03 */
extern const struct ddp_fault ddp_fault_mpa_local;	/* 2/0/05 */
extern const struct ddp_fault ddp_fault_ird;		/* 2/0/06 */
extern const struct ddp_fault ddp_fault_rtr;		/* 2/0/07 */
extern const struct ddp_fault ddp_fault_local;		/* 0/0/00 */
extern const struct ddp_fault ddp_fault_stream;		/* 0/2/07 */

#endif /* MPA_DDP_CHECK_H */
