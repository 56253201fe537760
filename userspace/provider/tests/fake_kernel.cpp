/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "fake_kernel.hpp"

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>
#include <thread>

namespace fake {

namespace {

/* Plain pointers: set before any C++ constructor runs. */
Kernel *the_kernel;
const verbs_device_ops *the_driver;

constexpr int command_fd = 0x6d7061;

/* Memory that can be mapped a second time, where the provider wants it. */
std::shared_ptr<void> shared_memory(std::size_t len)
{
	void *base = ::mmap(nullptr, len, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		throw std::bad_alloc();
	return { base, [len](void *at) { ::munmap(at, len); } };
}

} // namespace

Kernel::Kernel()
{
	the_kernel = this;
}

Kernel::~Kernel()
{
	the_kernel = nullptr;
}

Kernel &Kernel::current()
{
	return *the_kernel;
}

const verbs_device_ops &Kernel::driver()
{
	return *the_driver;
}

int Kernel::command(const std::string &name)
{
	commands.push_back(name);
	auto found = refuse.find(name);

	return found == refuse.end() ? 0 : found->second;
}

int Kernel::object(const std::string &kind, int delta)
{
	return objects[kind] += delta;
}

Ring &Kernel::make_ring(std::uint64_t key, std::uint32_t entries,
			std::uint32_t stride)
{
	Ring ring;

	ring.entries = entries;
	ring.stride = stride;
	ring.len = (MPA_RING_HDR_LEN + entries * stride + 4095) & ~4095u;
	ring.memory = shared_memory(ring.len);
	return rings[key] = std::move(ring);
}

/* Of the handle of a queue: its rings have this key and those after it. */
mpa_create_cq_resp Kernel::make_cq_ring(std::uint32_t handle,
					std::uint32_t entries,
					std::uint32_t stride)
{
	std::uint64_t key = std::uint64_t{ handle } << 4;

	/* What was replaced stays, as long as it is mapped. */
	if (auto old = rings.find(key); old != rings.end())
		rings[std::uint64_t{ 1 } << 60 | replaced++] = old->second;
	auto &ring = make_ring(key, entries, stride);
	mpa_create_cq_resp drv{ .cq_key = key,
				.num_cqe = ring.entries,
				.ring_len = ring.len };

	edit_cq(drv);
	return drv;
}

bool falls_asleep(const std::atomic<pid_t> &thread, const std::atomic<bool> &over)
{
	while (!over) {
		std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
		std::string words;

		/* Its state follows its name, which is in parentheses. */
		if (thread && std::getline(file, words) &&
		    words.substr(words.rfind(')') + 1, 2) == " S")
			return true;
		std::this_thread::yield();
	}
	return false;
}

ProviderTest::ProviderTest(std::uint32_t features)
{
	static ibv_device public_device{};

	kernel.features = features;
	device = Kernel::driver().alloc_device(nullptr);
	vctx = Kernel::driver().alloc_context(&public_device, command_fd,
					      nullptr);
	if (!device || !vctx)
		throw std::runtime_error("cannot open the device");
	pd.context = context();
	kernel.commands.clear();
}

ProviderTest::~ProviderTest()
{
	if (scq)
		destroy(scq);
	if (rcq)
		destroy(rcq);
	kernel.ops.free_context(context());
	Kernel::driver().uninit_device(device);
	for (const auto &[kind, count] : kernel.objects)
		EXPECT_EQ(count, 0) << kind << " left behind";
}

ibv_cq *ProviderTest::make_cq(int cqe)
{
	ibv_cq *cq = kernel.ops.create_cq(context(), cqe, nullptr, 0);

	EXPECT_NE(cq, nullptr);
	return cq;
}

ibv_qp *ProviderTest::make_qp(bool ex, bool sig_all, ibv_srq *srq)
{
	if (!scq) {
		scq = make_cq(16);
		rcq = make_cq(16);
	}

	ibv_qp_init_attr_ex attr{};
	attr.pd = &pd;
	attr.send_cq = scq;
	attr.recv_cq = rcq;
	attr.srq = srq;
	attr.cap = kernel.grant;
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = sig_all;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (ex) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	}
	ibv_qp *qp = kernel.ops.create_qp_ex(context(), &attr);

