# Evals: from a command of the host to user code and back.

# Code that `set -u` or `${x:?}` shall end as a whole is made one command, since such an error only ends the
# command that it is in, which else is a line. What only works line by line stays so: aliases made on the
# way, here-documents without end, syntax errors.
__stead_bind() {
    if [[ $__stead_src == *alias* ]]; then \builtin return 0; fi
    if [[ -n $1 || $__stead_src == *nounset* || $__stead_src == *:\?* || ( $__stead_src == *set*-*u* && $__stead_src =~ set[[:space:]]+-[a-zA-Z]*u ) ]]; then
        if \builtin eval "if ((0)); then { ( $__stead_src$__stead_nl) } fi"; then __stead_src="{ $__stead_src"$'\n}'; fi
    fi
}

# Where the session's stdin is while the redirections of an eval hold (see __stead_recover).
__stead_find_stdin() {
    \builtin local __s_at
    __stead_stdin=
    for __s_at in {49..99}; do
        if [[ -S /proc/$$/fd/$__s_at && -e /proc/$$/fd/$((__s_at + 7)) ]]; then __stead_stdin=/proc/$$/fd/$((__s_at + 1)); fi
    done
}

# Tells the host that the shell is about to wait for a secret at the descriptor __stead_secret, or, with an argument, that it has
# waited and nothing came, as when its time was over: the next `read` may be for anything. Nothing is told where there is
# input already, nor by a subshell, which is not the process that the host takes this word from.
__stead_announce() {
    if [[ ${BASHPID-$(($$ + ${BASH_SUBSHELL-0}))} != "$$" ]]; then
        __stead_secret=
    elif (($#)); then
        __stead_tell_control "{\"ev\":\"waits_no_more\"}"
    elif \builtin read -t 0 -u "$__stead_secret"; then
        __stead_secret=
    else
        __stead_tell_control "{\"ev\":\"stdin_wait\",\"tid\":$$,\"eval\":\"$__stead_cur\",\"secret\":true}"
    fi
}

# While the redirections of an eval hold the control channel is beside the session's stdin.
__stead_tell_control() { \builtin printf '%s\n' "$1" >&"$((${__stead_stdin##*/} - 1))"; }

# Code may have a `break` or `continue` outside of its loops, and in our loop it would be one of that. So may aliases and
# traps, and commands whose names only come about when they run: `${x}k`, `br\eak`.
__stead_may_leave() {
    \builtin local __s_bare="$1"
    if [[ $__s_bare == *[\"\'\\]* ]]; then __s_bare=${__s_bare//[\"\'\\]/}; fi
    if [[ $__s_bare == *break* || $__s_bare == *continue* || $__s_bare == *eval* || $__s_bare == *source* || $__s_bare == *'. '* ]]; then
        __stead_aside=1
    elif [[ $__s_bare == *[\$\`]* ]] && [[ $__s_bare == *([[:space:]])*([a-z])[\$\`]* || $__s_bare == *[$';&|({!\n']*([[:blank:]])*([a-z])[\$\`]* ||
        $__s_bare == *@(do|then|else|time|if|while|until|elif|command|builtin)+([[:blank:]])*([a-z])[\$\`]* ]]; then
        __stead_aside=1
    fi
}

# Code that may ask, or wants no answer shown, gets a `read` of ours; from then on, since it may have defined functions that ask.
# Other sessions keep Bash's own, which is faster in a loop. No `*(…)` in these patterns: in long code it takes minutes.
__stead_may_ask() {
    if [[ -n $__stead_asking ]]; then \builtin return 0; fi
    if ((${#__stead_src} < 100000)) && [[ $__stead_src != *read*-*p* && $__stead_src != *read*-s* && $__stead_src != *read*-[a-zA-Z]s* && $__stead_src != *read*-[a-zA-Z][a-zA-Z]s* && $__stead_src != *source\ * && $__stead_src != *'. '* ]]; then \builtin return 0; fi
    __stead_asking=1
    if ! \builtin declare -F read >/dev/null; then __stead_define_read; fi
}

# What the eval in __stead_src needs before it; takes whether `set -u` is on, and its id. The user's SIGINT trap comes back
# last: from there on an interrupt ends the eval. Fails if the code is refused.
__stead_prepare() {
    __stead_foresee
    if [[ $__stead_reach == all ]] && __stead_is_incomplete; then
        __stead_refuse "$2"
        \builtin return 1
    fi
    __stead_aside=
    if [[ $__stead_reach == all ]]; then __stead_arm; fi
    if [[ $__stead_src == *$'\n'* ]]; then __stead_bind "$1" 2>/dev/null; fi
    __stead_ran=1 __stead_spawns=1
    __stead_renew
    if [[ -n $__stead_debug$__stead_x ]]; then __stead_put_before; fi
    # It would be run whenever the shell comes back. An assignment to what is readonly would end everything.
    \builtin printf -v PROMPT_COMMAND ''
    __stead_probing= __stead_nudged= __stead_held= __stead_end= __stead_where= __stead_tries=0 __stead_rounds=
    if [[ -n $__stead_leaks ]]; then __stead_note_open; fi
    __stead_cur=$2 __stead_began=${EPOCHREALTIME-}
    __stead_has_int=$__stead_int
    \builtin trap - INT
    if [[ -n $__stead_int ]]; then \builtin eval "\\builtin $__stead_int"; fi
    \builtin return 0
}

# Before code that may change all there is.
__stead_arm() {
    __stead_watched=1
    # What `=~` matched is the user's BASH_REMATCH, so it is used only where it is likely to be needed.
    if [[ $__stead_src == *errtrace* || ( $__stead_src == *set*-*E* && $__stead_src =~ set[[:space:]]+-[a-zA-Z]*E ) ]]; then __stead_trace=1; fi
    if [[ $__stead_src == *set*+*E* && $__stead_src =~ set[[:space:]]+\+[a-zA-Z]*E ]]; then __stead_trace=; fi
    if ((${#__stead_src} > 100000)); then __stead_aside=1; else __stead_may_leave "$__stead_src ${BASH_ALIASES[*]} ${__stead_sprung-}"; fi
    __stead_may_ask
}

# What shows or fires is switched on by the code itself.
__stead_put_before() {
    \builtin local __s_before=
    if [[ -n $__stead_debug ]]; then __s_before="\\builtin $__stead_debug; "; fi
    if [[ -n $__stead_x ]]; then __s_before+="\\builtin set -x; "; fi
    __stead_ran=
    __stead_src="__stead_ran=1; $__s_before$__stead_src"
}

__stead_note_open() {
    \builtin local - __s_fd
    \builtin set +f
    __stead_fds=
    for __s_fd in /dev/fd/*; do
        # All but that of the listing itself.
        if [[ -e $__s_fd ]]; then __stead_fds+=" ${__s_fd##*/}"; fi
    done
}

# Takes commands until there is code to run. Its status is that of the eval before, so that user code finds it in `$?`.
__stead_next() {
    \builtin local -
    \builtin set +k
    \builtin local IFS= __s_nounset= __s_word __s_id __s_early
    if [[ -o nounset ]]; then __s_nounset=1; fi
    # With `set -a` all that was assigned since the end of the user's code is exported.
    if [[ -o allexport ]]; then \builtin export -n "${!__stead_@}"; fi
    \builtin set +euvax -f -E
    # What was prepared and did not run was interrupted before it began.
    if [[ -n $__stead_cur ]]; then
        __s_id=$__stead_cur
        __stead_skip
    fi
    for ((;;)); do
        if [[ -n $__stead_pending ]]; then
            \builtin :
        elif [[ -n $__stead_fixed ]]; then
            __stead_read_fixed || __stead_quit
        else
            \builtin read -r -u 40 __stead_line || __stead_read_on "$?" || __stead_quit
        fi
        # All signals that were meant for the eval before have come by now.
        __s_early=$__stead_early __stead_early=
        __s_word=${__stead_line%% *} __s_id=${__stead_line#* }
        __s_id=${__s_id% *}
        if [[ $__stead_pending != text ]]; then __stead_read_bytes "${__stead_line##* }" || __stead_quit; fi
        __stead_pending=
        if [[ $__s_word == eval || $__s_word == work && $__s_id == *' stdlib' ]]; then
            __stead_src=$__stead_text __stead_is_stdlib=
            if [[ $__s_word == work ]]; then __stead_begin_stdlib; fi
            if [[ -n $__s_early ]]; then __stead_was_early; fi
            if ! __stead_prepare "$__s_nounset" "$__s_id"; then \builtin continue; fi
            if [[ -z $__stead_early ]]; then
                if [[ -n $__stead_nest${__stead_off-} ]]; then __stead_give_back; fi
                if [[ -n $__stead_aside ]]; then \builtin return 0; fi
                \builtin return "$__stead_st"
            fi
            __stead_skip
        elif __stead_serve; then
            \builtin return 0
        fi
    done
}

# A signal came before this eval: whether it was for it is told by the next line.
__stead_was_early() {
    if \builtin read -t 0 -u 40; then
        __stead_read_line || __stead_quit
        if [[ $__stead_line == "interrupt $__s_id 0" ]]; then __stead_early=1; fi
    fi
}

# The eval was interrupted before it began.
__stead_skip() {
    __stead_cur= __stead_work=
    \builtin trap '__stead_early=1' INT
    __stead_early=
    __stead_send "{\"ev\":\"done\",\"eval\":\"$__s_id\",\"status\":\"interrupted\"}"
}

# Carries out a command that is no eval. Fails unless there is code to run for it.
__stead_serve() {
    case $__s_word in
    query) __stead_query "${__s_id%% *}" "${__s_id#* }" "$__stead_text" ;;
    clear)
        __stead_src=$__stead_clear __stead_reach=all __stead_watched=1
        # All, not those that were known when there were too many to list.
        if [[ -n $__stead_many || ${#__stead_sig[@]} -ge __stead_MANY ]]; then __stead_listed "$(\builtin compgen -v -X "__stead_*")"; fi
        __stead_held= __stead_end= __stead_where= __stead_tries=0 __stead_rounds= __stead_cur=@$__s_id
        \builtin return 0 ;;
    work)
        __stead_take_work "${__s_id#* }"
        \builtin return ;;
    last) __stead_last=1 ;;
    exit) __stead_leave ;;
    esac
    \builtin return 1
}

# The code ran to its end. Fails if it may have put other streams in the place of its own.
__stead_note() {
    __stead_end=normal __stead_code=$1
    [[ $__stead_reach != all ]]
}

# Keeps the user's streams, which are 41 to 43 here, for the next eval: an `exec >file` stays. They are put where Bash
# finds room: numbers of our choice may be the user's, and those of a coprocess are 63 and below.
__stead_keep() { \exec {__stead_in}<&41 {__stead_out}>&42 {__stead_say}>&43 && __stead_held=1; }

# Takes what was kept; what was closed is given back.
__stead_kept() {
    # Code that closes all it can close leaves us its own streams.
    if [[ ! -e /dev/fd/44 ]]; then \exec 44<>/dev/null; fi
    if [[ /dev/fd/0 -ef /dev/fd/45 ]]; then \exec 0<<<"$__stead_again"; fi
    \exec >&44 2>&44
    if [[ -n $__stead_held ]]; then
        __stead_held=
        \exec 45<&"$__stead_in" 46>&"$__stead_out" 47>&"$__stead_say" {__stead_in}<&- {__stead_out}>&- {__stead_say}>&-
    else
        \exec 45<&41 46>&42 47>&43
    fi
}

# Programs of an earlier eval (Node) may have made the pipes that are the user's streams non-blocking, and been killed before
# they undid that: others would lose output, and `read` fail. This holds for all who have the pipe from the same `open`, so
# it is opened anew, which leaves those alone that still run. 04000 of the octal flags is O_NONBLOCK.
__stead_renew() {
    \builtin local __s_fd __s_flags
    for __s_fd in 45 46 47; do
        # The first line is `pos:`, the second `flags:`, the third begins with an m.
        if \builtin read -r -dm __s_flags <"/proc/self/fdinfo/$__s_fd" && [[ $__s_flags == *[4-7]??[0-7]?($'\n') && -p /dev/fd/$__s_fd ]]; then __stead_reopen "$__s_fd"; fi
    done
}

# Opens the pipe at this descriptor once more. An `open` for one direction waits until somebody has the other end, so both are
# held meanwhile.
__stead_reopen() {
    \builtin local __s_both __s_way='>|'
    if (($1 == 45)); then __s_way='<'; fi
    \builtin eval "\\exec {__s_both}<>/dev/fd/$1 $1$__s_way/dev/fd/$1 {__s_both}>&-" || \builtin :
}

# Adds the event for a status that is not 0.
__stead_failed() {
    \builtin local __s_message="exit status $__stead_code" __s_name=ExitStatus __s_said
    if [[ -n $__stead_work ]]; then
        __stead_work_failed
        \builtin return 0
    fi
    if ((__stead_code > 128)) && __s_said=$(\builtin kill -l "$__stead_code"); then __s_message+=" ($__s_said)"; fi
    case $__stead_end in
    errexit)
        # A syntax error, too, ends a shell with `set -e` at once.
        if ((__stead_code > 2)) || [[ $__stead_where == line\ * ]] || ! __stead_syntax; then
            __s_message+="${__stead_where:+ by \`set -e\` in $__stead_where}"
        fi ;;
    normal) __stead_syntax ;;
    signal) __s_message+=': the shell itself got this signal, which ended the code' ;;
    esac
    __stead_quote "${__s_message:0:2000}"
    __s_events+="{\"ev\":\"error\",\"name\":\"$__s_name\",\"message\":$__stead_q}"$'\n'
}

# Whether the code cannot be read; sets name and message of the caller.
__stead_syntax() {
    \builtin local __s_said __s_other
    if ((__stead_code != 2 && (BASH_VERSINFO[0] > 4 || __stead_code != 1))); then \builtin return 1; fi
    # In a branch that is never taken, and after another error than one in `[[`: see incomplete.bash.
    \builtin eval if 2>/dev/null
    if __s_said=$(\builtin eval "if ((0)); then { ( :; $__stead_src$__stead_nl) } fi" 2>&1); then \builtin return 1; fi
    # A stray `)` closes the bracket that was put before the code, so that Bash stumbles only later. In braces it does not.
    __s_other=$(\builtin eval "if ((0)); then { { :; $__stead_src$__stead_nl} } fi" 2>&1)
    __s_said=${__s_said%%$'\n'*} __s_other=${__s_other%%$'\n'*}
    __s_said=${__s_said#*bash: eval: } __s_other=${__s_other#*bash: eval: }
    if __stead_is_earlier; then __s_said=$__s_other; fi
    __stead_name_line
    __s_name=SyntaxError __s_message="$__stead_cur: $__s_said"
}

# Whether the error `other` of the caller stands before its error `said`, both of which begin with `line N:`. In one line a
# stray `)` that only `other` names is the first.
__stead_is_earlier() {
    \builtin local __s_here="${__s_said%%:*}" __s_there="${__s_other%%:*}"
    if [[ $__s_here != *[0-9] || $__s_there != *[0-9] ]]; then \builtin return 1; fi
    __s_here=${__s_here//[!0-9]/} __s_there=${__s_there//[!0-9]/}
    ((10#$__s_there < 10#$__s_here)) || [[ $__s_there == "$__s_here" && $__s_other == *\)* && $__s_said != *\)* ]]
}

# Makes the line in `said` of the caller, which begins with `line N:`, one that the code has: of code that ends too early Bash
# names the line after the last.
__stead_name_line() {
    \builtin local __s_line="${__s_said%%:*}"
    \builtin local -a __s_lines
    if [[ $__s_line != *[0-9] ]]; then \builtin return 0; fi
    __s_line=${__s_line//[!0-9]/}
    \builtin mapfile -t __s_lines <<<"${__stead_src%"$__stead_nl"}"
    if ((10#$__s_line > ${#__s_lines[@]})); then __s_said=${__s_said/"$__s_line"/"${#__s_lines[@]}"}; fi
}

# Takes in what was seen of the shell after an eval that may have changed it: traps, and names for __stead_changed. If it was
# interrupted itself it leaves the names out.
__stead_learn() {
    \builtin local __s_int __s_list
    if [[ $__stead_reach == named ]]; then
        if ((__stead_tries++ == 0)); then __stead_tell; fi
        \builtin return 0
    fi
    __stead_nocase=
    if [[ :$__stead_opts: == *:nocasematch:* ]]; then __stead_nocase=1; fi
    __stead_fixed=
    # shellcheck disable=SC2031  # no subshell has changed it here
    if [[ ${LC_ALL@a}${IFS@a} == *r* ]]; then __stead_fixed=1; fi
    if [[ -n $__stead_look ]]; then __stead_parts; fi
    # What was cut off tells nothing.
    if [[ ${__stead_seen[6]-} != "end $__stead_cur" ]]; then __stead_tries=1; fi
    # Code that does not even begin leaves what would have been switched on before it.
    if [[ -n $__stead_ran && $__stead_tries == 0 ]]; then
        __stead_x=$__s_x __stead_debug=${__stead_seen[0]-}
        if [[ $__stead_debug == *'trap -- '* && $__stead_debug != *"$__stead_nothing"* ]]; then __stead_debug="trap -- ${__stead_debug#*trap -- }" __stead_debug=${__stead_debug%$'\n'}; else __stead_debug=; fi
    fi
    __s_int=${__stead_seen[2]-}
    if [[ $__s_int == *__stead_early=1* ]]; then __s_int=; fi
    # Work runs without it.
    if [[ -n $__stead_work ]]; then __s_int=$__stead_int; fi
    if [[ -n $__s_int || ( $__stead_tries == 0 && $__stead_end != exit && $__stead_end != errexit && $__stead_end != signal ) ]]; then __stead_int=$__s_int; fi
    __stead_tries=$((__stead_tries + 1))
    if ((__stead_tries > 1)); then \builtin return 0; fi
    __stead_sprung=
    if [[ ${__stead_seen[1]} == "$__stead_own_traps" ]]; then __stead_watched=; else __stead_sprung=${__stead_seen[1]}; fi
    if [[ $__stead_nl${__stead_seen[3]} != *"${__stead_nl}exit$__stead_nl"* || $__stead_nl${__stead_seen[3]} != *"${__stead_nl}trap$__stead_nl"* ]]; then __stead_define_again; fi
    __s_list=${__stead_seen[5]} __s_list=${__s_list%"$__stead_nl"}
    if [[ $__s_list == - ]]; then
        __s_list=
        if [[ -z $__stead_many ]]; then __s_notice=$__stead_UNLISTED; fi
        __stead_many=1
    fi
    __stead_tell "$__s_list" "${__stead_seen[3]%"$__stead_nl"}" "${__stead_seen[4]%"$__stead_nl"}"
}

# Sets __stead_changed, whatever the user has made of the shell. A name that cannot be looked at ends what is evaluated:
# that, and not everything.
__stead_tell() {
    \builtin local __s_case=
    if [[ :$BASHOPTS: == *:nocasematch:* ]]; then
        \builtin shopt -u nocasematch
        __s_case=1
    fi
    \builtin eval '__stead_changes "$@"'
    if [[ -n $__s_case ]]; then \builtin shopt -s nocasematch; fi
}

# Reports the eval. Like all that every eval calls it is short: to call a function Bash copies the whole of it.
__stead_finish() {
    # First, because Bash 5.0 does not give back the options that `local -` keeps when an interrupt leaves a function.
    \builtin trap '__stead_early=1' INT
    \builtin local - IFS=$' \t\n' __s_events= __s_more= __s_notice= __s_x= __stead_changed=
    if [[ -o xtrace ]]; then __s_x=1; fi
    \builtin set +euvkax -f
    if [[ $__stead_reach != nothing ]]; then __stead_learn; fi
    # Off while our own text is read.
    __stead_aliases=-u
    if [[ :$__stead_opts: == *:expand_aliases:* || $__stead_end != normal ]]; then __stead_aliases=-s; fi
    if [[ $__stead_reach == all || $__stead_end != normal ]]; then __stead_kept; fi
    \builtin jobs >/dev/null
    if [[ $__stead_cur == @* ]]; then
        __stead_cleared
        \builtin return 0
    fi
    if [[ -n $__stead_work ]]; then __stead_worked; fi
    if [[ -n $__stead_is_stdlib ]]; then __stead_end_stdlib; fi
    if [[ -n $__stead_last ]]; then __stead_end_all; fi
    # A command that takes the signal for itself leaves the shell to go on, so the host may have sent an interrupt.
    if [[ $__stead_end$__stead_code == normal0 ]] && ! \builtin read -t 0 -u 40; then
        __s_events+="{\"ev\":\"done\",\"eval\":\"$__stead_cur\",\"status\":\"ok\",\"exit_code\":0"
    else
        __stead_judge
    fi
    if [[ -n $__stead_jobs$__stead_told$__s_notice || $PWD != "$__stead_pwd" ]]; then __stead_notify; fi
    if [[ -n $__stead_changed ]]; then __s_more+=",\"changed\":$__stead_changed"; fi
    # Only the user's own code leaves a status.
    if [[ -z $__stead_work ]]; then __stead_st=$__stead_code; fi
    __stead_work= __stead_cur= __stead_src= __stead_way= __stead_count=$((${#__stead_mine[@]} + ${#__stead_fn[@]} + ${#__stead_alias[@]} - ${#__stead_given[@]}))
    \builtin printf '%s\n' "$__s_events$__s_more,\"variables\":$__stead_count}" >&40 || __stead_gone "$__stead_UNHEARD"
}

# Adds how an eval ended that may have failed or been interrupted. The status tells the host that the shell came to the
# end of the code, maybe before the signal.
__stead_judge() {
    \builtin local __s_status=ok __s_own= __stead_q
    if [[ ( $__stead_end == normal || $__stead_end == errexit ) && -z $__stead_has_int ]]; then
        while \builtin read -t 0 -u 40 && __stead_read_line; do
            if [[ $__stead_line == "interrupt $__stead_cur 0" ]]; then __s_own=${__s_own:-$__stead_code} __stead_end=; fi
        done
    fi
    case $__stead_end in
    '') __s_status=interrupted __stead_code=130 ;;
    *) if ((__stead_code != 0)); then __s_status=error; __stead_failed; fi ;;
    esac
    if [[ $__s_status != interrupted ]]; then __s_own=$__stead_code; fi
    __s_events+="{\"ev\":\"done\",\"eval\":\"$__stead_cur\",\"status\":\"$__s_status\"${__s_own:+,\"exit_code\":$__s_own}"
}

# Adds what the user should know.
__stead_notify() {
    \builtin local __stead_q
    if [[ $PWD != "$__stead_pwd" ]]; then
        __stead_pwd=$PWD
        __s_notice+="${__s_notice:+; }the working directory is now $PWD"
    fi
    if [[ -n $__stead_jobs ]]; then
        __stead_jobs=
        __s_notice+="${__s_notice:+; }the shell started anew after the error: background jobs run on, but \`jobs\` and \`wait\` do not know them"
    fi
    if [[ -n $__stead_told ]]; then
        __s_notice+="${__s_notice:+; }$__stead_told"
        __stead_told=
    fi
    __stead_quote "$__s_notice"
    __s_more+=",\"notice\":$__stead_q"
}

# The end of the last eval: the user's EXIT trap is part of it. In a subshell, which an `exit` in there ends.
__stead_last=
__stead_end_all() {
    if [[ -n $__stead_is_stdlib ]]; then \builtin return 0; fi
    if [[ -n $(\builtin jobs -rp) ]]; then __s_notice+="${__s_notice:+; }background jobs that still run end with this run"; fi
    if [[ -z $__stead_user_exit ]]; then \builtin return 0; fi
    (
        \builtin trap - EXIT INT
        __stead_leaving=1
        __stead_ret "$__stead_code"
        \builtin eval "$__stead_user_exit"
        \builtin exit "$__stead_code"
    ) <&45 >&46 2>&47 40<&44 41<&44 42<&44 43<&44 45<&44 46<&44 47<&44 48<&44
    __stead_code=$?
    __stead_user_exit=
}

# The host asks to end: the user's EXIT trap runs with the user's streams.
__stead_leave() {
    \builtin trap - EXIT
    __stead_leaving=1
    if [[ -n $__stead_user_exit ]]; then
        { \builtin eval "$__stead_user_exit"; } <&45 >&46 2>&47
    fi
    \builtin exit 0
}
