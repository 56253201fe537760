#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Everything that the table of Documentation/security.rst names is tried by users without
# privilege: an ordinary one, roots of namespaces of their own, and one in a container.
. "$MPA_REPO/tests/lab/guest/lib.sh"

lab_devices 2
lab_seed
# Only a privileged user loads a module by naming it.
lab_do modprobe mpa
echo Y > /sys/module/mpa_rnic/parameters/doorbells
status=0
lab_spawn permissions h1 "$PYTHON" -u "$MPA_REPO/tests/integration/lib/permissions.py" \
	"$MPA_REPO/Documentation/security.rst"
lab_join permissions 1200 || status=$?
while read -r word name; do
	case $word in
	good) lab_ok "$name" ;;
	bad) lab_not_ok "$name" ;;
	*) lab_note "$word $name" ;;
	esac
done < "$LAB_OUT/permissions.log"
lab_is "the program comes to its end" "$status" 0
