# Bash bridge: runs evals in the user's shell and reports to the session host.
#
# Wire:   words and bytes in, one JSON object a line out, on descriptor 40 (docs/PROTOCOL.md).
# Needs:  Bash 4.4 or newer and nothing else; no child is started but subshells.
# Tested: golden/bash-*.jsonl, replayed by test_bridge.py here; tests/conformance.
#
# It is an interactive shell without a terminal, because only such a one lives on after an interrupt
# or an error that ends everything that runs: it comes back to its prompt, and what it reads there as
# its own input is our loop. (PROMPT_COMMAND would do, but it is run as if by a shell that is not
# interactive, which makes some versions end at the next interrupt.)
#
# The loop is text and no function: in a function the user's `declare` and `set --` would be local. User code is
# sourced, which numbers its lines, and makes a shell keep to itself what it would say at a prompt.
# While it is at work, 0 to 2 are ours, so that all noise of an interactive shell (prompts, the line
# feed after an interrupt, `set -x` of our own commands) is lost. User code gets its own streams by a
# redirection which is undone however it ends: 41 to 43 are the session's, 45 to 47 what an `exec` of the
# user made of them.
#
# Whatever the user may redefine is called as `builtin NAME`; aliases are off while our text is read. Locals
# are __s_NAME, because a function's locals hide the user's variables from all that it calls. What runs with the user's options
# takes `set -k` back before it has locals: with it, `local a=1` makes no local.

\builtin set +o history +H -E
# As at a prompt: an `exec` of what is not there ends nothing.
\builtin shopt -s execfail
\builtin unset HISTFILE
PS1= PS2= PS4='+ '

# The eval that runs (its id, or `@SEQ` of a clear) and how it ended: nothing yet, `normal`, `exit`, `signal` or
# `errexit`, with its code and, for the last, where.
__stead_cur= __stead_end= __stead_code=0 __stead_where=
# Status of the last eval, for `$?`; the user's SIGINT trap; whether a SIGINT came to the bridge itself.
__stead_st=0 __stead_int= __stead_has_int= __stead_early=
# What is put before the code because it would show or fire too early: DEBUG trap, `set -x`.
__stead_debug= __stead_x= __stead_T= __stead_k= __stead_ran=
__stead_src= __stead_text= __stead_look= __stead_tries=0 __stead_rc=0 __stead_leaving= __stead_held= __stead_opts= __stead_aliases=-s
# How deep the user's ERR trap was set, and whether the user asked for errtrace, which is always on.
__stead_probing= __stead_nudged= __stead_depth=0 __stead_trace= __stead_user_err= __stead_user_exit= __stead_jobs=
# Whether the code that is prepared is to run outside of our loop.
__stead_aside=
# Whether `read` is the function that shows its question, and where the session's stdin is.
__stead_asking= __stead_stdin= __stead_nl=$'\n'
# Where the user's streams are between the end of the code and the next eval.
__stead_in= __stead_out= __stead_say=
# Descriptors that were open before the eval, where they have to be known.
__stead_fds= __stead_leaks=
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then __stead_leaks=1; fi

__stead_send() { \builtin printf '%s\n' "$1" >&40 || __stead_gone "$__stead_UNHEARD"; }
__stead_UNHEARD='the shell cannot write to the session any more'
__stead_ret() { \builtin return "$1"; }

# Sets __stead_q to the text as a JSON string. Bytes that are no UTF-8 are shown as \xNN.
__stead_quote() {
    \builtin local LC_ALL=C __s_s="$1" __s_c __s_h __s_b=\\ __s_bb=\\\\
    __s_s=${__s_s//"$__s_b"/"$__s_bb"} __s_s=${__s_s//\"/"$__s_b\""}
    if [[ $__s_s == *[!\ -~]* ]]; then
        __s_s=${__s_s//$'\n'/"${__s_b}n"} __s_s=${__s_s//$'\t'/"${__s_b}t"} __s_s=${__s_s//$'\r'/"${__s_b}r"}
        while [[ $__s_s =~ [$'\x01'-$'\x1f'$'\x7f'] ]]; do
            __s_c=${BASH_REMATCH[0]}
            \builtin printf -v __s_h '\\u%04x' "'$__s_c"
            __s_s=${__s_s//"$__s_c"/"$__s_h"}
        done
        if [[ ! $__s_s =~ $__stead_utf8 ]]; then
            while [[ $__s_s =~ [$'\x80'-$'\xff'] ]]; do
                __s_c=${BASH_REMATCH[0]}
                \builtin printf -v __s_h '%x' "'$__s_c"
                __s_s=${__s_s//"$__s_c"/"${__s_bb}x${__s_h: -2}"}
            done
        fi
    fi
    __stead_q=\"$__s_s\"
}
__stead_utf8=$'^([\x01-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*$'

# Reads a line of the host into __stead_line.
__stead_read_line() {
    if [[ -n $__stead_fixed ]]; then __stead_read_fixed; \builtin return; fi
    \builtin local IFS=
    \builtin read -r -u 40 __stead_line || __stead_read_on "$?"
}

# Reads the rest of a line, after a status that is not 0: a TMOUT of the user's only cuts it in pieces.
__stead_read_on() {
    \builtin local __s_part __s_rc="$1"
    while ((__s_rc > 128)); do
        __s_part=
        \builtin read -r -u 40 __s_part; __s_rc=$?
        __stead_line+=$__s_part
    done
    \builtin return "$__s_rc"
}

# Reads as many bytes into __stead_text; the host sends no NUL.
__stead_read_bytes() {
    # To change less of the locale takes less time.
    __stead_text=
    if [[ -n $__stead_fixed ]]; then __stead_read_characters "$1"; \builtin return; fi
    if [[ -z ${LC_ALL-} ]]; then \builtin local LC_CTYPE=C || \builtin local LC_ALL=C; else \builtin local LC_ALL=C; fi
    (($1 == 0)) || \builtin read -r -N "$1" -u 40 __stead_text || __stead_read_more "$1" "$?"
}

# Reads the rest of so many bytes, after a status that is not 0.
__stead_read_more() {
    \builtin local __s_part __s_rc="$2"
    while ((__s_rc > 128 && ${#__stead_text} < $1)); do
        __s_part=
        \builtin read -r -N "$(($1 - ${#__stead_text}))" -u 40 __s_part; __s_rc=$?
        __stead_text+=$__s_part
    done
    ((${#__stead_text} == $1))
}

# The host is gone.
__stead_quit() {
    \builtin trap - EXIT
    \builtin exit 0
}
