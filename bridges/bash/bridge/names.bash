# Names: what an eval added, rebound or removed.

\builtin declare -A __stead_sig __stead_base __stead_mine __stead_body __stead_alias
__stead_names=() __stead_now=() __stead_fn=() __stead_take= __stead_vtext= __stead_joined= __stead_ftext= __stead_bodies=
__stead_pwd=$PWD __stead_LISTED=50

# The shell's own variables are nobody's news.
__stead_is_own() {
    case $1 in
    __stead_* | __s_* | BASH* | _ | PWD | OLDPWD | SHLVL | PPID | UID | EUID | RANDOM | SRANDOM | SECONDS | LINENO | EPOCH* | FUNCNAME | \
        PIPESTATUS | SHELLOPTS | DIRSTACK | GROUPS | HISTCMD | COMP_* | COLUMNS | LINES | IFS | OPTIND | OPTERR | PROMPT_COMMAND | PS[0-4])
        \builtin return 0 ;;
    esac
    \builtin return 1
}

# Notes of every variable what tells whether it is another one: type, sizes, beginning and end. The whole of a
# long value is not looked at, so that large ones cost nothing.
__stead_sample() {
    \builtin local LC_ALL=C
    \builtin eval "$__stead_take"
    __stead_new=${__stead_now[*]}
}

# Takes the list of variables; makes the text that samples them all at once.
__stead_listed() {
    \builtin local IFS=$'\n' __s_name
    __stead_vtext=$1 __stead_names=() __stead_take='__stead_now=('
    for __s_name in $1; do
        if __stead_is_own "$__s_name"; then \builtin continue; fi
        __stead_names+=("$__s_name")
        __stead_take+=" \"\${$__s_name@a}:\${#$__s_name[@]}:\${#$__s_name}:\${$__s_name:0:500}:\${$__s_name: -100:100}:\${$__s_name[*]:0:40}\""
    done
    __stead_take+=')'
}

