/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* ring.h: free-running indices, and what may be read and written. */
#include "fake_kernel.hpp"

#include <chrono>
#include <thread>

namespace {

/* A ring with its own memory. */
struct TestRing {
	explicit TestRing(std::uint32_t entries, std::uint32_t stride = 8)
		: memory((MPA_RING_HDR_LEN + entries * stride) / 8)
	{
		ring.hdr = reinterpret_cast<mpa_ring_hdr *>(memory.data());
		ring.slots = reinterpret_cast<std::uint8_t *>(memory.data()) +
			     MPA_RING_HDR_LEN;
		ring.entries = entries;
		ring.stride = stride;
	}

	std::vector<std::uint64_t> memory;
	mpa_ring ring{};
};

struct RoomRow {
	std::uint32_t entries, prod, cons, want;
};

class Room : public testing::TestWithParam<RoomRow> {};

TEST_P(Room, is_what_the_consumer_left)
{
	const auto &row = GetParam();
	TestRing t(row.entries);

	t.ring.hdr->cons = row.cons;
	EXPECT_EQ(mpa_ring_room(&t.ring, row.prod), row.want);
}

INSTANTIATE_TEST_SUITE_P(
	table, Room,
	testing::Values(RoomRow{ 4, 0, 0, 4 }, RoomRow{ 4, 1, 0, 3 },
			RoomRow{ 4, 3, 0, 1 }, RoomRow{ 4, 4, 0, 0 },
			RoomRow{ 4, 4, 4, 4 }, RoomRow{ 1, 0, 0, 1 },
			RoomRow{ 1, 1, 0, 0 },
			/* Across the wrap of the index. */
			RoomRow{ 4, 0, 0xffffffff, 3 },
			RoomRow{ 4, 0, 0xfffffffc, 0 },
			RoomRow{ 4, 2, 0xfffffffe, 0 },
			RoomRow{ 4, 1, 0xfffffffe, 1 },
			RoomRow{ 4, 0xffffffff, 0xffffffff, 4 },
			/* Indices that are invalid. */
			RoomRow{ 4, 0, 1, 0 }, RoomRow{ 4, 5, 0, 0 },
			RoomRow{ 4, 100, 0, 0 },
			RoomRow{ 4, 0, 0x80000000, 0 }));

TEST(mpa_ring_room, none_without_entries)
{
	mpa_ring ring{};

	EXPECT_EQ(mpa_ring_room(&ring, 0), 0u);
	EXPECT_EQ(mpa_ring_room(&ring, 7), 0u);
}

struct ReadyRow {
	std::uint32_t entries, prod, cons;
	std::int64_t want;
};

class Ready : public testing::TestWithParam<ReadyRow> {};

TEST_P(Ready, is_what_the_producer_published)
{
	const auto &row = GetParam();
	TestRing t(row.entries);

	t.ring.hdr->prod = row.prod;
	EXPECT_EQ(mpa_ring_ready(&t.ring, row.cons), row.want);
}

INSTANTIATE_TEST_SUITE_P(
	table, Ready,
	testing::Values(ReadyRow{ 4, 0, 0, 0 }, ReadyRow{ 4, 1, 0, 1 },
			ReadyRow{ 4, 4, 0, 4 }, ReadyRow{ 4, 9, 9, 0 },
			ReadyRow{ 4, 0, 0xffffffff, 1 },
			ReadyRow{ 4, 2, 0xfffffffe, 4 },
			ReadyRow{ 4, 5, 0, -1 }, ReadyRow{ 4, 0, 1, -1 },
			ReadyRow{ 4, 0, 0x12345678, -1 }));

TEST(mpa_ring_slot, wraps_with_the_numbers)
{
	TestRing t(4, 32);

	for (std::uint32_t i = 0xfffffff0; i != 0x10; i++)
		EXPECT_EQ(mpa_ring_slot(&t.ring, i),
			  t.ring.slots + 32 * (i % 4));
	EXPECT_EQ(mpa_ring_slot(&t.ring, 0xffffffff), t.ring.slots + 96);
	EXPECT_EQ(mpa_ring_slot(&t.ring, 0), t.ring.slots);
}

struct FitsRow {
	std::uint32_t entries, stride, least, len;
	bool want;
};

class Fits : public testing::TestWithParam<FitsRow> {};

TEST_P(Fits, sound_geometries_only)
{
	const auto &row = GetParam();

	EXPECT_EQ(mpa_ring_fits(row.entries, row.stride, row.least, row.len),
		  row.want);
}

INSTANTIATE_TEST_SUITE_P(
	table, Fits,
	testing::Values(FitsRow{ 4, 32, 32, 256, true },
			FitsRow{ 4, 32, 32, 255, false },
			FitsRow{ 3, 32, 32, 4096, false },
			FitsRow{ 4, 24, 32, 4096, false },
			FitsRow{ 4, 36, 32, 4096, false },
			FitsRow{ 1, 8, 8, 136, true },
			/* A product beyond 32 bits. */
			FitsRow{ 0x80000000, 64, 32, 4096, false },
			FitsRow{ 0x10000000, 16, 16, 128, false }));

struct ArmRow {
	std::uint32_t before, want, after;
};

class Arm : public testing::TestWithParam<ArmRow> {};

TEST_P(Arm, the_stronger_request_stays)
{
	const auto &row = GetParam();
	TestRing t(4);

	t.ring.hdr->arm = row.before;
	mpa_ring_arm(t.ring.hdr, row.want);
	EXPECT_EQ(t.ring.hdr->arm, row.after);
}

INSTANTIATE_TEST_SUITE_P(
	table, Arm,
	testing::Values(
		ArmRow{ MPA_ARM_NONE, MPA_ARM_SOLICITED, MPA_ARM_SOLICITED },
		ArmRow{ MPA_ARM_NONE, MPA_ARM_NEXT, MPA_ARM_NEXT },
		ArmRow{ MPA_ARM_SOLICITED, MPA_ARM_SOLICITED,
			MPA_ARM_SOLICITED },
		ArmRow{ MPA_ARM_SOLICITED, MPA_ARM_NEXT, MPA_ARM_NEXT },
		ArmRow{ MPA_ARM_NEXT, MPA_ARM_SOLICITED, MPA_ARM_NEXT },
		ArmRow{ MPA_ARM_NEXT, MPA_ARM_NEXT, MPA_ARM_NEXT }));

TEST(mpa_ring, carries_everything_across_the_wrap)
{
	constexpr std::uint32_t first = 0xfffff000, count = 100000;
	TestRing t(8);

	t.ring.hdr->prod = first;
	t.ring.hdr->cons = first;
	std::thread producer([&] {
		for (std::uint32_t i = 0; i < count;) {
			if (!mpa_ring_room(&t.ring, first + i)) {
				std::this_thread::yield();
				continue;
			}
			*static_cast<std::uint64_t *>(
				mpa_ring_slot(&t.ring, first + i)) = i;
			mpa_ring_produce(&t.ring, first + ++i);
		}
	});

	std::uint32_t wrong = 0;
	for (std::uint32_t i = 0; i < count;) {
		std::int64_t ready = mpa_ring_ready(&t.ring, first + i);

		if (ready <= 0) {
			wrong += ready < 0;
			std::this_thread::yield();
			continue;
		}
		wrong += *static_cast<std::uint64_t *>(
				 mpa_ring_slot(&t.ring, first + i)) != i;
		mpa_ring_consume(&t.ring, first + ++i);
	}
	producer.join();
	EXPECT_EQ(wrong, 0u);
	EXPECT_EQ(t.ring.hdr->prod, first + count);
	EXPECT_EQ(t.ring.hdr->cons, first + count);
}

/*
 * The promise behind ibv_req_notify_cq(): arm, look once more, sleep. A
 * producer that publishes, has a full barrier, and takes the request wakes
 * every consumer that found nothing.
 */
TEST(mpa_ring_arm, no_completion_is_slept_over)
{
	constexpr std::uint32_t count = 20000;
	TestRing t(4);
	std::uint32_t events = 0;	/* atomic */

	std::thread kernel([&] {
		for (std::uint32_t i = 0; i < count;) {
			if (!mpa_ring_room(&t.ring, i)) {
				std::this_thread::yield();
				continue;
			}
			mpa_ring_produce(&t.ring, ++i);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			if (__atomic_load_n(&t.ring.hdr->arm,
					    __ATOMIC_RELAXED) == MPA_ARM_NEXT) {
				__atomic_exchange_n(&t.ring.hdr->arm,
						    MPA_ARM_NONE,
						    __ATOMIC_SEQ_CST);
				__atomic_add_fetch(&events, 1,
						   __ATOMIC_RELEASE);
			}
		}
	});

	std::uint32_t seen = 0, cons = 0;
	bool stuck = false;
	while (cons != count && !stuck) {
		mpa_ring_arm(t.ring.hdr, MPA_ARM_NEXT);
		std::int64_t ready = mpa_ring_ready(&t.ring, cons);

		if (ready > 0) {
			cons += static_cast<std::uint32_t>(ready);
			mpa_ring_consume(&t.ring, cons);
			continue;
		}
		auto deadline = std::chrono::steady_clock::now() +
				std::chrono::seconds(20);
		while (__atomic_load_n(&events, __ATOMIC_ACQUIRE) == seen &&
		       !stuck) {
			std::this_thread::yield();
			stuck = std::chrono::steady_clock::now() > deadline;
		}
		seen = __atomic_load_n(&events, __ATOMIC_ACQUIRE);
	}
	if (stuck)	/* lets the producer end */
		while (cons != count)
			mpa_ring_consume(&t.ring,
					 cons = t.ring.hdr->prod);
	kernel.join();
	EXPECT_FALSE(stuck);
}

TEST(mpa_ring_armed, sees_what_the_kernel_asked_for)
{
	TestRing t(4);

	EXPECT_FALSE(mpa_ring_armed(&t.ring));
	t.ring.hdr->arm = MPA_ARM_NEXT;
	EXPECT_TRUE(mpa_ring_armed(&t.ring));
}

} // namespace
