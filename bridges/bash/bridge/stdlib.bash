# Stdlib: the user's standard library, run at the start of a session like any other code. What it defines is not reported
# as the user's.

# Whether the eval that runs is the library; the functions and aliases that it has defined, as the comparison of names
# marks them. Of its variables none is in __stead_mine.
__stead_is_stdlib= __stead_given_names=0 __stead_regiven=()
\builtin declare -A __stead_given
# The variables that it has set, as they were then: one that is still the same is not saved.
\builtin declare -A __stead_given_values

# Makes the library in __stead_src code that ends well if it came to its end, whatever its last command found.
__stead_begin_stdlib() {
    __s_id=${__s_id% *} __stead_is_stdlib=1
    __stead_src+=$'\n\\builtin :\n'
}

# Takes the names that the library has defined, as far as it came, out of what is the user's; `added` and `rebound` of the caller.
__stead_take_given() {
    \builtin local __s_name
    __stead_given_names=$((__stead_given_names + ${#__s_added[@]} + ${#__s_rebound[@]}))
    for __s_name in "${__s_added[@]}" "${__s_rebound[@]}"; do
        case $__s_name in
        *'()' | *=) __stead_given[$__s_name]=1 ;;
        *)
            \builtin unset "__stead_mine[$__s_name]"
            __stead_note_given "$__s_name" ;;
        esac
    done
    __s_added=() __s_rebound=() __s_removed=()
}

# Notes a variable as the library has set it. The locale is that in which saves compare it, so LC_ALL itself is not noted.
__stead_note_given() {
    if [[ $1 == LC_ALL || -R $1 ]]; then \builtin return 0; fi
    \builtin local LC_ALL=C
    \builtin eval "__stead_given_values[\$1]=\"\${$1[@]@A}\""
}

# What the user has redefined or removed is no longer the library's.
__stead_give_up() {
    \builtin local __s_name
    for __s_name in "${__s_rebound[@]}" "${__s_removed[@]}"; do
        if [[ -n ${__stead_given[$__s_name]+x} ]]; then \builtin unset "__stead_given[\$__s_name]"; fi
    done
}

# A session that goes back to a checkpoint has the library's names from its text, and they are the library's again; `added` and
# `rebound` of the caller.
__stead_give_again() {
    \builtin local __s_name
    \builtin local -A __s_again
    for __s_name in "${__stead_regiven[@]}"; do
        __s_again[$__s_name]=1
        case $__s_name in
        *'()' | *=) __stead_given[$__s_name]=1 ;;
        *) \builtin unset "__stead_mine[$__s_name]" ;;
        esac
    done
    __stead_regiven=()
    for __s_name in "${!__s_added[@]}"; do if [[ -n ${__s_again[${__s_added[__s_name]}]+x} ]]; then \builtin unset "__s_added[$__s_name]"; fi; done
    for __s_name in "${!__s_rebound[@]}"; do if [[ -n ${__s_again[${__s_rebound[__s_name]}]+x} ]]; then \builtin unset "__s_rebound[$__s_name]"; fi; done
}

# How the library ended, for the host: an exit in the middle is no success.
__stead_end_stdlib() {
    \builtin local __s_line=
    __stead_is_stdlib=
    if [[ $__stead_end == exit && $__stead_code == 0 ]]; then __stead_code=1; fi
    if ((__stead_code)); then __stead_find_line; fi
    __s_events="{\"ev\":\"report\",\"data\":{\"names\":$__stead_given_names$__s_line}}"$'\n'
}

# Sets `line` of the caller to the field with the line at which the library failed, if Bash has told it.
__stead_find_line() {
    \builtin local __s_message= __s_name= __s_at="$__stead_where"
    case $__stead_end in
    errexit | normal) ;;
    *) \builtin return 0 ;;
    esac
    if [[ $__s_at != line\ * ]]; then
        if ! __stead_syntax; then \builtin return 0; fi
        __s_at=${__s_message#*: }
    fi
    __s_at=${__s_at#line } __s_at=${__s_at%%[!0-9]*}
    if [[ -n $__s_at ]]; then __s_line=",\"line\":$__s_at"; fi
}
