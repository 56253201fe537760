// SPDX-License-Identifier: GPL-2.0-only
/* Counters, for `rdma statistic` and for netlink. */
#include "device.h"
#include "stats.h"

static const struct rdma_stat_desc rnic_stats_descs[] = {
	[RNIC_CNT_TX_SEND]		= { .name = "tx_send" },
	[RNIC_CNT_TX_WRITE]		= { .name = "tx_write" },
	[RNIC_CNT_TX_IMM]		= { .name = "tx_imm" },
	[RNIC_CNT_TX_READ_REQ]		= { .name = "tx_read_req" },
	[RNIC_CNT_TX_READ_RESP]		= { .name = "tx_read_resp" },
	[RNIC_CNT_TX_READ_RESP_AT_ONCE]	= { .name = "tx_read_resp_at_once" },
	[RNIC_CNT_TX_ATOMIC_REQ]	= { .name = "tx_atomic_req" },
	[RNIC_CNT_TX_ATOMIC_RESP]	= { .name = "tx_atomic_resp" },
	[RNIC_CNT_TX_SEGMENTS]		= { .name = "tx_segments" },
	[RNIC_CNT_TX_BYTES]		= { .name = "tx_bytes" },
	[RNIC_CNT_TX_BATCHES]		= { .name = "tx_batches" },
	[RNIC_CNT_TX_TERMINATE]		= { .name = "tx_terminate" },
	[RNIC_CNT_RX_SEND]		= { .name = "rx_send" },
	[RNIC_CNT_RX_WRITE]		= { .name = "rx_write" },
	[RNIC_CNT_RX_IMM]		= { .name = "rx_imm" },
	[RNIC_CNT_RX_READ_REQ]		= { .name = "rx_read_req" },
	[RNIC_CNT_RX_READ_RESP]		= { .name = "rx_read_resp" },
	[RNIC_CNT_RX_ATOMIC_REQ]	= { .name = "rx_atomic_req" },
	[RNIC_CNT_RX_ATOMIC_RESP]	= { .name = "rx_atomic_resp" },
	[RNIC_CNT_RX_RECEIVE_WAIT]	= { .name = "rx_receive_wait" },
	[RNIC_CNT_RX_RECEIVE_LATE]	= { .name = "rx_receive_late" },
	[RNIC_CNT_RX_EARLY]		= { .name = "rx_early" },
	[RNIC_CNT_RX_EARLY_LEFT]	= { .name = "rx_early_left" },
	[RNIC_CNT_RX_EARLY_USED]	= { .name = "rx_early_used" },
	[RNIC_CNT_RX_EARLY_REDONE]	= { .name = "rx_early_redone" },
	[RNIC_CNT_RX_SEGMENTS]		= { .name = "rx_segments" },
	[RNIC_CNT_RX_BYTES]		= { .name = "rx_bytes" },
	[RNIC_CNT_RX_TERMINATE]		= { .name = "rx_terminate" },
	[RNIC_CNT_RX_CRC_ERROR]		= { .name = "rx_crc_error" },
	[RNIC_CNT_RX_MARKER_ERROR]	= { .name = "rx_marker_error" },
	[RNIC_CNT_RX_LENGTH_ERROR]	= { .name = "rx_length_error" },
	[RNIC_CNT_RX_DDP_ERROR]		= { .name = "rx_ddp_error" },
	[RNIC_CNT_RX_RDMAP_ERROR]	= { .name = "rx_rdmap_error" },
	[RNIC_CNT_CONN_ACTIVE]		= { .name = "conn_active" },
	[RNIC_CNT_CONN_PASSIVE]		= { .name = "conn_passive" },
	[RNIC_CNT_CONN_FALLBACK]	= { .name = "conn_fallback" },
	[RNIC_CNT_CONN_REJECTED]	= { .name = "conn_rejected" },
	[RNIC_CNT_CONN_STARTUP_ERROR]	= { .name = "conn_startup_error" },
	[RNIC_CNT_CONN_HALF_OPEN_DROP]	= { .name = "conn_half_open_drop" },
	[RNIC_CNT_CONN_PLAIN]		= { .name = "conn_plain" },
	[RNIC_CNT_CONN_RESET]		= { .name = "conn_reset" },
	[RNIC_CNT_CONN_QP_DENIED]	= { .name = "conn_qp_denied" },
	[RNIC_CNT_CONN_CLOSE_TIMEOUT]	= { .name = "conn_close_timeout" },
	[RNIC_CNT_CONN_LINGER_DROP]	= { .name = "conn_linger_drop" },
	[RNIC_CNT_CQ_OVERFLOW]		= { .name = "cq_overflow" },
	[RNIC_CNT_USER_LIMIT]		= { .name = "user_limit" },
	[RNIC_CNT_MW_BIND]		= { .name = "mw_bind" },
};

