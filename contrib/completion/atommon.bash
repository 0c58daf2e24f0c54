# SPDX-License-Identifier: MIT
# Completion for bash: commands of atommon, options of each tool (as its --help tells them), traces
# and litmus files. Installed below share/bash-completion/completions.

_atommon_options() { # _atommon_options COMMAND...: long options from its help
	"$@" --help 2>/dev/null | grep -oE -- '(^|[ ,])--[a-z][a-z0-9-]*' | tr -d ' ,' | sort -u
}

_atommon_files() { # _atommon_files WORD SUFFIX...: files that end so, and directories
	local word=$1 suffix
	shift
	compgen -d -- "$word"
	for suffix in "$@"; do
		compgen -f -X "!*$suffix" -- "$word"
	done
}

_atommon_values() { # _atommon_values OPTION: what it takes, if that is a fixed set
	case $1 in
	--model) echo auto sync avp value ctp tso pso sc coherence ;;
	--engine) echo auto smt dpor enumerate ;;
	--conflicts) echo auto data locks both ;;
	--format) echo text json sarif ;;
	--atomic) echo marked sections fn: ;;
	--property) echo all outcome race atomicity assert ;;
	*) return 1 ;;
	esac
}

_atommon() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} tool=${COMP_WORDS[0]##*/} values
	local -a ask=("$tool")

	COMPREPLY=()
	if [ "$tool" = atommon ]; then
		if [ "$COMP_CWORD" -eq 1 ]; then
			mapfile -t COMPREPLY < <(compgen -W 'run check predict dump litmus cc c++ doctor help' -- "$word")
			return
		fi
		tool=atommon-${COMP_WORDS[1]}
		ask=("${COMP_WORDS[0]}" "${COMP_WORDS[1]}")
	fi
	if values=$(_atommon_values "$before"); then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
		return
	fi
	case $tool:$word in
	atommon-cc:* | atommon-c++:*) mapfile -t COMPREPLY < <(compgen -f -W '--symbolic' -- "$word") ;;
	*:-*) mapfile -t COMPREPLY < <(compgen -W "$(_atommon_options "${ask[@]}")" -- "$word") ;;
	atommon-litmus:*) mapfile -t COMPREPLY < <(_atommon_files "$word" .litmus) ;;
	atommon-help:*) mapfile -t COMPREPLY < <(compgen -W 'run check predict dump litmus cc doctor env' -- "$word") ;;
	atommon-run:* | atommon-doctor:*) mapfile -t COMPREPLY < <(compgen -c -f -- "$word") ;;
	*) mapfile -t COMPREPLY < <(_atommon_files "$word" .atm .std .txt) ;;
	esac
}

complete -o filenames -F _atommon atommon atommon-run atommon-check atommon-predict atommon-dump \
	atommon-litmus atommon-doctor atommon-cc atommon-c++
