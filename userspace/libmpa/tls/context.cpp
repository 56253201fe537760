/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include <mpa/tls.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "error.hpp"

namespace mpa::tls {

void context::deleter::operator()(ssl_ctx_st *one) const noexcept
{
	::SSL_CTX_free(one);
}

result<context> context::client()
{
	::ERR_clear_error();
	context made(::SSL_CTX_new(::TLS_client_method()));

	if (!made.owned_ || !::SSL_CTX_set_default_verify_paths(made.native()))
		return openssl_error();
	::SSL_CTX_set_verify(made.native(), SSL_VERIFY_PEER, nullptr);
	return made;
}

result<context> context::server(const std::string &chain_file,
				const std::string &key_file)
{
	::ERR_clear_error();
	context made(::SSL_CTX_new(::TLS_server_method()));

	if (!made.owned_ ||
	    ::SSL_CTX_use_certificate_chain_file(made.native(),
						 chain_file.c_str()) != 1 ||
	    ::SSL_CTX_use_PrivateKey_file(made.native(), key_file.c_str(),
					  SSL_FILETYPE_PEM) != 1)
		return openssl_error();
	return made;
}

context context::share(ssl_ctx_st *made) noexcept
{
	::SSL_CTX_up_ref(made);
	return context(made);
}

} // namespace mpa::tls
