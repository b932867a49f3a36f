# Ends: exits, `set -e` and interrupts end the eval and not the shell.

# Back to the prompt from wherever we are. SIGINT is the only way out of every nesting of functions,
# sourced files, evals and traps at once; a trap of the user's for it would keep us here.
__stead_abort() {
    if [[ -n $__stead_has_int ]]; then
        __stead_int=$(\builtin trap -p INT)
        \builtin trap - INT
    fi
    \builtin kill -INT "$$"
    \builtin :
}

# The same from within a trap for a signal. An ERR trap that is left from within another trap would never run again, so it is
# left by itself. Whether one is running shows in whether another begins.
__stead_abort_soon() {
    __stead_probing=1
    \__stead_ret 1
    if [[ -n $__stead_probing ]]; then __stead_probing= __stead_nudged=1; else __stead_abort; fi
}

# Takes `$?` and the arguments of `exit`. Comes back only where a real exit is meant.
__stead_exit() {
    \builtin local -
    \builtin set +eukx
    __stead_rc=$1
    if (($# > 1)); then
        if [[ $2 =~ ^[-+]?[0-9]+$ ]]; then __stead_rc=$((10#${2#[-+]} & 255)); else __stead_rc=2; fi
        if [[ $2 == -* ]]; then __stead_rc=$((-__stead_rc & 255)); fi
    fi
    if [[ ${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))} != "$$" || -n $__stead_leaving || -z $__stead_cur ]]; then \builtin return 0; fi
    __stead_end=exit __stead_code=$__stead_rc
    __stead_abort
}

# Signals that would end the shell at once, of which its way out would not tell the number. Not those of a fault in the shell
# itself: a trap for one would come back to the fault for ever.
__stead_SIGNALS=(HUP USR1 USR2 ALRM PIPE XCPU XFSZ VTALRM SYS)

__stead_trap_signal() { \builtin trap "{ \\__stead_struck $1; } 2>/dev/null" "$1"; }

# The trap for such a signal: it ends the code that runs. A shell that runs none ends by it. One that comes while code that has
# ended is being reported does nothing: it may come from what the bridge itself does then, under a `ulimit -f` of the user's.
__stead_struck() {
    \builtin local -
    \builtin set +eukx
    # A subshell may find one waiting that came to us before it was born.
    if [[ ${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))} != "$$" ]]; then \builtin return 0; fi
    if [[ -z $__stead_cur ]]; then
        \builtin trap - "$1"
        \builtin kill -"$1" "$$"
    elif [[ -z $__stead_end ]]; then
        __stead_end=signal __stead_code=$((128 + $(\builtin kill -l "$1")))
        __stead_abort_soon
    fi
}

# After a `trap` of the user's that left the signal without one.
__stead_untrapped() {
    \builtin local __s_name="$1" __s_signal
    if [[ $__s_name != *[!0-9]* ]]; then __s_name=$(\builtin kill -l "$__s_name"); fi
    __s_name=${__s_name^^} __s_name=${__s_name#SIG}
    for __s_signal in "${__stead_SIGNALS[@]}"; do
        if [[ $__s_signal == "$__s_name" ]]; then __stead_trap_signal "$__s_name"; fi
    done
}

# The ERR trap's last word: what `set -e` would end the shell for ends the eval.
__stead_err() {
    \builtin local -
    \builtin set +k
    \builtin local __s_on= __s_command="$2"
    if [[ -o errexit ]]; then __s_on=1; fi
    \builtin set +eux
    if [[ -n $__stead_probing ]]; then
        __stead_probing=
        \builtin return 0
    fi
    if [[ -n $__stead_nudged && ${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))} == "$$" ]]; then __stead_abort; fi
    if [[ -z $__s_on || ${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))} != "$$" || -z $__stead_cur || -n $__stead_end ]]; then \builtin return 0; fi
    if [[ $2 == *'builtin return "$?"' ]]; then __s_command=read; fi
    __stead_end=errexit __stead_code=$__stead_rc __stead_where="line $1: $__s_command"
    # Lines of functions have numbers of their own in an interactive shell.
    if [[ ${FUNCNAME[1]-} != source ]]; then __stead_where="${FUNCNAME[1]-}: $__s_command"; fi
    # A `return` at the top: what failed is the command by which we run the code.
    if [[ $2 == *'$__stead_src'* ]]; then __stead_where=; fi
    __stead_abort
}

