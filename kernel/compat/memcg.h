/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory cgroups: charging memory that work items and softirqs allocate for a
 * consumer to the consumer's cgroup.
 */
#ifndef MPA_COMPAT_MEMCG_H
#define MPA_COMPAT_MEMCG_H

#include <linux/cgroup.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <net/sock.h>
#include <net/tcp.h>

/**
 * mpa_memcg_get - get the memory cgroup that is charged at present
 *
 * Process context. It is that of set_active_memcg(), or else that of the
 * process.
 *
 * Return: the cgroup with a reference for mem_cgroup_put(); NULL without memory
 * cgroups.
 */
static inline struct mem_cgroup *mpa_memcg_get(void)
{
	return get_mem_cgroup_from_mm(NULL);
}

#ifdef CONFIG_MEMCG
#ifndef MPA_HAVE_MEMCG_V1_OPTION
/* Before 6.11 the first version of memory cgroups was not an option. */
#define CONFIG_MEMCG_V1	1
#endif

/* The memory of sockets is charged to @memcg, as in mem_cgroup_sk_alloc(). */
static inline bool mpa_memcg_has_sockets(const struct mem_cgroup *memcg)
{
	/* The root cgroup is never charged. */
	if (!mem_cgroup_sockets_enabled || !memcg || !memcg->css.parent)
		return false;
	if (cgroup_subsys_on_dfl(memory_cgrp_subsys))
		return true;
#ifdef CONFIG_MEMCG_V1
	return memcg->tcpmem_active;
#else
	return false;
#endif
}

/* TCP's own limits do not count the memory of the socket: net.core.bypass_prot_mem. */
static inline bool mpa_sk_bypasses_limits(const struct sock *sk)
{
#ifdef MPA_HAVE_BYPASS_PROT_MEM
	return sk->sk_bypass_prot_mem;
#else
	return false;
#endif
}

/*
 * Charges @pages of the memory that the socket holds. TCP has already counted
 * them and counts them again when it charges them, which is undone here.
 */
static inline bool mpa_sk_charge_pages(struct sock *sk, int pages)
{
	int bytes = pages << PAGE_SHIFT;

	if (!pages)
		return true;
	if (!__sk_mem_schedule(sk, bytes, SK_MEM_RECV))
		return false;
	sk->sk_forward_alloc -= bytes;
	/* Then it has not counted them. */
	if (mpa_sk_bypasses_limits(sk))
		return true;
	/* sk_memory_allocated_sub() uses a symbol that is not exported. */
	atomic_long_sub(pages, sk->sk_prot->memory_allocated);
	return true;
}

static inline bool mpa_sk_join_memcg(struct sock *sk, struct mem_cgroup *memcg)
{
	int bytes = sk->sk_forward_alloc + sk->sk_wmem_queued +
		    atomic_read(&sk->sk_rmem_alloc);

	css_get(&memcg->css);
	sk->sk_memcg = memcg;
	if (mpa_sk_charge_pages(sk, sk_mem_pages(bytes)))
		return true;
	sk->sk_memcg = NULL;
	css_put(&memcg->css);
	return false;
}

/**
 * mpa_sk_set_memcg - charge a socket's memory to a memory cgroup
 * @sk: TCP socket that a work item has created or accepted, for which TCP uses
 *	the cgroup of the work item; a socket that is already charged does not
 *	change
 * @memcg: the memory cgroup, or NULL
 *
 * Process context; takes the socket lock.
 *
 * Return: 0, also if nothing is to be charged; -ENOMEM: @memcg has no room for
 * the memory that the socket holds.
 */
static inline int mpa_sk_set_memcg(struct sock *sk, struct mem_cgroup *memcg)
{
	bool joined = true;

	if (!mpa_memcg_has_sockets(memcg))
		return 0;
	lock_sock(sk);
	if (!sk->sk_memcg)
		joined = mpa_sk_join_memcg(sk, memcg);
	release_sock(sk);
	return joined ? 0 : -ENOMEM;
}
#else
static inline int mpa_sk_set_memcg(struct sock *sk, struct mem_cgroup *memcg)
{
	return 0;
}
#endif

#endif /* MPA_COMPAT_MEMCG_H */
