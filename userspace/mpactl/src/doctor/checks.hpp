/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// The checks of the doctor, by subject. checks.cpp has the table.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "doctor/examination.hpp"

namespace mpactl {

// All checks in the order in which they are run.
std::span<const Check> all_checks();

namespace checks {

inline Diagnosis ok(std::string detail = {})
{
	return {Health::ok, std::move(detail), {}};
}

inline Diagnosis skip(std::string why)
{
	return {Health::skip, std::move(why), {}};
}

inline Diagnosis warn(std::string detail, std::string remedy)
{
	return {Health::warn, std::move(detail), std::move(remedy)};
}

inline Diagnosis fail(std::string detail, std::string remedy)
{
	return {Health::fail, std::move(detail), std::move(remedy)};
}

// checks_kernel.cpp
Diagnosis module_files(Examination &on);
Diagnosis module_version(Examination &on);
Diagnosis module_signature(Examination &on);
Diagnosis module_loaded(Examination &on);
Diagnosis family(Examination &on);
Diagnosis release(Examination &on);
Diagnosis uverbs_module(Examination &on);
Diagnosis rdma_cm_module(Examination &on);

// checks_user.cpp
Diagnosis rdma_core(Examination &on);
Diagnosis provider(Examination &on);
Diagnosis driver_file(Examination &on);
Diagnosis memlock(Examination &on);

// checks_device.cpp
Diagnosis device(Examination &on);
Diagnosis netns(Examination &on);
Diagnosis uverbs_node(Examination &on);
Diagnosis rdma_cm_node(Examination &on);
Diagnosis netdev(Examination &on);
Diagnosis address(Examination &on);
Diagnosis mtu(Examination &on);
Diagnosis other_rdma(Examination &on);
Diagnosis settings(Examination &on);

// checks_net.cpp
Diagnosis firewall(Examination &on);
Diagnosis port(Examination &on);
Diagnosis host_name(Examination &on);
Diagnosis peer(Examination &on);
Diagnosis path_mtu(Examination &on);

// checks_framing.cpp
Diagnosis framing(Examination &on);
// A filter for captures: segments of the connection that are not one framing PDU each.
std::string unframed_segments(const Connection &conn);

} // namespace checks

} // namespace mpactl
