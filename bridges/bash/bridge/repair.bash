# Repair: gives the bridge back what code of the user's has taken from the shell: builtins that are disabled or hidden by
# functions of their name, calls (FUNCNEST) and descriptors (`ulimit -n`).
#
# What the bridge can have back it takes while its own text runs, and the user's code finds it as the user made it. Where
# it cannot, the session ends and says why: a shell that can neither read nor answer would hang for ever.

# Builtins that the user has disabled; the user's limit of calls, while it does not hold; how often the shell has come back
# to its prompt since the last eval began, as so many letters; what of all this the user should know.
__stead_off=() __stead_nest= __stead_rounds= __stead_told=
# Whether those builtins are disabled now, as they are while code of the user's runs.
__stead_holds=
# Whether LC_ALL or IFS cannot be changed, so that lines and bytes are read in another way (__stead_read_fixed).
__stead_fixed=
# So that a trap for DEBUG can tell our commands from the user's, each has a name of ours in it.
__stead_none= __stead_file=/dev/fd/48
# The options before POSIX mode, and one of them.
__stead_had= __stead_option=
# Where the host is spoken to, if not on 40.
__stead_voice=
__stead_ROUNDS=20

# Whether all is there after code that may have changed the shell. At the top, since a function would not survive a small
# FUNCNEST. What the user calls `builtin` is seen by one of these whatever it does. 63 is as high a number as the
# redirections of an eval need.
__stead_check='if [[ $-$__stead_none == *r* ]] || \builtin declare -F builtin || \builtin declare -F exec || ! \builtin enable -n >|"$__stead_file" 63<&44 || [[ -s $__stead_file ]]; then \__stead_repair; elif [[ -n $__stead_holds ]]; then __stead_off=() __stead_holds=; fi'

# Lifts the user's limit of calls. An assignment to what is readonly would end everything.
__stead_lift='if [[ ${FUNCNEST-} != "$__stead_none" ]]; then __stead_nest=$FUNCNEST; \builtin printf -v FUNCNEST "$__stead_none"; if [[ $__stead_none${FUNCNEST-} == [1-9] || $__stead_none${FUNCNEST-} == [1-9][0-9] ]]; then \__stead_gone "FUNCNEST is readonly and too small for the session to go on"; fi; fi'

# Ends the session with this reason, by whatever still works. A subshell needs no descriptor to put ours away.
# shellcheck disable=SC2317  # what stands behind `exit` is for a shell that has lost it
__stead_gone() {
    # No assignment: any variable may be readonly.
    if [[ $(\builtin printf x) != x && $(\command printf x) == x ]]; then
        (\command printf '{"ev":"exiting","code":1,"reason":"%s"}\n' "${1-something that the session needs was taken from the shell}") >&"${__stead_voice:-40}"
    else
        (\builtin printf '{"ev":"exiting","code":1,"reason":"%s"}\n' "${1-something that the session needs was taken from the shell}") >&"${__stead_voice:-40}"
        # Not where `builtin` is a function: under a small FUNCNEST Bash refuses to call it, and leaves this one before the shell has ended.
        \builtin trap - EXIT
        \builtin exit 1
    fi
    # Without `builtin` only POSIX mode passes over functions of these names.
    POSIXLY_CORRECT=y
    \trap - EXIT
    \exit 1
    \kill -KILL "$$"
}

# At the end of code, where its streams could not be kept: there may be too few descriptors to take back ours, which are
# where the redirections of the eval have put them (__stead_recover).
__stead_raise() {
    if \builtin : 63<&44; then \builtin return 0; fi
    if [[ -z $__stead_end ]]; then __stead_end=normal __stead_code=0; fi
    \builtin ulimit -S -n hard
    if \builtin : 63<&44; then
        __stead_told+="${__stead_told:+; }$__stead_RAISED"
        \builtin return 0
    fi
    for __stead_voice in {49..99}; do
        if [[ -S /dev/fd/$__stead_voice && -e /dev/fd/$((__stead_voice + 7)) ]]; then \__stead_gone "$__stead_TOO_FEW"; fi
    done
}
__stead_TOO_FEW='too few files may be open for the session to go on (ulimit -n)'
__stead_RAISED='`ulimit -n` is as high as it may be again: the session needs 64 descriptors'

