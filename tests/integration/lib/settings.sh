# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Settings for new connections, with mpactl, which works on the network namespace it
# is run in.

mpactl_bin=$MPA_REPO/build/bin/mpactl

# mpactl_in HOST WORD...
mpactl_in() {
	lab_in "$1" "$mpactl_bin" "${@:2}"
}

# device_set KEY VALUE DEVICE: on device mpaN, which host hN has.
device_set() {
	mpactl_in "h${3#mpa}" set dev "$3" "$1" "$2"
}

# fast_paths on|off DEVICE...: all fast paths that can be switched off, for new
# connections of the devices and for all connections (performance.rst).
fast_paths() {
	local device segments=auto fast_path=Y
	[[ $1 == on ]] || { segments=single fast_path=N; }
	lab_do tee /sys/module/mpa/parameters/fast_path <<< "$fast_path"
	for device in "${@:2}"; do
		device_set segments "$segments" "$device"
	done
}

# markers_ask on|off DEVICE...: whether new connections of the devices ask
# their peers for Markers.
markers_ask() {
	local device
	for device in "${@:2}"; do
		device_set markers "$1" "$device"
	done
}
