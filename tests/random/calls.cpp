// SPDX-License-Identifier: GPL-2.0-only
#include "calls.hpp"

#include <cstring>

namespace calls
{

namespace
{

bool disturbance;

unsigned int kind_of(const char *name)
{
	for (unsigned int n = 0; n < all().size(); n++)
		if (!std::strcmp(all()[n].name, name))
			return n;
	return 0;
}

} // namespace

const std::vector<Kind> &all()
{
	static const std::vector<Kind> kinds = [] {
		std::vector<Kind> found;

		for (const auto &part :
		     {of_sockets(), of_verbs(), of_connections(),
		      of_pairs(), of_system()})
			found.insert(found.end(), part.begin(), part.end());
		return found;
	}();

	return kinds;
}

unsigned int choose(Random &random)
{
	static const unsigned int total = [] {
		unsigned int sum = 0;

		for (const Kind &kind : all())
			sum += kind.weight;
		return sum;
	}();
	std::uint32_t left = random.below(total);

	// These run other programs, which takes long.
	if (random.one_in(400) && disturbance)
		return kind_of("disturb");
	if (random.one_in(4000))
		return kind_of("show");
	for (unsigned int n = 0; n < all().size(); n++) {
		if (left < all()[n].weight)
			return n;
		left -= all()[n].weight;
	}
	return 0;
}

std::vector<unsigned int> beginning(Random &random)
{
	static const std::vector<std::vector<const char *>> ways{
		{"pair"},
		{"cm_pair"},
		{"cm_pair", "feed_pair", "feed_pair", "windows", "windows",
		 "use_pair", "use_pair"},
		{"pair", "cm_pair"},
		{"listen_tcp", "connect_tcp", "accept_tcp", "attach"},
		{"cm_channel", "cm_listen", "cm_resolve", "open_device",
		 "alloc_pd", "create_cq", "create_qp", "cm_event"},
		{"pair", "open_device", "alloc_pd", "create_cq", "create_qp",
		 "create_qp", "hand_over", "hand_over"}};
	std::vector<unsigned int> kinds;

	for (const char *name :
	     ways[random.below(static_cast<std::uint32_t>(ways.size()))])
		kinds.push_back(kind_of(name));
	return kinds;
}

void allow_disturbance()
{
	disturbance = true;
}

} // namespace calls
