// SPDX-License-Identifier: GPL-2.0-only
//
// Creates objects of an RDMA device until one is refused:
//
//	hoard DEVICE qp|srq|cq|mr|mw|pd MOST [ENTRIES]
//
// Prints how many there were, and ends with status 0 if one was refused for
// lack of memory, with 3 if it has MOST of them. ENTRIES are those of a queue,
// or the KiB of a region.

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

namespace {

ibv_context *open_device(std::string_view name)
{
	int count = 0;
	ibv_device **list = ibv_get_device_list(&count);

	for (int i = 0; i < count; i++)
		if (name == ibv_get_device_name(list[i]))
			return ibv_open_device(list[i]);
	return nullptr;
}

struct Maker {
	ibv_context *context;
	unsigned int entries;
	ibv_pd *pd = nullptr;
	ibv_cq *cq = nullptr;
	std::vector<char> memory{};

	void *qp()
	{
		ibv_qp_init_attr attr{};

		attr.send_cq = attr.recv_cq = cq;
		attr.qp_type = IBV_QPT_RC;
		attr.cap.max_send_wr = attr.cap.max_recv_wr = entries;
		attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
		return ibv_create_qp(pd, &attr);
	}

	void *srq()
	{
		ibv_srq_init_attr attr{};

		attr.attr.max_wr = entries;
		attr.attr.max_sge = 1;
		return ibv_create_srq(pd, &attr);
	}

	void *one(std::string_view kind)
	{
		if (kind == "srq")
			return srq();
		if (kind == "qp")
			return qp();
		if (kind == "cq")
			return ibv_create_cq(context, static_cast<int>(entries),
					     nullptr, nullptr, 0);
		if (kind == "mr")
			return ibv_reg_mr(pd, memory.data(), memory.size(),
					  IBV_ACCESS_LOCAL_WRITE);
		if (kind == "mw")
			return ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		return ibv_alloc_pd(context);
	}
};

unsigned int number(std::string_view text)
{
	unsigned int value = 0;

	if (std::from_chars(text.begin(), text.end(), value).ec != std::errc{})
		throw std::runtime_error("not a number: " + std::string(text));
	return value;
}

int hoard(std::string_view device, std::string_view kind, unsigned int most,
	  unsigned int entries)
{
	Maker maker{open_device(device), entries};
	unsigned int made = 0;

	if (!maker.context)
		throw std::runtime_error("no device " + std::string(device));
	maker.memory.resize(kind == "mr" ? entries << 10 : 0, 'x');
	if (kind == "qp" || kind == "srq" || kind == "mr" || kind == "mw")
		maker.pd = ibv_alloc_pd(maker.context);
	if (kind == "qp")
		maker.cq = ibv_create_cq(maker.context, 16, nullptr, nullptr, 0);
	while (made < most && maker.one(kind))
		made++;
	const int error = errno;

	if (made == most) {
		std::printf("has %u, and would get more\n", made);
		return 3;
	}
	std::printf("has %u, then: %s\n", made, std::strerror(error));
	return error == ENOMEM ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4 && argc != 5)
		return 2;
	try {
		return hoard(argv[1], argv[2], number(argv[3]),
			     argc == 5 ? number(argv[4]) : 1);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "hoard: %s\n", error.what());
		return 1;
	}
}