# Takes back what is missing. Until that is done it calls only what no function can stand for.
__stead_repair() {
    if [[ $- == *r* ]]; then \__stead_gone 'the session cannot go on in a restricted shell (set -r)'; fi
    __stead_had=
    if \builtin declare -F builtin || \builtin declare -F exec || ! \builtin enable builtin; then __stead_repair_functions; fi
    if ! \builtin enable builtin; then
        if ! \enable builtin || ! \builtin enable builtin; then \__stead_gone 'the shell has lost its command builtin, which the session needs'; fi
        __stead_told+="${__stead_told:+; }the session needs these builtins, which are enabled again: builtin"
    fi
    if [[ -n $__stead_had ]]; then __stead_repair_options; fi
    if ! \builtin enable -n >|/dev/fd/48 63<&44; then __stead_repair_limit; fi
    \builtin enable mapfile
    \builtin mapfile -t __stead_off </dev/fd/48
    __stead_off=("${__stead_off[@]#enable -n }") __stead_holds=
    if ((${#__stead_off[@]})); then __stead_repair_disabled; fi
}

# Removes functions that hide the two commands that nothing else can be called without.
__stead_repair_functions() {
    __stead_had=:$BASHOPTS:$SHELLOPTS:
    # This assignment needs no command; in POSIX mode special builtins come before functions.
    POSIXLY_CORRECT=y
    if \export -nf builtin; then
        \unset -f builtin
        __stead_told+="${__stead_told:+; }the session needs the name \`builtin\` for itself: the function is removed"
    fi
    if \export -nf exec; then
        \unset -f exec
        __stead_told+="${__stead_told:+; }the session needs the name \`exec\` for itself: the function is removed"
    fi
    if \export -nf builtin || \export -nf exec; then \__stead_gone 'a readonly function has the name of a command that the session needs'; fi
    if [[ $__stead_had != *:posix:* ]]; then \unset POSIXLY_CORRECT; fi
}

# Some versions change these with POSIX mode.
__stead_repair_options() {
    for __stead_option in expand_aliases interactive_comments sourcepath inherit_errexit shift_verbose; do
        if [[ $__stead_had == *:$__stead_option:* ]]; then \builtin shopt -s "$__stead_option"; else \builtin shopt -u "$__stead_option"; fi
    done
}

__stead_repair_limit() {
    \builtin enable ulimit
    \builtin ulimit -S -n hard
    if ! \builtin enable -n >|/dev/fd/48 63<&44; then \__stead_gone "$__stead_TOO_FEW"; fi
    __stead_told+="${__stead_told:+; }$__stead_RAISED"
}

# Enables what is disabled. What the bridge calls while the user's code runs stays so.
__stead_repair_disabled() {
    if ! \builtin enable "${__stead_off[@]}"; then \__stead_gone 'the shell has lost builtins that the session needs'; fi
    \builtin local __s_name __s_needed=
    \builtin local -a __s_left
    for __s_name in "${__stead_off[@]}"; do
        case $__s_name in
        . | : | builtin | enable | eval | exec | exit | kill | local | return | set | shift | source | test | trap | unset) __s_needed+="${__s_needed:+, }$__s_name" ;;
        *) __s_left+=("$__s_name") ;;
        esac
    done
    __stead_off=("${__s_left[@]}")
    if [[ -n $__s_needed ]]; then __stead_told+="${__stead_told:+; }the session needs these builtins, which are enabled again: $__s_needed"; fi
}

# Before code of the user's: what was disabled is so again, and the limit of calls holds. No call may come after that.
__stead_give_back() {
    if [[ -n $__stead_nest ]]; then
        \builtin printf -v FUNCNEST %s "$__stead_nest"
        __stead_nest=
    fi
    if ((${#__stead_off[@]})); then
        __stead_holds=1
        \builtin enable -n "${__stead_off[@]}"
    fi
}

# Reads a line where `read` would split it at what the user has in a readonly IFS.
__stead_read_fixed() {
    \builtin local -a __s_lines
    \builtin mapfile -n 1 -t -u 40 __s_lines
    if ((${#__s_lines[@]} == 0)); then \builtin return 1; fi
    __stead_line=${__s_lines[0]}
}

# Reads so many bytes in a locale that cannot be changed, where `read` counts characters: always as many of these as there
# must be at least.
__stead_read_characters() {
    \builtin local __s_bytes="$1" __s_part __s_rc __s_i __s_code
    while ((__s_bytes > 0)); do
        __s_part= __s_i=$(((__s_bytes + 3) / 4))
        \builtin read -r -N "$((__s_i < 1000 ? __s_i : 1000))" -u 40 __s_part
        __s_rc=$?
        if ((__s_rc != 0 && __s_rc <= 128)); then \builtin return 1; fi
        __stead_text+=$__s_part __s_bytes=$((__s_bytes - ${#__s_part}))
        # In other locales a byte is a character.
        if [[ $__s_part != *[![:ascii:]]* || $'\xc3\xa4' != ? ]]; then \builtin continue; fi
        for ((__s_i = 0; __s_i < ${#__s_part}; __s_i++)); do
            \builtin printf -v __s_code %d "'${__s_part:__s_i:1}"
            __s_bytes=$((__s_bytes - (__s_code > 0x7f) - (__s_code > 0x7ff) - (__s_code > 0xffff)))
        done
    done
}