# Whether the user's own ERR trap is to run, told by the status that it shall see: never for our own command, and in
# functions and subshells only if errtrace was asked for. Simple commands only: others would be the user's
# `$BASH_COMMAND` in Bash 4.4.
__stead_may() {
    __stead_rc=$1
    \builtin test -z "$__stead_probing" || \builtin return 0
    \builtin test "${2#*\$__stead_src}" = "$2" || \builtin return 0
    \builtin test -z "$__stead_trace" || \builtin return "$1"
    \builtin test "${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))}" = "$$" || \builtin return 0
    \builtin test "$((${#FUNCNAME[@]} - 2))" -le "$__stead_depth" || \builtin return 0
    \builtin return "$1"
}

# Sets the ERR trap: the user's action, if any, and ours behind it. An error in the action ends nothing.
__stead_trap_err() {
    __stead_user_err=$1
    \builtin local -
    \builtin set +k
    \builtin local __s_text='{ __stead_rc=$?; } 2>/dev/null; '
    if [[ -n $1 ]]; then
        __s_text="{ \\__stead_may \"\$?\" \"\$BASH_COMMAND\"; } 2>/dev/null || \\builtin eval ${1@Q} || \\builtin :; "
    fi
    \builtin trap -- "$__s_text"'{ \__stead_err "$LINENO" "$BASH_COMMAND"; } 2>/dev/null' ERR
}

__stead_nothing='\builtin :'

# After a `trap` of the user's that worked: ours go where the user's were set. An EXIT trap writes to the
# user's streams, which the shell has taken back by then.
__stead_trapped() {
    \builtin local -
    \builtin set +k
    \builtin local __s_action= __s_set= __s_sig
    if [[ ${1-} == -- ]]; then \builtin shift; fi
    if [[ ${1-} == -[lp]* || ${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))} != "$$" ]]; then \builtin return 0; fi
    if (($# > 1)); then
        if [[ $1 != - ]]; then __s_action=$1 __s_set=1; fi
        \builtin shift
    fi
    for __s_sig; do
        case $__s_sig in
        2 | [Ii][Nn][Tt] | [Ss][Ii][Gg][Ii][Nn][Tt]) __stead_has_int=$__s_set ;;
        [Rr][Ee][Tt][Uu][Rr][Nn]) __stead_trap_watch RETURN "$__s_action" ;;
        [Ee][Rr][Rr]) __stead_depth=$((${#FUNCNAME[@]} - 3)); __stead_trap_err "$__s_action" ;;
        0 | [Ee][Xx][Ii][Tt] | [Ss][Ii][Gg][Ee][Xx][Ii][Tt]) __stead_trap_exit "$__s_action" ;;
        *) if [[ -z $__s_set ]]; then __stead_untrapped "$__s_sig"; fi ;;
        esac
    done
}

# Sets traps one by one, that for DEBUG last and not as the user gave it, since it may keep all that follows from running.
__stead_trap_each() {
    \builtin local -
    \builtin set +k
    \builtin local __s_rc=0 __s_action=- __s_sig __s_watch=
    if [[ $1 == -- ]]; then \builtin shift; fi
    if (($# > 1)); then
        __s_action=$1
        \builtin shift
    fi
    for __s_sig; do
        case $__s_sig in
        [Dd][Ee][Bb][Uu][Gg]) __s_watch=1 ;;
        *)
            if \builtin trap -- "$__s_action" "$__s_sig"; then __stead_trapped "$__s_action" "$__s_sig"; else __s_rc=1; fi ;;
        esac
    done
    if [[ $__s_action == - ]]; then __s_action=; fi
    if [[ -n $__s_watch ]]; then __stead_trap_watch DEBUG "$__s_action"; fi
    \builtin return "$__s_rc"
}

