/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
// Errors of OpenSSL as error codes.
#pragma once

#include <system_error>

namespace mpa::tls {

// Of the errors that OpenSSL has noted for this thread, that of the system, or the first
// one of TLS, or the first one; protocol_error if there is none. Forgets all of them.
std::error_code openssl_error() noexcept;

} // namespace mpa::tls
