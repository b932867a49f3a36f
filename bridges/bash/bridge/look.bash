# Look: what there is in the shell after an eval: traps, functions and the names of variables.
#
# Bash tells these only as output of its builtins. A subshell that catches output takes a millisecond, most of an eval's
# time; so the shell writes to a file of its own, 48, and reads that back. The subshell remains for evals that took long
# themselves, and where no such file can be made.

# What was seen, in parts: DEBUG trap, all traps, INT trap, functions, their texts, variables, and an end with the id of the
# eval, if none was cut off.
__stead_seen=()
# Whether there is the file; the traps of a shell in which the user has set none.
__stead_scratch= __stead_own_traps=

# Makes the file: what a here-document is kept in, if a pipe has no room for it, is deleted already. It is opened again
# for writing.
__stead_open_scratch() {
    \builtin local TMPDIR=${TMPDIR-} __s_text
    if [[ -d /dev/shm && -w /dev/shm ]]; then TMPDIR=/dev/shm; fi
    \builtin printf -v __s_text '%70000s' ''
    if \exec 48<<<"$__s_text" && [[ -f /dev/fd/48 ]] && \exec 48<>/dev/fd/48; then
        __stead_scratch=1
        \builtin : >|/dev/fd/48
    else
        \exec 48<&44
    fi
} 2>/dev/null

# Whether to look without a subshell. A list of very many variables takes long and must be given up (see
# __stead_enumerate), which only a subshell can; an eval that was over at once cannot have made so many.
__stead_looks_here() {
    # In microseconds; there is no such clock before Bash 5.
    __stead_ended=${EPOCHREALTIME-} __stead_slow=
    if [[ -n $__stead_began && -n $__stead_ended ]] && ((${__stead_ended/[!0-9]/} - ${__stead_began/[!0-9]/} > 10000)); then __stead_slow=1; fi
    # Opened anew it is written from its beginning.
    [[ -n $__stead_scratch && -z $__stead_slow ]] && \exec 48<>/dev/fd/48
}

# Takes in what was written to the file; what stands behind it there is older.
__stead_take_in() {
    __stead_look= __stead_seen=()
    \builtin mapfile -d $'\2' -n 7 -t __stead_seen </dev/fd/48
}

# Sets __stead_caught to what a builtin prints, without a subshell where it can be: a trap for SIGCHLD would see that.
__stead_caught=
__stead_catch() {
    if [[ -n $__stead_scratch ]] && \exec 48<>/dev/fd/48 && \builtin "$@" >&48 && __stead_part >&48; then
        IFS= \builtin read -r -d $'\2' __stead_caught </dev/fd/48
        __stead_caught=${__stead_caught%"$__stead_nl"}
    else
        __stead_caught=$(\builtin "$@")
    fi
}

# What is between two parts.
__stead_part() { \builtin printf '\2'; }

# Prints all parts but the traps. No `trap` here sets anything: the first one that does makes a subshell
# forget what was set outside.
__stead_show() {
    \__stead_part
    \builtin trap -p INT
    \__stead_part
    \builtin compgen -A function -X '__stead_*'
    \__stead_part
    \builtin declare -f -- __stead_ret "${__stead_fn[@]}"
    \__stead_part
    \__stead_enumerate
    \builtin printf '\2end %s\2' "$__stead_cur"
}

# Lists the variables: nothing if only those that the code names are to be compared, and `-` if a list would take too
# long. To make one Bash compares each name with all others, which takes seconds for 20,000.
__stead_enumerate() {
    if [[ $__stead_cur != @* ]]; then
        if [[ -n $__stead_many || ${#__stead_sig[@]} -ge __stead_MANY ]] && ((${#__stead_src} <= 100000)); then \builtin return 0; fi
        # There is no `<(` in POSIX mode before Bash 5.1.
        if [[ -n $__stead_slow && ! -o posix ]]; then
            __stead_enumerate_soon 15
            \builtin return 0
        fi
    fi
    \builtin compgen -v -X "__stead_*"
}

# The same by a process of its own, to see whether a list comes before it has worked for so many hundredths of a second.
__stead_enumerate_soon() {
    \builtin local IFS=$' \t\n' __s_fd __s_first= __s_rest=
    \builtin local -a __s_stat
    \exec {__s_fd}< <(\builtin compgen -v -X "__stead_*")
    until \builtin read -r -t 0.05 -N 1 -u "$__s_fd" __s_first || (($? <= 128)); do
        # How long it has worked: on a busy machine it may just have had no turn.
        __s_rest=
        \builtin read -r __s_rest <"/proc/$!/stat"
        __s_stat=(${__s_rest##*)})
        if ((${__s_stat[11]-0} + ${__s_stat[12]-0} < $1)); then \builtin continue; fi
        \builtin kill "$!"
        \builtin printf '%s\n' -
        \builtin return 0
    done
    \builtin read -r -N 10000000 -u "$__s_fd" __s_rest
    \builtin printf '%s\n' "$__s_first$__s_rest"
}

# Takes what a subshell has seen apart; it has fewer parts if it was cut off. Taking a prefix off by a pattern, or a long text
# apart in another locale, needs time by the square of the length: seconds where there are thousands of functions.
__stead_parts() {
    \builtin local __s_rest="$__stead_look" __s_part
    if ((${#__s_rest} > 10000)); then \builtin local LC_ALL=C; fi
    __stead_look= __stead_seen=()
    while ((${#__stead_seen[@]} < 7)); do
        __s_part=${__s_rest%%$'\2'*}
        if ((${#__s_part} == ${#__s_rest})); then \builtin return 0; fi
        __stead_seen+=("$__s_part")
        __s_rest=${__s_rest:${#__s_part}+1}
    done
}