# Sets a trap for DEBUG or RETURN: the user's action, where it is not a command of ours that begins, or a function or the
# text of the eval itself that ends. With extdebug such an action could keep our own commands from running. `case` leaves
# `$?` as it was. A function cannot take these traps away, only put others in their places.
__stead_trap_watch() {
    \builtin local __s_text
    __stead_watch_text "$1" "$2"
    \builtin trap -- "$__s_text" "$1"
}

# Notes the action and sets `text` of the caller to that of such a trap.
__stead_watch_text() {
    \builtin local __s_action="$2" __s_where='$BASH_COMMAND/${FUNCNAME-} in *__s[t_]* | \\builtin\ * | */exit | */trap | */read'
    __s_text=$__stead_nothing
    # In POSIX mode Bash lists a trap that is not set like this.
    if [[ $__s_action == - ]]; then __s_action=; fi
    if [[ $1 == RETURN ]]; then
        __s_where='${#BASH_SOURCE[@]}${FUNCNAME-} in 0 | *__s[t_]* | *[0-9]exit | *[0-9]trap' __stead_user_return=$__s_action
    else
        __stead_user_debug=$__s_action
    fi
    if [[ -n $__s_action ]]; then __s_text="case $__s_where) ;; *) \\builtin eval ${__s_action@Q} ;; esac"; fi
}
__stead_user_debug= __stead_user_return=

# Sets the EXIT trap: ours, and the user's action behind it. It writes to the user's streams, which the shell has
# taken back by then.
__stead_trap_exit() {
    \builtin local -
    \builtin set +k
    # An interrupt would cut short what the shell does on its way out, and end it.
    \builtin local __s_text='{ __stead_rc=$?; if [[ -z $__stead_has_int ]]; then \builtin trap "" INT; fi; \__stead_salvage "$__stead_rc" "$@"; } 2>/dev/null'
    __stead_user_exit=$1
    if [[ -n $1 ]]; then
        __s_text+="; __stead_leaving=1; \\exec >&46 2>&47; \\__stead_ret \"\$__stead_rc\"; \\builtin eval ${1@Q}"
    fi
    \builtin trap -- "$__s_text" EXIT
}