static_assert(ARRAY_SIZE(rnic_stats_descs) == RNIC_CNT_COUNT);

static_assert((int)RNIC_CNT_COUNT <= (int)MPA_COUNTERS_MAX);

/**
 * rnic_stats_alloc() - allocate the counters of the core
 * @ibdev: the device
 * @port: its port, or 0 for the device
 *
 * Return: names of the counters, with memory for values; NULL: no memory.
 */
struct rdma_hw_stats *rnic_stats_alloc(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(rnic_stats_descs, ARRAY_SIZE(rnic_stats_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static u64 rnic_stats_read(const struct rnic_counters *of, enum rnic_counter c)
{
	unsigned int start;
	u64 v;

	do {
		start = u64_stats_fetch_begin(&of->sync);
		v = READ_ONCE(of->v[c]);
	} while (u64_stats_fetch_retry(&of->sync, start));
	return v;
}

/**
 * rnic_stats_sum() - read a counter
 * @cpus: the counters
 * @c: which of them
 *
 * Any context. Return: the sum over all CPUs.
 */
u64 rnic_stats_sum(const struct rnic_counters __percpu *cpus, enum rnic_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += rnic_stats_read(per_cpu_ptr(cpus, cpu), c);
	return sum;
}

/**
 * rnic_stats_new() - allocate counters
 *
 * Return: counters, all zero, for free_percpu(); NULL: no memory.
 */
struct rnic_counters __percpu *rnic_stats_new(void)
{
	struct rnic_counters __percpu *cpus;
	int cpu;

	cpus = alloc_percpu_gfp(struct rnic_counters, GFP_KERNEL_ACCOUNT);
	if (!cpus)
		return NULL;
	for_each_possible_cpu(cpu)
		u64_stats_init(&per_cpu_ptr(cpus, cpu)->sync);
	return cpus;
}

/**
 * rnic_stats_get() - read the counters of a device
 * @ibdev: the device
 * @stats: filled in
 * @port: its port
 * @index: ignored, all are read
 *
 * The core adds those of the queue pairs that are or were bound to a counter.
 *
 * Return: number of counters, or -EINVAL.
 */
int rnic_stats_get(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		   u32 port, int index)
{
	const struct rnic_dev *dev = to_rnic_dev(ibdev);
	int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < RNIC_CNT_COUNT; i++)
		stats->value[i] = rnic_stats_sum(dev->counters, i);
	return RNIC_CNT_COUNT;
}

/* A processor at a time: its counters are together. Under a lock of all users. */
static void stats_view_add(struct mpa_node_view *v,
			   const struct rnic_counters __percpu *cpus)
{
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < RNIC_CNT_COUNT; i++)
			v->counters[i].value +=
				rnic_stats_read(per_cpu_ptr(cpus, cpu), i);
}

/**
 * rnic_stats_view() - copy the counters for netlink
 * @dev: the device
 * @v: names and values are set
 */
void rnic_stats_view(const struct rnic_dev *dev, struct mpa_node_view *v)
{
	int i;

	for (i = 0; i < RNIC_CNT_COUNT; i++) {
		strscpy(v->counters[i].name, rnic_stats_descs[i].name,
			sizeof(v->counters[i].name));
		v->counters[i].value = 0;
	}
	stats_view_add(v, dev->counters);
	stats_view_add(v, dev->bound);
	v->nr_counters = RNIC_CNT_COUNT;
}
