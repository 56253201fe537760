#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sockets over RDMA: a file is copied, messages and streams are exchanged.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

lab_devices 2
list_streams