# An error in an expansion ends a shell with `set -e` at once, without an ERR trap, and two interrupts at a bad moment
# may end any. If it was not asked to, it becomes another shell on its way out, with the same process id, which takes
# up what it was. What no shell can hand on are its background jobs.
__stead_salvage() {
    # What the user has hidden or disabled is not carried on.
    \unset -f builtin exec
    \builtin enable . : alias builtin compgen declare eval exec exit export jobs kill local mapfile printf read readonly return set shift shopt test trap unset || \enable builtin
    if [[ -n ${FUNCNEST-} ]]; then __stead_nest=$FUNCNEST; \builtin printf -v FUNCNEST ''; fi
    \builtin local -
    __stead_rc=$1
    if __stead_is_meant; then
        if [[ -z $__stead_has_int ]]; then \builtin trap - INT; fi
        \builtin return 0
    fi
    __stead_k=+k
    if [[ -o keyword ]]; then __stead_k=-k; fi
    \builtin set +k
    \builtin local IFS=$'\n' __s_name __s_options __s_errexit __s_ends
    \builtin local -a __s_names
    # An interrupt would end us now, and what tells us our state: an ignored one ends no subshell either.
    if [[ -n $__stead_has_int ]]; then __s_name=$(\builtin trap -p INT); else __s_name=; fi
    # One that is on its way out by an `exit` has put it away already.
    if [[ -n $__s_name && $__s_name != *__stead_early* ]]; then __stead_int=$__s_name; fi
    \builtin trap '' INT
    if [[ -z $__stead_end && $__stead_rc != 130 ]]; then
        __stead_end=exit __stead_code=$__stead_rc __stead_where=$BASH_COMMAND
        if [[ -o errexit ]]; then __stead_end=errexit; fi
    fi
    \builtin shift
    if [[ $__stead_where == *__stead_* ]]; then __stead_where='a command'; fi
    __s_errexit=
    if [[ -o errexit ]]; then __s_errexit=$'\nset -e'; fi
    if [[ $__stead_k == -k ]]; then __s_errexit+=$'\nset -k'; fi
    \builtin set +t
    # In this order, since `shopt -u extdebug` takes errtrace and functrace with it.
    __s_options=$(\builtin shopt -p; \builtin set +o; \builtin :)
    # To switch one of these off sets BASH_COMPAT, which nobody asked for.
    __s_options=${__s_options//shopt -u compat??$'\n'/}
    \builtin set -f +eux
    __stead_text=$__stead_src __stead_src='\builtin set --' __stead_jobs=$(\builtin jobs -p)
    for __s_name; do __stead_src+=" ${__s_name@Q}"; done
    __stead_src+=$'\n'$(\builtin trap -p; \builtin alias -p)$'\n\\builtin trap "__stead_early=1" INT'
    for __s_name in $(\builtin compgen -v); do
        case $__s_name in
        BASH_ALIASES | BASH_CMDS | BASH | BASHOPTS | BASHPID | BASH_[ACRSLV]* | _ | PPID | UID | EUID | *RANDOM | LINENO | EPOCH* | FUNCNAME | PIPESTATUS | \
            SHELLOPTS | DIRSTACK | GROUPS | HISTCMD | PROMPT_COMMAND | __stead_src | IFS) ;;
        *) __s_names+=("$__s_name") ;;
        esac
    done
    # Names that are declared and have no value are in no such list.
    for __s_name in $(\builtin declare -p); do
        if [[ $__s_name == 'declare -'+([a-zA-Z])' '+([a-zA-Z0-9_]) && $__s_name != *' '@(__s_*|BASH*|FUNCNAME|DIRSTACK|GROUPS|HISTCMD|PIPESTATUS) ]]; then
            __stead_src+=$'\n'$__s_name
        fi
    done
    # Options last: they may stop what comes before. Subshells lose `set -e`.
    __stead_src+=$'\n'$(\builtin declare -p -- "${__s_names[@]}"; \builtin declare -f)$'\n'$__s_options$__s_errexit
    PROMPT_COMMAND='\builtin trap "__stead_early=1" INT; __stead_src=$(</dev/fd/49); \exec 49<&-; \builtin eval "$__stead_src"; \builtin eval "$__stead_resume"'
    \builtin export PROMPT_COMMAND HISTFILE=/dev/null
    __stead_recover
    # Coprocesses live on with the process that they belong to; their descriptors would close. Bash undoes what is put
    # over one that closes at exec, so they are closed first.
    __stead_coprocesses
    # It may be readonly, and an assignment would end everything.
    \builtin printf -v IFS ' '
    for __s_name in $__s_ends; do
        \exec 0<&"$__s_name"
        \builtin eval "\\exec $__s_name<&-; \\exec $__s_name<&0"
    done
    \exec <&44 >&44 2>&44
    \builtin trap '__stead_early=1' INT
    # The text of the code that ran.
    \exec 39<&-
    \exec "$BASH" --noprofile --norc --noediting -i 49<<<"$__stead_src"
}

