# `read -p QUESTION`: Bash shows the question to a terminal only. Here the session's stdin stands for one. All else is
# Bash's own `read`: this function has no variable that the caller could mean. What `read -s` waits for is announced as a secret.
#
# Also for shell commands (crates/adapters/runner), so it uses nothing of the bridge but __stead_stdin, a path to that stdin,
# and the two functions __stead_find_stdin, which sets it, and __stead_announce.

# Sets __stead_question of the caller, if Bash's `read` with these arguments would ask at a terminal, and __stead_secret to the
# descriptor that it reads, if the terminal would not show the answer.
__stead_ask() {
    # No `=~` in here: what that matched last is the caller's.
    \builtin local IFS=$' \t\n' __s_asks= __s_question= __s_hides= __s_fd=0 __s_word __s_option __s_value
    while (($#)); do
        if [[ $1 == -- || $1 != -?* ]]; then \builtin break; fi
        __s_word=${1#-}
        \builtin shift
        while [[ -n $__s_word ]]; do
            __s_option=${__s_word:0:1} __s_word=${__s_word:1}
            if [[ $__s_option == s ]]; then __s_hides=1; fi
            if [[ $__s_option != [adinNptu] ]]; then \builtin continue; fi
            __s_value=$__s_word __s_word=
            if [[ -z $__s_value ]]; then
                if (($# == 0)); then \builtin return 0; fi
                __s_value=$1
                \builtin shift
            fi
            case $__s_option in
            p) __s_asks=1 __s_question=$__s_value ;;
            u) __s_fd=$__s_value ;;
            # It only looks whether there is something to read.
            t) if [[ $__s_value == *(0)?(.)*(0) ]]; then \builtin return 0; fi ;;
            esac
        done
    done
    if [[ -n $__s_asks$__s_hides && $__s_fd && $__s_fd != *[!0-9]* ]]; then
        __stead_find_stdin
        if [[ -n $__stead_stdin && /dev/fd/$__s_fd -ef $__stead_stdin ]]; then
            __stead_question=$__s_question
            if [[ -n $__s_hides ]]; then __stead_secret=$__s_fd; fi
        fi
    fi
    \builtin return 0
}

# Takes the status of a `read` that has read no whole answer, and gives it back.
__stead_unread() {
    if [[ -n $__stead_secret ]]; then __stead_announce end; fi 2>/dev/null
    \builtin return "$1"
}

__stead_define_read() {
    read() {
        # A trace shows the user's own command and not what is in here.
        { \builtin local -; \builtin set +eukx; \builtin local __stead_question= __stead_secret=; \__stead_ask "$@"; } 2>/dev/null
        \builtin printf %s "$__stead_question" >&2
        # After the question, which the announcement must not overtake.
        if [[ -n $__stead_secret ]]; then { \__stead_announce; } 2>/dev/null; fi
        \builtin read "$@" || \__stead_unread "$?" || \builtin return "$?"
    }
}
