#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Every KUnit suite, in the debug configuration's kernel: one case at a time.
. "$MPA_REPO/tests/kunit/run.sh"
