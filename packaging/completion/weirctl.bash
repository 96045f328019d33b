# SPDX-License-Identifier: GPL-2.0-or-later
# Completion for weirctl: commands, what can be shown, options, files; paths from the server's schema are not asked for.
# shellcheck shell=bash
_weirctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' i words=''
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-u | --url | --token | --fingerprint | --cacert) ((i++)) ;;
		-*) ;;
		*) command=${COMP_WORDS[i]}; break ;;
		esac
	done
	case $prev in
	--cacert) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	-u | --url | --token | --fingerprint | -c | --confirm | -m | --comment | -n | --limit | --before | --user) return ;;
	esac
	if [[ $cur == -* ]]; then
		words='--url --token --fingerprint --cacert --json --help'
		case $command in
		commit) words+=' --confirm --comment --restart --yes' ;;
		rollback) words+=' --confirm --comment --restart --yes --dry-run' ;;
		set | delete) words+=' --now --confirm --comment --restart' ;;
		show) words+=' --limit --before' ;;
		login) words+=' --user --password-stdin --yes' ;;
		passwd) words+=' --user --password-stdin' ;;
		rebase) words+=' --mine' ;;
		esac
	else
		case $command in
		'') words='show set insert delete merge load diff discard rebase commit confirm revert rollback watch top info login logout passwd version help' ;;
		show) [ "$prev" = show ] && words='config candidate ports shapers classes workers drops revisions revision pending schema users tokens audit' ;;
		watch) words='stats revision alarm' ;;
		help) words='show set insert delete merge load diff discard rebase commit confirm revert rollback watch top info login logout passwd version' ;;
		merge | load) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _weirctl weirctl
