# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# find_package(mpa) defines mpa::mpa, the C++20 headers of MPA sockets.
if(NOT TARGET mpa::mpa)
	add_library(mpa::mpa INTERFACE IMPORTED)
	get_filename_component(mpa_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
	set_target_properties(mpa::mpa PROPERTIES
		INTERFACE_INCLUDE_DIRECTORIES "${mpa_prefix}/include"
		INTERFACE_COMPILE_FEATURES cxx_std_20)
	unset(mpa_prefix)
endif()