	EXPECT_NE(qp, nullptr);
	return qp;
}

namespace {

template <typename Core, typename Drv>
void respond(Core *core, std::size_t size, const Drv &drv)
{
	ASSERT_EQ(size, sizeof(Core) + sizeof(Drv));
	std::memcpy(reinterpret_cast<char *>(core) + sizeof(Core), &drv,
		    sizeof(drv));
}

} // namespace

} // namespace fake

using fake::Kernel;

/* libibverbs. */
extern "C" {

void verbs_register_driver(const verbs_device_ops *ops)
{
	fake::the_driver = ops;
}

void *_verbs_init_and_alloc_context(ibv_device *device, int cmd_fd,
				    std::size_t alloc_size,
				    verbs_context *context_offset,
				    std::uint32_t driver_id)
{
	EXPECT_EQ(driver_id, 0u);
	if (int err = Kernel::current().command("init_context")) {
		errno = err;
		return nullptr;
	}
	auto *memory = static_cast<char *>(std::calloc(1, alloc_size));
	auto *ctx = reinterpret_cast<verbs_context *>(
		memory + reinterpret_cast<std::uintptr_t>(context_offset));

	ctx->context.device = device;
	ctx->context.cmd_fd = cmd_fd;
	Kernel::current().object("context", 1);
	return memory;
}

void verbs_uninit_context(verbs_context *)
{
	Kernel::current().object("context", -1);
}

void verbs_set_ops(verbs_context *, const verbs_context_ops *ops)
{
	Kernel::current().ops = *ops;
}

void __verbs_log(verbs_context *, std::uint32_t, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	std::vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	Kernel::current().log += text;
}

int ibv_read_ibdev_sysfs_file(char *buf, std::size_t size, verbs_sysfs_dev *,
			      const char *format, ...)
{
	const auto &value = Kernel::current().sysfs_value;

	EXPECT_STREQ(format, MPA_ABI_SYSFS_ATTR);
	if (!value)
		return -1;
	std::string text = *value;

	if (text.ends_with('\n'))
		text.pop_back();
	if (text.size() >= size)
		return -1;
	std::memcpy(buf, text.c_str(), text.size() + 1);
	return static_cast<int>(text.size());
}

int ibv_cmd_get_context(verbs_context *, ibv_get_context *,
			std::size_t cmd_size,
#if IBVERBS_PABI_VERSION >= 57
			ibv_fd_arr *,
#endif
			ib_uverbs_get_context_resp *resp,
			std::size_t resp_size)
{
	EXPECT_EQ(cmd_size, 16u);
	if (int err = Kernel::current().command("get_context"))
		return err;
	fake::respond(resp, resp_size,
		      mpa_alloc_ucontext_resp{
			      .abi_version = Kernel::current().abi_version,
			      .features = Kernel::current().features });
	return 0;
}

int ibv_cmd_query_device_any(ibv_context *, const ibv_query_device_ex_input *,
			     ibv_device_attr_ex *attr, std::size_t attr_size,
			     ib_uverbs_ex_query_device_resp *resp,
			     std::size_t *resp_size)
{
	EXPECT_EQ(*resp_size, sizeof(*resp));
	if (int err = Kernel::current().command("query_device"))
		return err;
	std::memset(static_cast<void *>(attr), 0, attr_size);
	resp->base.fw_ver = 0x0001'0002'0003;
	return 0;
}

int ibv_cmd_query_port(ibv_context *, std::uint8_t port, ibv_port_attr *attr,
		       struct ibv_query_port *, std::size_t cmd_size)
{
	EXPECT_EQ(cmd_size, 24u);
	attr->lid = port;
	return Kernel::current().command("query_port");
}

int ibv_cmd_alloc_pd(ibv_context *context, ibv_pd *pd, struct ibv_alloc_pd *,
		     std::size_t cmd_size, ib_uverbs_alloc_pd_resp *,
		     std::size_t resp_size)
{
	EXPECT_EQ(cmd_size, 16u);
	EXPECT_EQ(resp_size, 4u);
	if (int err = Kernel::current().command("alloc_pd"))
		return err;
	pd->context = context;
	Kernel::current().object("pd", 1);
	return 0;
}

int ibv_cmd_dealloc_pd(ibv_pd *)
{
	if (int err = Kernel::current().command("dealloc_pd"))
		return err;
	Kernel::current().object("pd", -1);
	return 0;
}

int ibv_cmd_reg_mr(ibv_pd *, void *, std::size_t, std::uint64_t, int access,
		   verbs_mr *mr, struct ibv_reg_mr *, std::size_t cmd_size,
		   ib_uverbs_reg_mr_resp *resp, std::size_t resp_size)
{
	EXPECT_EQ(cmd_size, 48u);
	if (int err = Kernel::current().command("reg_mr"))
		return err;
	fake::respond(resp, resp_size,
		      mpa_reg_mr_resp{ .stag = 0x100, .reserved = 0 });
	mr->ibv_mr.lkey = 0x100;
	mr->access = access;
	Kernel::current().object("mr", 1);
	return 0;
}

int ibv_cmd_dereg_mr(verbs_mr *)
{
	if (int err = Kernel::current().command("dereg_mr"))
		return err;
	Kernel::current().object("mr", -1);
	return 0;
}

int ibv_cmd_rereg_mr(verbs_mr *mr, std::uint32_t flags, void *addr, std::size_t length,
		     std::uint64_t hca_va, int access, ibv_pd *,
		     struct ibv_rereg_mr *, std::size_t cmd_size,
		     ib_uverbs_rereg_mr_resp *, std::size_t resp_size)
{
	EXPECT_EQ(cmd_size, 56u);
	EXPECT_EQ(resp_size, 8u);
	EXPECT_EQ(flags, 7u);
	EXPECT_EQ(length, 12u);
	EXPECT_EQ(hca_va, reinterpret_cast<std::uintptr_t>(addr));
	if (int err = Kernel::current().command("rereg_mr"))
		return err;
	mr->access = access;
	return 0;
}

int ibv_cmd_reg_dmabuf_mr(ibv_pd *, std::uint64_t offset, std::size_t length,
			  std::uint64_t iova, int fd, int access, verbs_mr *mr,
			  ibv_command_buffer *driver)
{
	EXPECT_EQ(offset, 1u);
	EXPECT_EQ(length, 2u);
	EXPECT_EQ(iova, 3u);
	EXPECT_EQ(fd, 4);
	EXPECT_EQ(driver, nullptr);
	if (int err = Kernel::current().command("reg_dmabuf_mr"))
		return err;
	mr->access = access;
	Kernel::current().object("mr", 1);
	return 0;
}

int ibv_cmd_advise_mr(ibv_pd *, ibv_advise_mr_advice, std::uint32_t, ibv_sge *,
		      std::uint32_t num_sge)
{
	EXPECT_EQ(num_sge, 1u);
	return Kernel::current().command("advise_mr");
}

int ibv_cmd_alloc_mw(ibv_pd *pd, ibv_mw_type type, ibv_mw *mw,
		     struct ibv_alloc_mw *, std::size_t cmd_size,
		     ib_uverbs_alloc_mw_resp *, std::size_t resp_size)
{
	EXPECT_EQ(cmd_size, 24u);
	EXPECT_EQ(resp_size, 8u);
	if (int err = Kernel::current().command("alloc_mw"))
		return err;
	mw->context = pd->context;
	mw->pd = pd;
	mw->rkey = 0x7fe;
	mw->type = type;
	Kernel::current().object("mw", 1);
	return 0;
}

int ibv_cmd_dealloc_mw(ibv_mw *)
{
	if (int err = Kernel::current().command("dealloc_mw"))
		return err;
	Kernel::current().object("mw", -1);
	return 0;
}

int ibv_cmd_create_cq_ex(ibv_context *context, const ibv_cq_init_attr_ex *attr,
			 verbs_cq *cq, struct ibv_create_cq_ex *,
			 std::size_t cmd_size, ib_uverbs_ex_create_cq_resp *resp,
			 std::size_t resp_size, std::uint32_t)
{
	Kernel &k = Kernel::current();

	EXPECT_EQ(cmd_size, 56u);
	k.cq_attr = *attr;
	if (int err = k.command("create_cq"))
		return err;

	std::uint32_t handle = k.new_handle();
	bool timed = attr->wc_flags &
		     (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);

	fake::respond(resp, resp_size,
		      k.make_cq_ring(handle, attr->cqe,
				     timed ? sizeof(mpa_cqe_timed) :
					     sizeof(mpa_cqe)));
	cq->cq.context = context;
	cq->cq.handle = handle;
	k.object("cq", 1);
	return 0;
}

int ibv_cmd_resize_cq(ibv_cq *cq, int cqe, struct ibv_resize_cq *,
		      std::size_t cmd_size, ib_uverbs_resize_cq_resp *resp,
		      std::size_t resp_size)
{
	Kernel &k = Kernel::current();

	EXPECT_EQ(cmd_size, 24u);
	if (int err = k.command("resize_cq"))
		return err;

	fake::Ring old = k.cq(cq->handle);
	auto drv = k.make_cq_ring(cq->handle, cqe, old.stride);
	auto &ring = k.cq(cq->handle);

	ring.header = old.header ? old.header : old.memory;
	for (auto i = old.hdr().cons; i != old.hdr().prod; i++)
		std::memcpy(&ring.at<char>(i), &old.at<char>(i), old.stride);
	fake::respond(resp, resp_size, drv);
	return 0;
}

int ibv_cmd_modify_cq(ibv_cq *, ibv_modify_cq_attr *attr,
		      struct ibv_modify_cq *, std::size_t cmd_size)
{
	EXPECT_EQ(cmd_size, 40u);
	if (int err = Kernel::current().command("modify_cq"))
		return err;
	Kernel::current().moderation = attr->moderate;
	return 0;
}

int ibv_cmd_query_context(ibv_context *, ibv_command_buffer *)
{
	return Kernel::current().command("query_context");
}

int ibv_cmd_query_mr(ibv_pd *pd, verbs_mr *mr, std::uint32_t handle)
{
	if (int err = Kernel::current().command("query_mr"))
		return err;
	mr->ibv_mr.context = pd->context;
	mr->ibv_mr.pd = pd;
	mr->ibv_mr.lkey = 0x200;
	mr->mr_type = IBV_MR_TYPE_IMPORTED_MR;
	Kernel::current().imported_mr = handle;
	return 0;
}

int ibv_cmd_destroy_cq(ibv_cq *)
{
	if (int err = Kernel::current().command("destroy_cq"))
		return err;
	Kernel::current().object("cq", -1);
	return 0;
}

ibv_qp_ex *ibv_qp_to_qp_ex(ibv_qp *qp)
{
	auto *vqp = reinterpret_cast<verbs_qp *>(qp);

	return vqp->comp_mask & VERBS_QP_EX && !Kernel::current().other_qp_ex
		       ? &vqp->qp_ex : nullptr;
}

int ibv_cmd_create_qp_ex(ibv_context *context, verbs_qp *vqp,
			 ibv_qp_init_attr_ex *attr, struct ibv_create_qp *,
			 std::size_t cmd_size, ib_uverbs_create_qp_resp *resp,
			 std::size_t resp_size)
{
	Kernel &k = Kernel::current();

	EXPECT_EQ(cmd_size, 64u);
	EXPECT_EQ(attr->comp_mask & ~IBV_QP_INIT_ATTR_PD, 0u);
	k.qp_attr = *attr;
	if (int err = k.command("create_qp"))
		return err;

	std::uint32_t handle = k.new_handle();
	std::uint64_t key = std::uint64_t{ handle } << 4;
	std::uint32_t room = std::max<std::uint32_t>(
		k.grant.max_send_sge * sizeof(mpa_sge),
		k.grant.max_inline_data);
	auto &sq = k.make_ring(key | 1, k.grant.max_send_wr,
			       sizeof(mpa_sqe) + room);
	auto &rq = k.make_ring(key | 2, k.grant.max_recv_wr,
			       sizeof(mpa_rqe) + k.grant.max_recv_sge *
							 sizeof(mpa_sge));
	rq.offset = (MPA_RING_HDR_LEN + sq.entries * sq.stride + 63) & ~63u;
	sq.len = (rq.offset + MPA_RING_HDR_LEN + rq.entries * rq.stride + 4095) &
		 ~4095u;
	sq.memory = fake::shared_memory(sq.len);
	rq.memory = sq.memory;
	mpa_create_qp_resp drv{ .key = key | 1,
				.len = sq.len,
				.rq_offset = rq.offset,
				.num_sqe = sq.entries,
				.num_rqe = rq.entries,
				.sqe_stride = sq.stride,
				.rqe_stride = rq.stride,
				.max_inline = k.grant.max_inline_data,
				.qp_num = 100 + handle,
				.doorbell = handle << 4,
				.reserved = 0 };

	if (attr->srq) {
		drv.rq_offset = drv.len;
		drv.num_rqe = drv.rqe_stride = 0;
	}
	k.edit_qp(drv);
	fake::respond(resp, resp_size, drv);
	attr->cap = k.grant;
	if (attr->srq)
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
	vqp->qp.context = context;
	vqp->qp.handle = handle;
	vqp->qp.qp_num = 100 + handle;
	vqp->qp.send_cq = attr->send_cq;
	vqp->qp.recv_cq = attr->recv_cq;
	vqp->qp.srq = attr->srq;
	vqp->comp_mask = 0;
	k.object("qp", 1);
	return 0;
}

int ibv_cmd_modify_qp(ibv_qp *, ibv_qp_attr *, int, struct ibv_modify_qp *,
		      std::size_t cmd_size)
{
	EXPECT_EQ(cmd_size, 120u);
	return Kernel::current().command("modify_qp");
}

int ibv_cmd_query_qp(ibv_qp *, ibv_qp_attr *attr, int, ibv_qp_init_attr *,
		     struct ibv_query_qp *, std::size_t cmd_size)
{
	EXPECT_EQ(cmd_size, 24u);
	attr->qp_state = IBV_QPS_RTS;
	return Kernel::current().command("query_qp");
}

int ibv_cmd_destroy_qp(ibv_qp *)
{
	if (int err = Kernel::current().command("destroy_qp"))
		return err;
	Kernel::current().object("qp", -1);
	return 0;
}

int ibv_cmd_create_srq(ibv_pd *pd, ibv_srq *srq, ibv_srq_init_attr *attr,
		       struct ibv_create_srq *, std::size_t cmd_size,
		       ib_uverbs_create_srq_resp *resp, std::size_t resp_size)
{
	Kernel &k = Kernel::current();

	EXPECT_EQ(cmd_size, 40u);
	k.srq_attr = *attr;
	if (int err = k.command("create_srq"))
		return err;

	std::uint32_t handle = k.new_handle();
	std::uint64_t key = std::uint64_t{ handle } << 4 | 3;
	auto &ring = k.make_ring(key, k.grant.max_recv_wr,
				 sizeof(mpa_rqe) + k.grant.max_recv_sge *
							   sizeof(mpa_sge));
	mpa_create_srq_resp drv{ .key = key,
				 .len = ring.len,
				 .num_rqe = ring.entries,
				 .rqe_stride = ring.stride,
				 .reserved = 0 };

	k.edit_srq(drv);
	fake::respond(resp, resp_size, drv);
	attr->attr.max_wr = k.grant.max_recv_wr;
	attr->attr.max_sge = k.grant.max_recv_sge;
	srq->context = pd->context;
	srq->handle = handle;
	k.object("srq", 1);
	return 0;
}

int ibv_cmd_modify_srq(ibv_srq *, ibv_srq_attr *attr, int mask,
		       struct ibv_modify_srq *, std::size_t cmd_size)
{
	Kernel &k = Kernel::current();

	EXPECT_EQ(cmd_size, 24u);
	k.srq_mask = mask;
	k.srq_limit = attr->srq_limit;
	return k.command("modify_srq");
}

int ibv_cmd_query_srq(ibv_srq *, ibv_srq_attr *attr, struct ibv_query_srq *,
		      std::size_t cmd_size)
{
	EXPECT_EQ(cmd_size, 24u);
	attr->srq_limit = Kernel::current().srq_limit;
	return Kernel::current().command("query_srq");
}

int ibv_cmd_destroy_srq(ibv_srq *)
{
	if (int err = Kernel::current().command("destroy_srq"))
		return err;
	Kernel::current().object("srq", -1);
	return 0;
}

int ibv_cmd_post_send(ibv_qp *, ibv_send_wr *wr, ibv_send_wr **)
{
	EXPECT_EQ(wr, nullptr);
	return Kernel::current().command("post_send");
}

/* The C library; the linker's --wrap redirects the provider's calls here. */

void *__real_calloc(std::size_t n, std::size_t size);
int __real_munmap(void *addr, std::size_t len);
void *__real_mmap(void *addr, std::size_t len, int prot, int flags, int fd,
		  off_t offset);
ssize_t __real_write(int fd, const void *buf, std::size_t count);

/* Of the commands by ioctl(), the provider itself sends these two. */
static int query_features(ib_uverbs_attr &attr)
{
	EXPECT_EQ(attr.attr_id, MPA_ATTR_QUERY_CONTEXT_FEATURES);
	EXPECT_EQ(attr.len, sizeof(std::uint32_t));
	if (int err = Kernel::current().command("query_features"))
		return err;
	std::memcpy(reinterpret_cast<void *>(attr.data), &Kernel::current().features,
		    attr.len);
	return 0;
}

static int create_doorbell(ib_uverbs_attr &attr)
{
	Kernel &k = Kernel::current();

	EXPECT_EQ(attr.attr_id, MPA_ATTR_DOORBELL_CREATE_HANDLE);
	EXPECT_EQ(attr.len, 0);
	EXPECT_EQ(attr.data, 0u);
	if (int err = k.command("create_doorbell"))
		return err;
	k.doorbell_fd = ::eventfd(0, EFD_CLOEXEC);
	attr.data_s64 = k.doorbell_fd;
	return 0;
}

static int ring_doorbell(int fd, std::uint32_t number)
{
	Kernel &k = Kernel::current();
	int err = 0;

	EXPECT_EQ(fd, k.doorbell_fd);
	if (!k.ring_errors.empty()) {
		err = k.ring_errors.front();
		k.ring_errors.pop_front();
	}
	if (!err)
		k.rung.push_back(number);
	return err;
}

int __wrap_ioctl(int fd, unsigned long request, unsigned long argument)
{
	auto *cmd = reinterpret_cast<ib_uverbs_ioctl_hdr *>(argument);
	int err;

	if (request == MPA_DOORBELL_RING) {
		err = ring_doorbell(fd, static_cast<std::uint32_t>(argument));
	} else {
		EXPECT_EQ(request, RDMA_VERBS_IOCTL);
		EXPECT_EQ(cmd->length, sizeof(*cmd) + sizeof(cmd->attrs[0]));
		EXPECT_EQ(cmd->num_attrs, 1);
		EXPECT_EQ(cmd->attrs[0].flags, UVERBS_ATTR_F_MANDATORY);
		if (cmd->object_id == MPA_OBJECT_DOORBELL) {
			EXPECT_EQ(cmd->method_id, MPA_METHOD_DOORBELL_CREATE);
			err = create_doorbell(cmd->attrs[0]);
		} else {
			EXPECT_EQ(cmd->object_id, UVERBS_OBJECT_DEVICE);
			EXPECT_EQ(cmd->method_id, UVERBS_METHOD_QUERY_CONTEXT);
			err = query_features(cmd->attrs[0]);
		}
	}
	errno = err;
	return err ? -1 : 0;
}

void *__wrap_calloc(std::size_t n, std::size_t size)
{
	Kernel *k = fake::the_kernel;

	if (k && k->fail_calloc && !--k->fail_calloc)
		return nullptr;
	return __real_calloc(n, size);
}

void *__wrap_mmap(void *addr, std::size_t len, int prot, int flags, int fd,
		  off_t offset)
{
	if (fake::the_kernel && fake::the_kernel->fail_reserve && prot == PROT_NONE) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (fd != fake::command_fd)
		return __real_mmap(addr, len, prot, flags, fd, offset);

	Kernel &k = Kernel::current();

	if (k.fail_mmap && !--k.fail_mmap) {
		errno = EAGAIN;
		return MAP_FAILED;
	}
	EXPECT_EQ(prot, PROT_READ | PROT_WRITE);
	EXPECT_EQ(flags, addr ? MAP_SHARED | MAP_FIXED : MAP_SHARED);
	auto &ring = k.rings.at(static_cast<std::uint64_t>(offset));

	EXPECT_EQ(len, ring.len);
	EXPECT_EQ(ring.mapped, nullptr);
	/* Of a length of 0: a second mapping of the same pages. */
	ring.mapped = addr ? ::mremap(ring.memory.get(), 0, len,
				      MREMAP_MAYMOVE | MREMAP_FIXED, addr) :
			     ::mremap(ring.memory.get(), 0, len, MREMAP_MAYMOVE);
	EXPECT_NE(ring.mapped, MAP_FAILED);
	k.object("mapping", 1);
	return ring.mapped;
}

int __wrap_munmap(void *addr, std::size_t len)
{
	Kernel *k = fake::the_kernel;

	if (k) {
		for (auto &[key, ring] : k->rings) {
			if (!ring.mapped || ring.mapped != addr)
				continue;
			EXPECT_EQ(len, ring.len);
			ring.mapped = nullptr;
			k->object("mapping", -1);
		}
	}
	return __real_munmap(addr, len);
}

ssize_t __wrap_write(int fd, const void *buf, std::size_t count)
{
	if (fd != fake::command_fd)
		return __real_write(fd, buf, count);

	Kernel &k = Kernel::current();
	int err = 0;

	/* As write() of the C library does. */
	pthread_testcancel();
	if (!k.write_errors.empty()) {
		err = k.write_errors.front();
		k.write_errors.pop_front();
	}
	if (err) {
		errno = err;
		return -1;
	}
	EXPECT_EQ(count, sizeof(fake::Doorbell));
	fake::Doorbell bell;

	std::memcpy(&bell, buf, sizeof(bell));
	/* The kernel responds, so the pointer must be valid. */
	reinterpret_cast<ib_uverbs_post_send_resp *>(bell.cmd.response)
		->bad_wr = 0;
	k.doorbells.push_back(bell);
	return static_cast<ssize_t>(k.write_short.value_or(count));
}

} // extern "C"
