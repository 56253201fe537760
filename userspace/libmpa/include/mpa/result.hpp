/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// A value or an error code. C++20 has no std::expected; this is the part of it
// that the sockets here need. Nothing throws unless value() is used.
#pragma once

#include <cassert>
#include <cerrno>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace mpa {

// The error that a system call has just left in errno.
inline std::error_code last_error() noexcept
{
	return {errno, std::generic_category()};
}

// Converts from a T and from a std::error_code. The error code must not be 0.
template <typename T> class [[nodiscard]] result {
	static_assert(!std::is_same_v<T, std::error_code>);

public:
	result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

	result(std::error_code error) : state_(std::in_place_index<1>, error)
	{
		assert(error);
	}

	result(std::errc error) : result(std::make_error_code(error)) {}

	bool has_value() const noexcept { return state_.index() == 0; }
	explicit operator bool() const noexcept { return has_value(); }

	// Valid only with a value.
	T &operator*() & noexcept { return *get(); }
	const T &operator*() const & noexcept { return *get(); }
	T &&operator*() && noexcept { return std::move(*get()); }
	T *operator->() noexcept { return get(); }
	const T *operator->() const noexcept { return get(); }

	T value_or(T other) const & { return has_value() ? **this : other; }

	// 0 if there is a value.
	std::error_code error() const noexcept
	{
		const auto *error = std::get_if<1>(&state_);

		return error ? *error : std::error_code{};
	}

#ifdef __cpp_exceptions
	// For programs that use exceptions: std::system_error.
	T &&value() &&
	{
		if (!has_value())
			throw std::system_error(error());
		return *std::move(*this);
	}
#endif

private:
	T *get() noexcept
	{
		T *value = std::get_if<0>(&state_);

		assert(value);
		return value;
	}

	const T *get() const noexcept
	{
		const T *value = std::get_if<0>(&state_);

		assert(value);
		return value;
	}

	std::variant<T, std::error_code> state_;
};

// Success, or an error code.
template <> class [[nodiscard]] result<void> {
public:
	result() noexcept = default;
	result(std::error_code error) noexcept : error_(error) {}
	result(std::errc error) noexcept : error_(std::make_error_code(error)) {}

	bool has_value() const noexcept { return !error_; }
	explicit operator bool() const noexcept { return has_value(); }
	std::error_code error() const noexcept { return error_; }

#ifdef __cpp_exceptions
	void value() const
	{
		if (error_)
			throw std::system_error(error_);
	}
#endif

private:
	std::error_code error_;
};

} // namespace mpa
