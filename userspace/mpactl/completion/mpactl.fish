# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# fish: what `mpactl complete` offers; it knows the names that are there.

function __mpactl_complete
	set -l words (commandline -opc)
	set -l program $words[1]

	set -e words[1]
	for line in ($program complete -- $words "$(commandline -ct)" 2> /dev/null)
		switch $line
			case ':files'
				__fish_complete_path (commandline -ct)
			case ':hosts'
				__fish_print_hostnames
			case '*'
				echo $line
		end
	end
end

complete -c mpactl -f -a '(__mpactl_complete)'
