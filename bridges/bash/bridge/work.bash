# Work: what a session does in its turn besides evals (`work ID WHAT N`). A text of the bridge's stands where the user's code
# would, so that output, interrupts and the end are those of an eval.

# What is done (nothing: an eval) and its argument; what came of it, as JSON, or why it failed, which begins with the name
# of the error and a colon.
__stead_work= __stead_argument= __stead_report= __stead_trouble=
# What is to be undone however the work ends: a file that is not yet whole, and options of the shell that were changed (`set -k` among them).
__stead_temporary= __stead_shopts= __stead_keyword=+k

# What only few sessions need is parsed when it is first needed (lib.rs): __stead_read_later calls this with its text as stdin.
__stead_take_later() {
    \builtin local - __s_text __s_aliases=-u __s_comments=-u
    # It has `<(`, which some versions do not read in POSIX mode.
    \builtin set +o posix
    if [[ :$BASHOPTS: == *:expand_aliases:* ]]; then __s_aliases=-s; fi
    if [[ :$BASHOPTS: == *:interactive_comments:* ]]; then __s_comments=-s; fi
    LC_ALL=C \builtin read -r -N 1000000 __s_text
    \builtin shopt -u expand_aliases
    \builtin shopt -s interactive_comments
    \builtin eval "$__s_text"
    \builtin shopt "$__s_aliases" expand_aliases
    \builtin shopt "$__s_comments" interactive_comments
    # Not by `<(`, whose process would be `$!` from here on.
    __stead_catch compgen -A function __stead_
    \builtin mapfile -t __s_text <<<"$__stead_caught"
    \builtin readonly -f "${__s_text[@]}"
}

# Makes the work of a command what runs next, like __stead_prepare. Fails if nothing is to run for it. The user's traps for
# SIGINT and DEBUG are not set meanwhile: an interrupt ends the work.
__stead_take_work() {
    \builtin local __stead_q
    __s_id=${__s_id%% *}
    __stead_report= __stead_trouble= __stead_argument=$__stead_text
    case $1 in
    save | load)
        if ! \builtin declare -F __stead_save >/dev/null; then __stead_read_later; fi
        if [[ $1 == save ]]; then __stead_src=$__stead_saving; __stead_find_moved; else __stead_src=$__stead_loading; fi ;;
    *)
        __stead_quote "this bridge does not know the work \`$1\`"
        __stead_send "{\"ev\":\"error\",\"name\":\"Unsupported\",\"message\":$__stead_q}"
        __stead_send "{\"ev\":\"done\",\"eval\":\"$__s_id\",\"status\":\"error\",\"variables\":$__stead_count}"
        \builtin return 1 ;;
    esac
    if [[ -n $__s_early ]]; then __stead_was_early; fi
    \builtin printf -v PROMPT_COMMAND ''
    __stead_probing= __stead_nudged= __stead_held= __stead_end= __stead_where= __stead_tries=0 __stead_rounds= __stead_ran= __stead_has_int=
    __stead_reach=all __stead_watched=1 __stead_work=$1
    if [[ -n $__stead_leaks ]]; then __stead_note_open; fi
    __stead_cur=$__s_id __stead_began=${EPOCHREALTIME-}
    \builtin trap - INT
    if [[ -z $__stead_early ]]; then \builtin return 0; fi
    __stead_skip
    \builtin return 1
}

# Work shows and fires nothing of the user's: `set -v` would print its text, a trap for RETURN would run when it ends, and one
# for SIGCHLD with each of its subshells. At the top level, where alone traps for RETURN are seen; until what the shell has is
# looked at, and that for SIGCHLD until after that. No function is called before: a trap for RETURN would run.
__stead_quiet= __stead_returns= __stead_children=
__stead_hush='__stead_quiet=+; if [[ -n $__stead_scratch ]] && \exec 48<>/dev/fd/48 && \builtin trap -p RETURN >&48 && \builtin printf "\2" >&48 && \builtin trap -p SIGCHLD >&48 && \builtin printf "\2" >&48; then { IFS= \builtin read -r -d $'\''\2'\'' __stead_returns; IFS= \builtin read -r -d $'\''\2'\'' __stead_children; } </dev/fd/48; else __stead_returns=$(\builtin trap -p RETURN) __stead_children=$(\builtin trap -p SIGCHLD); fi; \builtin trap - RETURN SIGCHLD; if [[ -o verbose ]]; then __stead_quiet+=v; \builtin set +v; fi; if [[ -o functrace ]]; then __stead_quiet+=T; \builtin set +T; fi'
__stead_loud='case $__stead_quiet in *v*) \builtin set -v ;; esac; if [[ -n $__stead_returns ]]; then \builtin eval "\builtin $__stead_returns"; fi; case $__stead_quiet in *T) \builtin set -T ;; esac; __stead_quiet= __stead_returns='
__stead_heed='if [[ -n $__stead_children ]]; then __stead_watched=1; \builtin eval "\builtin $__stead_children"; __stead_children=; fi'

# The work is over: undoes what it left undone, and adds what it has to tell to the events of the caller.
__stead_worked() {
    __stead_put_back
    if [[ $__stead_keyword == -k ]]; then __stead_k=-k __stead_keyword=+k; fi
    if [[ -n $__stead_temporary ]]; then
        # Whoever interrupts again must not keep the file here.
        (\builtin trap '' INT; __stead_program rm -f -- "$__stead_temporary")
        __stead_temporary=
    fi
    if [[ $__stead_end != normal ]]; then \builtin return 0; fi
    __stead_code=0
    if [[ -n $__stead_report ]]; then __s_events="{\"ev\":\"report\",\"data\":$__stead_report}"$'\n'; fi
    # Work that failed may have something to report all the same.
    if [[ -z $__stead_report || -n $__stead_trouble ]]; then __stead_code=1; fi
}

# Adds the event for work that failed.
__stead_work_failed() {
    if [[ -z $__stead_trouble ]]; then __stead_trouble='Error:it ended too early'; fi
    __stead_quote "${__stead_trouble#*:}"
    __s_events+="{\"ev\":\"error\",\"name\":\"${__stead_trouble%%:*}\",\"message\":$__stead_q}"$'\n'
}

# Notes why the work failed; takes the name of the error and what is the matter.
__stead_fail() { __stead_trouble="$1:$2"; }

# Gives back options that __stead_calm took.
__stead_put_back() {
    \builtin local __s_option
    if [[ -z $__stead_shopts ]]; then \builtin return 0; fi
    \builtin shopt -u nocasematch
    for __s_option in extglob interactive_comments; do
        if [[ :$__stead_shopts: != *:$__s_option:* ]]; then \builtin shopt -u "$__s_option"; fi
    done
    for __s_option in expand_aliases nocasematch; do
        if [[ :$__stead_shopts: == *:$__s_option:* ]]; then \builtin shopt -s "$__s_option"; fi
    done
    __stead_shopts=
}

# Runs a program of the system, whatever the user has made of its name and of PATH.
__stead_program() {
    \builtin local __s_status=0
    # They may be readonly.
    \builtin local -x LC_ALL=C 2>/dev/null || \builtin :
    \builtin local EXECIGNORE= 2>/dev/null || \builtin :
    \builtin command -p "$@" </dev/null || __s_status=$?
    if ((__s_status == 127)); then
        __s_status=0
        \builtin command "$@" </dev/null || __s_status=$?
    fi
    \builtin return "$__s_status"
}