# Whether a shell that is on its way out with __stead_rc shall end.
__stead_is_meant() {
    if [[ ${#__stead_rounds} -gt __stead_ROUNDS ]]; then \builtin return 0; fi
    if [[ ${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))} != "$$" || -z $__stead_cur || -n $__stead_leaving ]]; then \builtin return 0; fi
    # What ends with 0 was ended by no error, but by an `exit` that is meant, or by a signal, which its end tells.
    if [[ -z $__stead_end && $__stead_rc == 0 ]]; then \builtin return 0; fi
    [[ -z $__stead_end && $__stead_rc != 130 && $__stead_src =~ (builtin|command)[[:space:]]+exit ]]
}

__stead_resume='__stead_src=$__stead_text; \builtin unset HISTFILE PROMPT_COMMAND; \exec 0<<<"$__stead_again"; \__stead_trap_exit "$__stead_user_exit"; \__stead_trap_err "$__stead_user_err"; if [[ -n $__stead_user_return ]]; then \__stead_trap_watch RETURN "$__stead_user_return"; fi'

# Where the redirections of the eval still hold, our descriptors are where they were put away, in this order; the last
# such place counts, since an interrupt may have left others. A copy of one that closes at exec closes too, unless
# it is one of the first three.
__stead_recover() {
    \builtin local __s_from= __s_to
    if [[ -S /dev/fd/40 ]]; then \builtin return 0; fi
    for __s_to in {49..99}; do
        if [[ -S /dev/fd/$__s_to && -e /dev/fd/$((__s_to + 7)) ]]; then __s_from=$__s_to; fi
    done
    if [[ -z $__s_from ]]; then \builtin return 0; fi
    for __s_to in 40 41 42 43 45 46 47 48; do
        \exec 0<&"$((__s_from++))"
        \builtin eval "\\exec $__s_to<&0"
    done
}

# Back at the prompt. What was left from within two traps at once may keep an ERR trap from ever running again, and
# only another shell runs it. One failing command tells; and it makes Bash before 5.1 forget that a trap was running.
__stead_mend() {
    \builtin local -
    \builtin set +eukx -E
    if [[ -z $__stead_cur ]]; then \builtin return 0; fi
    if [[ ! -S /dev/fd/40 ]]; then
        __stead_recover
        \exec 0<<<"$__stead_again"
    fi
    if [[ -n $__stead_leaks && -z $__stead_end ]]; then __stead_close; fi
    __stead_probing=1
    \__stead_ret 1
    if [[ -n $__stead_probing ]]; then
        __stead_probing=
        __stead_salvage 130 "$@"
    fi
}

# Bash before 5.1 leaves open the pipe of a command substitution that is interrupted: closes pipes that the eval made
# and that are no coprocess's.
__stead_close() {
    \builtin local IFS=' ' __s_fd __s_ends
    \builtin set +f
    __stead_coprocesses
    for __s_fd in /dev/fd/*; do
        if [[ ! -p $__s_fd || " $__stead_fds $__s_ends " == *" ${__s_fd##*/} "* ]]; then \builtin continue; fi
        __s_fd=${__s_fd##*/}
        if ((__s_fd > 2 && (__s_fd < 40 || __s_fd > 48))); then \builtin eval "\\exec $__s_fd<&-"; fi
    done
}

# Sets __s_ends of the caller to the descriptors of all coprocesses: what arrays name of which there is a process, too.
__stead_coprocesses() {
    \builtin local IFS=$' \n' __s_name __s_pid __s_fd __s_both
    __s_ends=
    for __s_name in $(\builtin compgen -A arrayvar); do
        __s_pid=${__s_name}_PID
        if [[ -z ${!__s_pid-} ]]; then \builtin continue; fi
        \builtin eval "__s_both=\"\${$__s_name[0]-} \${$__s_name[1]-}\""
        for __s_fd in $__s_both; do
            if [[ $__s_fd =~ ^[1-9][0-9]*$ && $__s_fd -gt 2 && -p /dev/fd/$__s_fd ]]; then __s_ends+=" $__s_fd"; fi
        done
    done
}

# Lists traps as the user set them.
__stead_traps() {
    \builtin local -
    \builtin set -f +eukx
    \builtin local IFS=$'\n' __s_line
    for __s_line in $(\builtin trap "$@"); do
        case $__s_line in
        *'\__stead_nudge'* | *'\__stead_struck '* | *"'$__stead_nothing' DEBUG" | *"'$__stead_nothing' RETURN" | *"'case "*'__stead_'*) ;;
        *'\__stead_err '*)
            if [[ -n $__stead_user_err ]]; then \builtin printf '%s\n' "trap -- ${__stead_user_err@Q} ERR"; fi ;;
        *'\__stead_salvage '*)
            if [[ -n $__stead_user_exit ]]; then \builtin printf '%s\n' "trap -- ${__stead_user_exit@Q} EXIT"; fi ;;
        *) \builtin printf '%s\n' "$__s_line" ;;
        esac
    done
    # A function does not see these two.
    for __s_line in DEBUG RETURN; do
        if (($# > 1)) && [[ $'\n'"${*:2}"$'\n' != *$'\n'"$__s_line"$'\n'* ]]; then \builtin continue; fi
        if [[ $__s_line == DEBUG && -n $__stead_user_debug ]]; then \builtin printf '%s\n' "trap -- ${__stead_user_debug@Q} DEBUG"; fi
        if [[ $__s_line == RETURN && -n $__stead_user_return ]]; then \builtin printf '%s\n' "trap -- ${__stead_user_return@Q} RETURN"; fi
    done
}

# What the host sends when an interrupt had no effect. It may have come just before a read, which the signal alone
# ends now, or in the moment in which the trap for SIGINT was changed. One of the user's own is not called again.
__stead_nudge() {
    \builtin local -
    \builtin set +eukx
    # A subshell may find one waiting that came to us before it was born.
    if [[ ${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))} != "$$" || -z $__stead_cur || -n $__stead_end || -n $__stead_has_int ]]; then \builtin return 0; fi
    __stead_abort_soon
}

