// SPDX-License-Identifier: GPL-2.0-only
/*
 * Doorbells: descriptors by which users have posted requests sent.
 *
 * The POST_SEND command of the core does the same, but copies a command, allocates
 * memory for work requests that it does not have, and looks an object up. A program
 * that sends one message at a time spends more there than in sending it.
 *
 * A doorbell may outlive its context and its queue pairs. Queue pairs are found by an
 * index of the context, under RCU. The core frees a QP without a grace period, so
 * the entry of the table is a structure of its own, which says whether the QP is
 * still there.
 */
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <rdma/mpa-abi.h>

#include "doorbell.h"
#include "qp.h"
#include "tx.h"
#include "ucontext.h"

/**
 * struct rnic_bell - a queue pair in the table of its context
 * @lock: protects @qp
 * @qp: NULL: it is being destroyed
 * @rcu: frees the structure after the last lookup is over
 */
struct rnic_bell {
	spinlock_t lock;		/* protects @qp */
	struct rnic_qp *qp;
	struct rcu_head rcu;
};

/* The table ---------------------------------------------------------------- */

/**
 * rnic_bells_add() - give a queue pair an index for the doorbells of its context
 * @uctx: the context
 * @qp: the QP, being created; its &rnic_qp.bell is set to the index, or to
 *	%MPA_NO_DOORBELL if the context has no doorbell
 *
 * It is found by the index after rnic_bells_publish(). Process context.
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_bells_add(struct rnic_ucontext *uctx, struct rnic_qp *qp)
{
	/* Pairs with cmpxchg() in rnic_bells_get(). */
	struct rnic_bells *bells = smp_load_acquire(&uctx->bells);
	struct rnic_bell *bell;
	int ret;

	qp->bell = MPA_NO_DOORBELL;
	if (!bells)
		return 0;
	bell = kzalloc(sizeof(*bell), GFP_KERNEL_ACCOUNT);
	if (!bell)
		return -ENOMEM;
	spin_lock_init(&bell->lock);
	ret = xa_alloc_irq(&bells->bells, &qp->bell, bell, xa_limit_31b,
			   GFP_KERNEL_ACCOUNT);
	if (ret)
		kfree(bell);
	return ret ? -ENOMEM : 0;
}

static void rnic_bell_set(struct rnic_bell *bell, struct rnic_qp *qp)
{
	spin_lock(&bell->lock);
	bell->qp = qp;
	spin_unlock(&bell->lock);
}

/**
 * rnic_bells_publish() - let a queue pair be found by the doorbells of its context
 * @uctx: the context
 * @qp: the QP, whose creation cannot fail any more
 *
 * Process context.
 */
void rnic_bells_publish(struct rnic_ucontext *uctx, struct rnic_qp *qp)
{
	struct rnic_bell *bell;

	if (qp->bell == MPA_NO_DOORBELL)
		return;
	/* Only the creator of the QP could remove it. */
	bell = xa_load(&uctx->bells->bells, qp->bell);
	if (!WARN_ON_ONCE(!bell))
		rnic_bell_set(bell, qp);
}

/**
 * rnic_bells_remove() - undo rnic_bells_add()
 * @uctx: the context
 * @qp: the QP, being destroyed, with the reference of its consumer, or never
 *	published; from now on no doorbell gets another one
 *
 * Process context.
 */
void rnic_bells_remove(struct rnic_ucontext *uctx, struct rnic_qp *qp)
{
	struct rnic_bell *bell;

	if (qp->bell == MPA_NO_DOORBELL)
		return;
	bell = xa_erase_irq(&uctx->bells->bells, qp->bell);
	if (WARN_ON_ONCE(!bell))
		return;
	rnic_bell_set(bell, NULL);
	kfree_rcu(bell, rcu);
}

/* Returns the QP with a reference, or NULL. */
static struct rnic_qp *rnic_bell_get(struct rnic_bell *bell)
{
	struct rnic_qp *qp;

	spin_lock(&bell->lock);
	qp = bell->qp;
	if (qp)
		rnic_qp_get(qp);
	spin_unlock(&bell->lock);
	return qp;
}

/* Descriptor --------------------------------------------------------------- */

/**
 * rnic_doorbell_open() - make a new descriptor ring the queue pairs of a context
 * @db: the descriptor, zeroed
 * @uctx: the context
 *
 * Process context. Return: 0 or -ENOMEM.
 */
int rnic_doorbell_open(struct rnic_doorbell *db, struct rnic_ucontext *uctx)
{
	struct rnic_bells *bells = rnic_bells_get(uctx);

	if (!bells)
		return -ENOMEM;
	rcu_assign_pointer(db->bells, bells);
	return 0;
}

/**
 * rnic_doorbell_close() - the descriptor is closed, or its context ends
 * @db: the descriptor; may be rung meanwhile, and later
 */
void rnic_doorbell_close(struct rnic_doorbell *db)
{
	struct rnic_bells *bells = unrcu_pointer(xchg(&db->bells, NULL));

	if (bells)
		rnic_bells_put(bells);
}

/* Returns the QP with a reference, or an error. */
static struct rnic_qp *rnic_doorbell_find(const struct rnic_doorbell *db,
					  unsigned long index)
{
	struct rnic_qp *qp = ERR_PTR(-EIO);
	struct rnic_bells *bells;
	struct rnic_bell *bell;

	rcu_read_lock();
	bells = rcu_dereference(db->bells);
	if (bells) {
		bell = xa_load(&bells->bells, index);
		qp = bell ? rnic_bell_get(bell) : NULL;
		qp = qp ?: ERR_PTR(-EINVAL);
	}
	rcu_read_unlock();
	return qp;
}

static long rnic_doorbell_ioctl(struct file *file, unsigned int cmd,
				unsigned long index)
{
	/* It exists as long as the file. */
	struct rnic_doorbell *db = container_of((struct ib_uobject *)file->private_data,
						struct rnic_doorbell, uobj);
	struct rnic_qp *qp;

	if (cmd != MPA_DOORBELL_RING)
		return -ENOTTY;
	qp = rnic_doorbell_find(db, index);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	rnic_tx_doorbell(qp);
	rnic_qp_put(qp);
	return 0;
}

const struct file_operations rnic_doorbell_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= rnic_doorbell_ioctl,
	/* The argument is no pointer. */
	.compat_ioctl	= rnic_doorbell_ioctl,
	.llseek		= noop_llseek,
	.release	= uverbs_uobject_fd_release,
};
