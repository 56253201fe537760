// SPDX-License-Identifier: GPL-2.0-only
//
// Runs KUnit's cases, for which see shim/kunit/test.h: each case, and each
// parameter of one, is a test SUITE.CASE or SUITE.CASE/PARAMETER.
#include "names.hpp"

#include <gtest/gtest.h>

#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <set>

extern "C" {
#include <kunit/test.h>
}

namespace {

class Case : public testing::Test, public kunit {
public:
	Case(const kunit_case &what, const void *param)
		: kunit{param}, what(what)
	{
	}

	~Case() override
	{
		for (void *block : blocks)
			std::free(block);
	}

	void TestBody() override
	{
		if (!setjmp(end))
			what.run_case(this);
	}

	const kunit_case &what;
	std::set<void *> blocks;
	std::jmp_buf end;
};

void add(const kunit_suite &suite, const kunit_case &what,
	 const std::string &name, const void *param)
{
	testing::RegisterTest(suite.name, name.c_str(), nullptr, nullptr,
			      __FILE__, __LINE__,
			      [&what, param] { return new Case(what, param); });
}

// An access to it is an error.
void *const no_bytes = reinterpret_cast<void *>(16);

} // namespace

extern "C" {

void kunit_shim_register(const kunit_suite *suite)
{
	for (const kunit_case *c = suite->test_cases; c->run_case; c++) {
		char desc[KUNIT_PARAM_DESC_SIZE];
		const void *param = nullptr;
		std::size_t index = 0;

		if (!c->generate_params)
			add(*suite, *c, c->name, nullptr);
		else
			while ((param = c->generate_params(param, desc)))
				add(*suite, *c, std::string(c->name) + "/" +
				    name_of_row(desc, index++), param);
	}
}

// Ends the case as KUnit does, without a return to C: only functions of C are
// left by the jump.
void kunit_shim_fail(kunit *test, bool fatal, const char *file, int line,
		     const char *format, ...)
{
	char text[1024];
	std::va_list args;

	va_start(args, format);
	std::vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ADD_FAILURE_AT(file, line) << text;
	if (fatal)
		std::longjmp(static_cast<Case *>(test)->end, 1);
}

void *kunit_kmalloc(kunit *test, std::size_t size, int)
{
	void *block = size ? std::malloc(size) : no_bytes;

	if (size)
		static_cast<Case *>(test)->blocks.insert(block);
	return block;
}

void kunit_kfree(kunit *test, const void *p)
{
	void *block = const_cast<void *>(p);

	if (static_cast<Case *>(test)->blocks.erase(block))
		std::free(block);
}

} // extern "C"