# Before the end of an eval: the names that this takes.
__stead_clear_way() {
    if ! \builtin enable kill local return set || \builtin declare -F builtin; then \__stead_repair; fi
}

# The names that the user calls. They are set again by `clear`.
__stead_define() {
    \builtin local __s_signal
    __stead_define_exit
    __stead_define_trap
    __stead_trap_err ''
    __stead_trap_exit ''
    \builtin trap '{ \__stead_nudge; } 2>/dev/null' URG
    for __s_signal in "${__stead_SIGNALS[@]}"; do __stead_trap_signal "$__s_signal"; done
}

# After code that has removed one of these, such as a function of its own of that name.
__stead_define_again() {
    # In POSIX mode there is no function of such a name.
    if [[ -o posix ]]; then \builtin return 0; fi
    if ! \builtin declare -F exit; then __stead_define_exit; fi
    if ! \builtin declare -F trap; then __stead_define_trap; fi
}

__stead_define_exit() {
    exit() {
        { __stead_rc=$?; if [[ -n ${FUNCNEST-} ]]; then __stead_nest=$FUNCNEST; \builtin printf -v FUNCNEST ''; fi; \__stead_clear_way; \__stead_exit "$__stead_rc" "$@"; } >/dev/null 2>&1
        { \builtin exit "$__stead_rc"; } 2>/dev/null
    }
}

__stead_define_trap() {
    trap() {
        if [[ ${1--p} == -p ]]; then
            __stead_traps "$@"
            \builtin return
        fi
        if [[ "$*" == *[Dd][Ee][Bb][Uu][Gg]* && ${1-} != -[lp]* ]]; then
            \__stead_trap_each "$@"
            \builtin return
        fi
        \builtin trap "$@" || \builtin return
        { \__stead_trapped "$@"; } >/dev/null 2>&1
    }
}
