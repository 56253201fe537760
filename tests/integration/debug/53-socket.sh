#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The cases of the socket interface under KASAN, lockdep and kmemleak, without those
# that only repeat the same for longer; the tools, and loading and unloading of the
# module.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

lab_hosts 2
lab_seed
lab_do modprobe mpa
# For memory whose access blocks: this kernel has no userfaultfd.
lab_do modprobe mpa_trap
if (($#)); then
	socket_cases "$@"
	exit
fi
socket_cases 'attach:*' 'streaming:*' 'options: s*' 'options: r*' 'options: b*' \
	'start:*' 'plain:*' 'review:*' 'early:*' 'reject:*' 'fail:*' 'listen:*' 'receive: [aFMu]*' \
	'receive: bad*' 'wait:*' 'packing:*' 'refused: urgent*' 'end:*' \
	'errors: [!t]*' 'unread:*' 'epoll:*' 'poll:*' 'SIGIO:*' 'races:*' 'hostile:*' \
	'io_uring:*' 'life:*' 'diag:*' 'volume: two*'
socket_counters
socket_kernel_accept
socket_tools
socket_module
