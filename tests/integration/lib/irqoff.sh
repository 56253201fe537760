# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How long mpa_rnic disables interrupts, measured by the lab's module mpa_irqoff. One
# processor.

# irqoff_begin [MICROSECONDS]: longer times are counted.
irqoff_begin() {
	local start size
	start=$(< /sys/module/mpa_rnic/sections/.text)
	size=$(awk '$1 == "mpa_rnic" { print $2 }' /proc/modules)
	lab_do modprobe mpa_irqoff "from=$start" \
		"to=$(printf '0x%x' $((start + size)))" "limit=${1:-100}"
}

# irqoff_value NAME: a parameter of the module.
irqoff_value() {
	cat "/sys/module/mpa_irqoff/parameters/$1"
}

# irqoff_end
irqoff_end() {
	lab_do modprobe -r mpa_irqoff
}
