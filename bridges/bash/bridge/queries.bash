# Queries: vars, inspect, complete; and clear.

__stead_VARS=200 __stead_COMPLETIONS=200

# Sets `value` of the caller to a short form of a variable, within so many characters.
__stead_short() {
    if [[ $__s_type == nameref ]]; then
        \builtin eval "__s_value=\${!$1}"
        \builtin return 0
    fi
    \builtin local -n __s_variable="$1"
    \builtin local __s_key __s_n=0 __s_budget="$2"
    case $__s_type in
    *map | *array)
        __s_value='('
        for __s_key in "${!__s_variable[@]}"; do
            if ((++__s_n > 20 || ${#__s_value} > __s_budget)); then __s_value+='… '; \builtin break; fi
            if [[ $__s_type == *map ]]; then __s_value+="[$__s_key]="; fi
            __s_value+="${__s_variable[$__s_key]:0:__s_budget} "
        done
        __s_value="${__s_value% })" ;;
    *) __s_value=${__s_variable:0:__s_budget+1} ;;
    esac
    if ((${#__s_value} > __s_budget)); then __s_value=${__s_value:0:__s_budget}…; fi
}

__stead_is_name() { [[ $1 =~ ^[a-zA-Z_][a-zA-Z0-9_]*$ ]]; }

# Sets `data` of the caller to all that the user has made.
__stead_vars() {
    \builtin local __s_name __s_type __s_size __s_value __s_n=0 __s_list= __s_more=0 __s_notice= __s_all
    \builtin local -a __s_added __s_rebound __s_removed
    if [[ -z $__stead_vtext ]]; then
        if [[ -n $__stead_many && ! -o posix ]]; then __s_all=$(\__stead_enumerate_soon 300); else __s_all=$(\builtin compgen -v -X "__stead_*"); fi
        if [[ $__s_all == - ]]; then
            __s_notice='there are too many variables to list: these are those that evals named'
            __stead_names=("${!__stead_mine[@]}")
        else
            __stead_compare_variables "$__s_all"
        fi
    fi
    for __s_name in "${__stead_names[@]}"; do
        if [[ -z ${__stead_mine[$__s_name]+x} ]]; then \builtin continue; fi
        if ((++__s_n > __stead_VARS)); then __s_more=$((__s_more + 1)); \builtin continue; fi
        __stead_describe "$__s_name"
        __stead_short "$__s_name" 100
        __stead_quote "$__s_value"
        __s_list+="${__s_list:+,}{\"name\":\"$__s_name\",\"type\":\"$__s_type\"${__s_size:+,\"size\":\"$__s_size\"},\"value\":$__stead_q}"
    done
    for __s_name in "${__stead_fn[@]}" "${!__stead_alias[@]}"; do
        if [[ -n ${__stead_body[$__s_name]+x} && -n ${__stead_given[$__s_name()]+x} || -z ${__stead_body[$__s_name]+x} && -n ${__stead_given[$__s_name=]+x} ]]; then \builtin continue; fi
        if ((++__s_n > __stead_VARS)); then __s_more=$((__s_more + 1)); \builtin continue; fi
        __s_type=function __s_value="$__s_name ()"
        if [[ -z ${__stead_body[$__s_name]+x} ]]; then __s_type=alias __s_value=${__stead_alias[$__s_name]:0:100}; fi
        __stead_quote "$__s_name"
        __s_list+="${__s_list:+,}{\"name\":$__stead_q,\"type\":\"$__s_type\""
        __stead_quote "$__s_value"
        __s_list+=",\"value\":$__stead_q}"
    done
    if [[ -n $__s_notice ]]; then __stead_quote "$__s_notice"; __s_notice=",\"notice\":$__stead_q"; fi
    __s_data="{\"vars\":[$__s_list],\"more\":$__s_more$__s_notice}"
}

# Adds the keys of a map to `data` of the caller's caller, as its members.
__stead_keys() {
    \builtin local -n __s_variable="$1"
    \builtin local __s_key __s_n=0 __s_list=
    for __s_key in "${!__s_variable[@]}"; do
        if ((++__s_n > __stead_VARS)); then \builtin continue; fi
        __stead_quote "${__s_key:0:200}"
        __s_list+="${__s_list:+,}$__stead_q"
    done
    __s_data+=",\"members\":[$__s_list]"
    if ((__s_n > __stead_VARS)); then __s_data+=",\"more_members\":$((__s_n - __stead_VARS))"; fi
}

# Adds to `error` of the caller what the user may have meant: names that differ by a letter, or two that are swapped.
__stead_near() {
    \builtin local __s_i __s_other __s_like= __s_n=0 __s_found= __s_name="$1"
    if [[ ! $__s_name =~ ^[a-zA-Z_][a-zA-Z0-9_-]{1,60}$ ]]; then \builtin return 0; fi
    for ((__s_i = 0; __s_i <= ${#__s_name}; __s_i++)); do
        __s_like+="|${__s_name:0:__s_i}?${__s_name:__s_i}"
        if ((__s_i == ${#__s_name})); then \builtin break; fi
        __s_like+="|${__s_name:0:__s_i}?${__s_name:__s_i+1}|${__s_name:0:__s_i}${__s_name:__s_i+1}"
        __s_like+="|${__s_name:0:__s_i}${__s_name:__s_i+1:1}${__s_name:__s_i:1}${__s_name:__s_i+2}"
    done
    __s_like="@(${__s_like#|})"
    for __s_other in "${!__stead_mine[@]}" "${__stead_fn[@]}" "${!__stead_alias[@]}"; do
        # shellcheck disable=SC2053  # it is a pattern
        if [[ ${__s_other,,} == ${__s_like,,} ]] && ((++__s_n <= 3)); then __s_found+="${__s_found:+, }$__s_other"; fi
    done
    if [[ -n $__s_found ]]; then __s_error+="; near: $__s_found"; fi
}

# Sets `data`, or `error`, of the caller to what the name stands for.
__stead_inspect() {
    \builtin local __s_type __s_size __s_value __s_name="$1" __s_kind
    __stead_quote "$__s_name"
    __s_data="{\"name\":$__stead_q"
    if __stead_is_name "$__s_name" && [[ -v $__s_name || -R $__s_name || -n ${__stead_sig[$__s_name]+x} ]] && [[ $__s_name != __s*_* ]]; then
        __stead_describe "$__s_name"
        __stead_short "$__s_name" 2000
        __stead_quote "$__s_value"
        __s_data+=",\"type\":\"$__s_type\"${__s_size:+,\"size\":\"$__s_size\"},\"value\":$__stead_q"
        if [[ $__s_type == *map ]]; then __stead_keys "$__s_name"; fi
        __s_data+='}'
        \builtin return 0
    fi
    __s_kind=$(\builtin type -t -- "$__s_name")
    if [[ -n $__s_name && -n ${BASH_ALIASES[$__s_name]+x} ]]; then __s_kind=alias; fi
    case $__s_kind in
    alias) __s_value=${BASH_ALIASES[$__s_name]} ;;
    function)
        __s_value="$__s_name ()"
        __stead_quote "$(\builtin declare -f -- "$__s_name")"
        __s_data+=",\"source\":${__stead_q}" ;;
    file)
        __s_value=$(\builtin type -P -- "$__s_name")
        __stead_quote "$__s_value"
        __s_data+=",\"file\":$__stead_q" ;;
    builtin)
        __s_value="$__s_name is a shell builtin"
        __stead_quote "$(\builtin help -- "$__s_name")"
        __s_data+=",\"doc\":${__stead_q}" ;;
    keyword) __s_value="$__s_name is a shell keyword" ;;
    *)
        __s_error="nothing is named \`${__s_name:0:200}\`"
        __stead_near "$__s_name"
        \builtin return 0 ;;
    esac
    __stead_quote "${__s_value:0:2000}"
    __s_data+=",\"type\":\"$__s_kind\",\"value\":$__stead_q}"
}

# Sets `data` of the caller to words that the last word of the text can become.
__stead_complete() {
    \builtin local IFS=$'\n' __s_word="${1##*[[:space:]\;\|\&\(\`]}" __s_head= __s_found __s_name __s_n=0 __s_more=0 __s_list=
    case $__s_word in
    *'${'*) __s_head=${__s_word%'${'*}'${' __s_found=$(\builtin compgen -v -- "${__s_word##*'${'}") ;;
    *'$'*) __s_head=${__s_word%'$'*}'$' __s_found=$(\builtin compgen -v -- "${__s_word##*'$'}") ;;
    */*) __s_found=$(\builtin compgen -f -- "$__s_word") ;;
    *) __s_found=$(\builtin compgen -A function -abck -- "$__s_word"; \builtin compgen -f -- "$__s_word") ;;
    esac
    \builtin local -A __s_seen
    for __s_name in $__s_found; do
        if [[ $__s_name == __s*_* || -n ${__s_seen[$__s_name]+x} ]]; then \builtin continue; fi
        __s_seen[$__s_name]=1
        if ((++__s_n > __stead_COMPLETIONS)); then __s_more=$((__s_more + 1)); \builtin continue; fi
        __stead_quote "$__s_head$__s_name"
        __s_list+="${__s_list:+,}$__stead_q"
    done
    __s_data="{\"names\":[$__s_list],\"more\":$__s_more}"
}

__stead_query() {
    \builtin local - __s_data= __s_error= __stead_q IFS=$' \t\n'
    \builtin set -f
    case $2 in
    vars) \builtin eval '__stead_vars' ;;
    inspect) \builtin eval '__stead_inspect "$3"' ;;
    complete) \builtin eval '__stead_complete "$3"' ;;
    definitions)
        if ! \builtin declare -F __stead_definitions >/dev/null; then __stead_read_later; fi
        \builtin eval '__stead_definitions "$3"' ;;
    *) __s_error="unknown query \`$2\`" ;;
    esac
    # An error in an expansion ends what is evaluated.
    if [[ -z $__s_error && $__s_data != *} ]]; then __s_error='it cannot be looked at'; fi
    if [[ -n $__s_error ]]; then
        __stead_quote "$__s_error"
        __stead_send "{\"ev\":\"reply\",\"seq\":$1,\"error\":$__stead_q}"
    else
        __stead_send "{\"ev\":\"reply\",\"seq\":$1,\"data\":$__s_data}"
    fi
} 2>/dev/null

# Run at the top like user code, so that it reaches what no function can. Readonly names stay. Without BASH_COMPAT the shell is
# compatible with no other version; to switch off each version by its option would set it.
__stead_clear='
for __stead_line in "${__stead_names[@]}"; do
    if [[ -R $__stead_line ]]; then \builtin unset -n "$__stead_line"; fi
    if [[ -z ${__stead_base[$__stead_line]+x} ]]; then \builtin unset -v "$__stead_line"; fi
done
if ((${#__stead_fn[@]})); then \builtin unset -f -- "${__stead_fn[@]}"; fi
\builtin unalias -a
for __stead_line in {0..64} DEBUG ERR RETURN; do \builtin trap - "$__stead_line"; done
\builtin unset -v BASH_COMPAT
\builtin eval "${__stead_options//shopt -u compat??"$__stead_nl"/}"
\builtin set -E
\builtin eval "$__stead_env"
\builtin cd -- "$__stead_start"
\builtin set --
\builtin hash -r
\builtin printf -v IFS " \t\n"
\builtin unset -v FUNCNEST
__stead_trace= __stead_aliases=-s __stead_int= __stead_asking= __stead_nest= __stead_off=() __stead_user_debug= __stead_user_return=
\builtin unset -f read
\__stead_define
'

# Sets `notice` of the caller to what a clear leaves: jobs that run, and names that cannot be taken away.
__stead_goes_on() {
    \builtin local IFS=$'\n' __s_name __s_kept= __s_jobs=0
    for __s_name in $(\builtin jobs -pr); do __s_jobs=$((__s_jobs + 1)); done
    case $__s_jobs in
    0) ;;
    1) __s_notice='1 background job of an earlier eval goes on' ;;
    *) __s_notice="$__s_jobs background jobs of earlier evals go on" ;;
    esac
    for __s_name in $(\builtin readonly -p); do
        __s_name=${__s_name#declare -* } __s_name=${__s_name%%=*}
        if __stead_is_name "$__s_name" && [[ -n ${__stead_mine[$__s_name]+x} && ${#__s_kept} -lt 200 ]]; then __s_kept+="${__s_kept:+, }$__s_name"; fi
    done
    if [[ -n $__s_kept ]]; then __s_notice+="${__s_notice:+; }readonly names stay: $__s_kept"; fi
}

# After a clear what is there is the beginning again.
__stead_cleared() {
    \builtin local __stead_q __s_notice=
    \exec 45<&41 46>&42 47>&43
    __stead_goes_on
    if [[ -n $__s_notice ]]; then __stead_quote "$__s_notice"; __s_notice="\"notice\":$__stead_q"; fi
    __stead_send "{\"ev\":\"reply\",\"seq\":${__stead_cur#@},\"data\":{$__s_notice}}"
    __stead_code=0 __stead_st=0 __stead_cur= __stead_src= __stead_pwd=$PWD __stead_x= __stead_debug= __stead_int=
    __stead_mine=() __stead_given=() __stead_given_values=() __stead_given_names=0 __stead_count=0
}
