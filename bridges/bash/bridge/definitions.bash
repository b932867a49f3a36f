# Definitions: what the commands of a source text define, and what is wrong with it. None of it is run.
#
# A Bash of its own, which only reads and has nothing in its environment, says whether the text is right. Only then another
# one parts it into commands, line by line: as much of it as makes the body of a function is whole. To define a function
# runs nothing, and a text that was found right closes no brace that it has not opened. An interactive shell like ours
# would give up at some errors, and those of the user's are no help either.

# Of a command that has more lines only those are tried that look like its end, since each time all of it is read.
__stead_MANY_LINES=200 __stead_DEFINITIONS=20000
# How a command begins that is the definition of a function.
__stead_FUNCTION='^[[:space:]]*(function[[:space:]]+([^][:space:](){};&|<>=$`"\]+)|([^][:space:](){};&|<>=$`"\]+)[[:space:]]*\([[:space:]]*\))'

# Sets `data`, or `error`, of the caller to the definitions of a text.
__stead_definitions() {
    \builtin local __s_said __s_rest __s_own
    if __s_said=$(\exec -c "/proc/$$/exe" --norc --noprofile -O extglob -n 2>&1 <<<"$1") && [[ -z $__s_said ]]; then
        __s_own=$(\builtin declare -p __stead_MANY_LINES __stead_DEFINITIONS __stead_FUNCTION __stead_utf8; \builtin declare -f __stead_part_text __stead_entries __stead_functions __stead_quote)
        __s_rest=$(\exec -c "/proc/$$/exe" --norc --noprofile -O extglob -c "$__s_own"$'\n__stead_part_text' <<<"$1" 2>/dev/null)
        if [[ $__s_rest == *. ]]; then __s_data="{\"definitions\":[${__s_rest%.}]}"; else __s_error='it cannot be parted into commands'; fi
        \builtin return 0
    fi
    __s_said=${__s_said%%$'\n'*}
    if [[ $__s_said == *': line '* ]]; then __s_said="line ${__s_said#*': line '}"; fi
    __s_error=${__s_said:-'it cannot be read'}
}

# Prints an entry for each command of the text on stdin, with commas between, and a full stop.
__stead_part_text() {
    \builtin set -f
    \builtin local LC_ALL=C IFS=$' \t\n' __s_line __s_chunk= __s_at=0 __s_from=0 __s_comment=0 __s_count=0 __s_comma= __s_doc= __stead_q
    \builtin local -a __s_lines
    \builtin mapfile -t __s_lines
    for __s_line in "${__s_lines[@]}"; do
        __s_at=$((__s_at + 1))
        if [[ -z $__s_chunk ]]; then
            case ${__s_line##+([[:space:]])} in
            '') __s_comment=0; \builtin continue ;;
            '#'*)
                if [[ $__s_line == '#!'* && __s_at -eq 1 ]]; then \builtin continue; fi
                if ((__s_comment == 0)); then __s_comment=$__s_at __s_doc=${__s_line##+([[:space:]#])}; fi
                \builtin continue ;;
            esac
            __s_from=$__s_at
        fi
        __s_chunk+=$__s_line$'\n'
        if ((__s_at - __s_from > __stead_MANY_LINES)) && [[ $__s_line == [[:space:]]* && $__s_line != *[\}\)\"\'\`]* ]]; then \builtin continue; fi
        if \builtin eval "__stead_whole() { :"$'\n'"$__s_chunk}"; then
            if ((++__s_count > __stead_DEFINITIONS)); then \builtin return 1; fi
            __stead_entries
            __s_chunk= __s_comment=0 __s_doc=
        elif [[ $__s_chunk == *'[['* ]]; then
            # After an error in `[[` Bash stumbles over the next text, unless there is another error between.
            \builtin eval if
        fi
    done
    [[ -z $__s_chunk ]] && \builtin printf .
}

# Prints the entries of the command in `chunk` of the caller.
__stead_entries() {
    \builtin local __s_kind=other __s_text __s_first="${__s_chunk%%$'\n'*}" __s_name
    \builtin local -a __s_names
    __s_names=()
    # Nothing else begins like that. What may hold more than one is looked at closely, which takes a subshell.
    if [[ $__s_first =~ $__stead_FUNCTION && ( $__s_at -gt $__s_from || ${__s_first/'()'/} != *'()'* && ${__s_first/function/} != *function* ) ]]; then
        __s_names=("${BASH_REMATCH[2]:-${BASH_REMATCH[3]}}")
    elif [[ $__s_chunk == *'()'* || $__s_chunk == *function* ]]; then
        __stead_functions
    fi
    __s_text=${__s_first##+([[:space:]])}
    if ((${#__s_names[@]})); then
        __s_kind=function __s_text=
        if [[ -z $__s_doc && $__s_chunk =~ ^[^$'\n']*$'\n'([[:space:]]*'{'[[:space:]]*$'\n')?[[:space:]]*'#'+[[:space:]]*([^$'\n']*) ]]; then __s_doc=${BASH_REMATCH[2]}; fi
    elif [[ $__s_text != *[\;\&\|]* && $__s_text =~ ^([a-zA-Z_][a-zA-Z0-9_]*)\+?= ]]; then
        __s_names=("${BASH_REMATCH[1]}")
    elif [[ $__s_text =~ ^(export|declare|typeset|readonly)([[:space:]]+-[a-zA-Z]+)*[[:space:]]+([a-zA-Z_][a-zA-Z0-9_]*)(=.*)?$ ]]; then
        __s_names=("${BASH_REMATCH[3]}")
    elif [[ $__s_text =~ ^alias[[:space:]]+([^[:space:]=]+)= ]]; then
        __s_names=("${BASH_REMATCH[1]}")
    elif [[ $__s_text =~ ^(source|\.)[[:space:]]+([^[:space:]\;]+)[[:space:]]*$ ]]; then
        __s_kind=module __s_names=("${BASH_REMATCH[2]}")
    else
        __s_names=('')
    fi
    for __s_name in "${__s_names[@]}"; do
        __stead_quote "$__s_name"
        \builtin printf '%s' "$__s_comma{\"name\":$__stead_q,\"kind\":\"$__s_kind\",\"from\":$__s_from,\"to\":$__s_at"
        if ((__s_comment)); then \builtin printf '%s' ",\"comment\":$__s_comment"; fi
        if [[ -n $__s_text ]]; then __stead_quote "${__s_text:0:200}"; \builtin printf '%s' ",\"signature\":$__stead_q"; fi
        if [[ -n $__s_doc ]]; then __stead_quote "${__s_doc:0:200}"; \builtin printf '%s' ",\"doc\":$__stead_q"; fi
        \builtin printf '}'
        __s_comma=,
    done
}

# Adds to `names` of the caller the functions that the command defines: Bash prints them in one form. Of a command of
# more lines it is the first thing in it, since another line may stand in a text that looks like one.
__stead_functions() {
    \builtin local __s_body __s_number=0
    \builtin local -a __s_shown
    __s_body=$(\builtin declare -f __stead_whole)
    \builtin mapfile -t __s_shown <<<"$__s_body"
    for __s_body in "${__s_shown[@]:3}"; do
        if [[ $__s_body =~ ^'    '(function )?([^[:space:]]+)' () '$ ]]; then __s_names+=("${BASH_REMATCH[2]}"); fi
        if ((__s_at > __s_from)); then \builtin break; fi
    done
}
