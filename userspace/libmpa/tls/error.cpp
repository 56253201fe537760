/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "error.hpp"

#include <array>

#include <mpa/tls.hpp>
#include <openssl/err.h>

namespace mpa::tls {

const std::error_category &category() noexcept
{
	class openssl final : public std::error_category {
		const char *name() const noexcept override { return "tls"; }

		std::string message(int error) const override
		{
			const auto packed = static_cast<unsigned int>(error);
			const char *reason = ::ERR_reason_error_string(packed);
			std::array<char, 256> text{};

			if (reason)
				return reason;
			::ERR_error_string_n(packed, text.data(), text.size());
			return text.data();
		}
	};
	static const openssl one;

	return one;
}

std::error_code openssl_error() noexcept
{
	unsigned long chosen = 0;

	while (const unsigned long next = ::ERR_get_error()) {
		if (ERR_SYSTEM_ERROR(next)) {
			::ERR_clear_error();
			return {ERR_GET_REASON(next), std::generic_category()};
		}
		if (!chosen || (ERR_GET_LIB(chosen) != ERR_LIB_SSL &&
				ERR_GET_LIB(next) == ERR_LIB_SSL))
			chosen = next;
	}
	if (!chosen)
		return std::make_error_code(std::errc::protocol_error);
	return {static_cast<int>(chosen), category()};
}

} // namespace mpa::tls