# Compares the variables with those before; the names go to added, rebound and removed of the caller.
__stead_compare_variables() {
    \builtin local IFS=$'\n' __s_name __s_i=0 __s_relisted= __stead_new
    if [[ $1 != "$__stead_vtext" ]]; then __s_relisted=1; __stead_listed "$1"; fi
    __stead_sample
    if [[ -z $__s_relisted && $__stead_new == "$__stead_joined" ]]; then \builtin return 0; fi
    __stead_joined=$__stead_new
    for __s_name in "${__stead_names[@]}"; do
        if [[ -z ${__stead_sig[$__s_name]+x} ]]; then
            __s_added+=("$__s_name"); __stead_mine[$__s_name]=1
        elif [[ ${__stead_sig[$__s_name]} != "${__stead_now[__s_i]}" ]]; then
            __s_rebound+=("$__s_name"); __stead_mine[$__s_name]=1
        fi
        __stead_sig[$__s_name]=${__stead_now[__s_i++]}
    done
    if [[ -n $__s_relisted ]] && ((${#__stead_sig[@]} > ${#__stead_names[@]})); then
        \builtin local -A __s_have
        for __s_name in "${__stead_names[@]}"; do __s_have[$__s_name]=1; done
        for __s_name in "${!__stead_sig[@]}"; do
            if [[ -z ${__s_have[$__s_name]+x} ]]; then
                __s_removed+=("$__s_name")
                \builtin unset "__stead_sig[$__s_name]" "__stead_mine[$__s_name]"
            fi
        done
    fi
}

# The same for functions: their names, and the text of those that were known.
__stead_compare_functions() {
    \builtin local IFS=$'\n' __s_name __s_line __s_bodies="$2"
    if [[ $1 == "$__stead_ftext" && $2 == "$__stead_bodies" ]]; then \builtin return 0; fi
    if [[ $1 != "$__stead_ftext" ]]; then
        __stead_ftext=$1 __stead_fn=()
        for __s_name in $1; do
            case $__s_name in __stead_* | exit | trap) ;; *) __stead_fn+=("$__s_name") ;; esac
        done
        __s_bodies=$(\builtin declare -f -- __stead_ret "${__stead_fn[@]}")
    fi
    __stead_bodies=$__s_bodies
    # A function begins with its name at the start of a line, which only a here-document could imitate.
    \builtin local -A __s_text
    # In words of their own: `\builtin local a=$b` splits.
    \builtin local __s_known=$'\n'"$1"$'\n' __s_current=
    for __s_line in $__s_bodies; do
        if [[ $__s_line == *' () ' && $__s_known == *$'\n'"${__s_line% () }"$'\n'* && -z ${__s_text[${__s_line% () }]+x} ]]; then __s_current=${__s_line% () }; fi
        __s_text[$__s_current]+=$__s_line$'\n'
    done
    for __s_name in "${__stead_fn[@]}"; do
        if [[ -z ${__stead_body[$__s_name]+x} ]]; then
            __s_added+=("$__s_name()")
        elif [[ ${__stead_body[$__s_name]} != "${__s_text[$__s_name]-}" ]]; then
            __s_rebound+=("$__s_name()")
        fi
        __stead_body[$__s_name]=${__s_text[$__s_name]-}
    done
    for __s_name in "${!__stead_body[@]}"; do
        if [[ -z ${__s_text[$__s_name]+x} ]]; then __s_removed+=("$__s_name()"); \builtin unset '__stead_body[$__s_name]'; fi
    done
}

__stead_compare_aliases() {
    \builtin local __s_name
    for __s_name in "${!BASH_ALIASES[@]}"; do
        if [[ -z ${__stead_alias[$__s_name]+x} ]]; then
            __s_added+=("$__s_name=")
        elif [[ ${__stead_alias[$__s_name]} != "${BASH_ALIASES[$__s_name]}" ]]; then
            __s_rebound+=("$__s_name=")
        fi
        __stead_alias[$__s_name]=${BASH_ALIASES[$__s_name]}
    done
    if ((${#__stead_alias[@]} > ${#BASH_ALIASES[@]})); then
        for __s_name in "${!__stead_alias[@]}"; do
            if [[ -z ${BASH_ALIASES[$__s_name]+x} ]]; then __s_removed+=("$__s_name="); \builtin unset '__stead_alias[$__s_name]'; fi
        done
    fi
}

# Sets type and size of the caller for a variable.
__stead_describe() {
    \builtin local __s_attributes
    __s_size=
    \builtin eval "__s_attributes=\${$1@a}; __s_size=\${#$1[@]}"
    case $__s_attributes in
    *A*) __s_type=map ;;
    *a*) __s_type=array ;;
    *) __s_type=string
        if [[ $__s_attributes == *i* ]]; then __s_type=integer; fi
        \builtin eval "__s_size=\${#$1}" ;;
    esac
    if [[ $__s_attributes == *x* ]]; then __s_type="exported $__s_type"; fi
}

# Adds a name, as the comparison marks it (`name`, `name()`, `name=`), to the JSON list of the caller.
__stead_list() {
    \builtin local __s_type __s_size=
    case $1 in
    *'()') __s_type=function ;;
    *=) __s_type=alias ;;
    *) __stead_describe "$1" ;;
    esac
    __stead_quote "${1%%[(=]*}"
    __s_list+="${__s_list:+,}{\"name\":$__stead_q,\"type\":\"$__s_type\"${__s_size:+,\"size\":\"$__s_size\"}}"
}

# Sets __stead_changed to what the eval did to the names, as JSON, or to nothing. Takes the lists of
# variables and functions and the text of the functions.
__stead_changes() {
    \builtin local -a __s_added __s_rebound __s_removed
    \builtin local __s_list __s_more=0 __s_room="$__stead_LISTED" __s_name __s_out=
    __stead_changed=
    __stead_compare_variables "$1"
    __stead_compare_functions "$2" "$3"
    __stead_compare_aliases
    if ((${#__s_added[@]} + ${#__s_rebound[@]} + ${#__s_removed[@]} == 0)); then \builtin return 0; fi
    __s_list=
    for __s_name in "${__s_added[@]}"; do
        if ((__s_room > 0)); then __s_room=$((__s_room - 1)); __stead_list "$__s_name"; else __s_more=$((__s_more + 1)); fi
    done
    __s_out+=${__s_list:+,\"added\":[$__s_list]} __s_list=
    for __s_name in "${__s_rebound[@]}"; do
        if ((__s_room > 0)); then __s_room=$((__s_room - 1)); __stead_list "$__s_name"; else __s_more=$((__s_more + 1)); fi
    done
    __s_out+=${__s_list:+,\"rebound\":[$__s_list]} __s_list=
    for __s_name in "${__s_removed[@]}"; do
        if ((__s_room > 0)); then
            __s_room=$((__s_room - 1))
            __stead_quote "${__s_name%%[(=]*}"
            __s_list+="${__s_list:+,}$__stead_q"
        else
            __s_more=$((__s_more + 1))
        fi
    done
    __s_out+=${__s_list:+,\"removed\":[$__s_list]}
    if ((__s_more > 0)); then __s_out+=",\"more\":$__s_more"; fi
    __stead_changed="{${__s_out#,}}"
}
