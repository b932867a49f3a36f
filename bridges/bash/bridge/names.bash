# Names: what an eval added, rebound or removed.

\builtin declare -A __stead_sig __stead_base __stead_mine __stead_forms __stead_body __stead_alias
# The variables that there were at the beginning, and their attributes.
__stead_first=() __stead_kinds=()
__stead_names=() __stead_now=() __stead_fn=() __stead_take= __stead_vtext= __stead_joined= __stead_ftext= __stead_bodies=
# Longer texts are known by their length; more variables are not listed after every eval, which takes a shell long.
__stead_pwd=$PWD __stead_LISTED=50 __stead_LONG=4000 __stead_MANY=1000 __stead_MENTIONED=3000
# When the eval began and ended, and whether that was long; whether there are more variables than can be listed in good time.
__stead_began= __stead_ended= __stead_slow= __stead_many=
__stead_UNLISTED='there are too many variables to list: what is told of changes is not all'

# The shell's own variables are nobody's news.
__stead_is_own() {
    case $1 in
    __stead_* | __s_* | BASH* | _ | PWD | OLDPWD | SHLVL | PPID | UID | EUID | RANDOM | SRANDOM | SECONDS | LINENO | EPOCH* | FUNCNAME | \
        PIPESTATUS | SHELLOPTS | DIRSTACK | GROUPS | HISTCMD | COMP_* | COLUMNS | LINES | FUNCNEST | IFS | OPTIND | OPTERR | PROMPT_COMMAND | PS[0-4])
        \builtin return 0 ;;
    esac
    \builtin return 1
}

# How a variable is sampled, to tell whether it is another one: a short text as a whole, a long one by its length and
# a list by its size and beginning. Looking at more would cost more with every eval.
__stead_form() {
    \builtin local __s_count __s_length __s_attributes=
    \builtin eval "__s_count=\${#$1[@]} __s_length=\${#$1} __s_attributes=\${$1@a}"
    if ((__s_length > __stead_LONG)); then
        __s_form="\${#$1[@]}:\${#$1}"
    elif [[ __s_count -gt 1 || $__s_attributes == *[aA]* ]]; then
        __s_form="\${#$1[@]}:\${$1[*]:0:40}"
    else
        __s_form="\${#$1[@]}:\$$1"
    fi
}

# Samples all variables at once, by one command that is made anew when there are others.
__stead_sample() {
    \builtin local LC_ALL=C
    if [[ -z $__stead_take ]]; then
        \builtin local __s_name __s_form
        __stead_take='__stead_now=('
        for __s_name in "${__stead_names[@]}"; do
            if [[ -z ${__stead_forms[$__s_name]+x} ]]; then __stead_form "$__s_name"; __stead_forms[$__s_name]=$__s_form; fi
            __stead_take+=" \"${__stead_forms[$__s_name]}\""
        done
        __stead_take+=')'
    fi
    \builtin eval "$__stead_take"
    __stead_new=${__stead_now[*]}
}

# Takes the list of variables.
__stead_listed() {
    \builtin local IFS=$'\n' __s_name
    __stead_vtext=$1 __stead_names=() __stead_take=
    for __s_name in $1; do
        # Calling a function takes longer than all the rest, and most names are not written like this.
        case $__s_name in [A-Z_]*) if __stead_is_own "$__s_name"; then \builtin continue; fi ;; esac
        __stead_names+=("$__s_name")
    done
}

# A variable that is another one: notes it in added or rebound of the caller.
__stead_note_variable() {
    __stead_mine[$1]=1
    if [[ -z ${__stead_sig[$1]+x} ]]; then
        __s_added+=("$1") __stead_sig[$1]=$2
        \builtin return 0
    fi
    __s_rebound+=("$1") __stead_sig[$1]=$2
    # It may have to be sampled in another way from now on.
    \builtin local __s_form
    __stead_form "$1"
    if [[ ${__stead_forms[$1]-} != "$__s_form" ]]; then __stead_forms[$1]=$__s_form __stead_take=; fi
}

__stead_forget_variable() {
    __s_removed+=("$1")
    \builtin unset "__stead_sig[$1]" "__stead_mine[$1]" "__stead_forms[$1]"
    __stead_take=
}

# Compares the variables with those before; the names go to added, rebound and removed of the caller. Takes their
# list, or nothing where they are too many to be listed: then those that the code names.
__stead_compare_variables() {
    \builtin local IFS=$'\n' __s_name __s_i=0 __s_relisted= __s_sample __stead_new
    if [[ -z $1 ]]; then
        __stead_compare_mentioned
        \builtin return 0
    fi
    if [[ $1 != "$__stead_vtext" ]]; then __s_relisted=1; __stead_listed "$1"; fi
    __stead_many=
    __stead_sample
    if [[ -z $__s_relisted && $__stead_new == "$__stead_joined" ]]; then \builtin return 0; fi
    for __s_name in "${__stead_names[@]}"; do
        __s_sample=${__stead_now[__s_i++]}
        if [[ -z ${__stead_sig[$__s_name]+x} ]]; then
            __s_added+=("$__s_name") __stead_mine[$__s_name]=1 __stead_sig[$__s_name]=$__s_sample
        elif [[ ${__stead_sig[$__s_name]} != "$__s_sample" ]]; then
            __stead_note_variable "$__s_name" "$__s_sample"
        fi
    done
    if [[ -n $__s_relisted ]] && ((${#__stead_sig[@]} > ${#__stead_names[@]})); then
        \builtin local -A __s_have
        for __s_name in "${__stead_names[@]}"; do __s_have[$__s_name]=1; done
        for __s_name in "${!__stead_sig[@]}"; do
            if [[ -z ${__s_have[$__s_name]+x} ]]; then __stead_forget_variable "$__s_name"; fi
        done
    fi
    # What will be sampled in another way than it was is not to differ by that.
    if [[ -z $__stead_take ]]; then
        __stead_sample
        __s_i=0
        for __s_name in "${__stead_names[@]}"; do __stead_sig[$__s_name]=${__stead_now[__s_i++]}; done
    fi
    __stead_joined=$__stead_new
}

__stead_compare_mentioned() {
    # All that is in no name parts words; to put blanks in its place would take seconds in long code.
    \builtin local IFS=$' \t\r\n!"#$%&\'()*+,-./:;<=>?@[\\]^`{|}~' __s_name __s_form __s_sample
    \builtin local -A __s_met
    for __s_name in ${__stead_src:0:200000}; do
        if [[ -z $__s_name || $__s_name == [0-9]* || -n ${__s_met[$__s_name]+x} ]] || ! __stead_is_name "$__s_name"; then \builtin continue; fi
        if ((${#__s_met[@]} >= __stead_MENTIONED)); then __s_notice=$__stead_UNLISTED; \builtin break; fi
        __s_met[$__s_name]=1
    done
    __stead_compare_named "${!__s_met[@]}"
}

# Compares the variables of these names only, with samples taken as __stead_sample takes them.
__stead_compare_named() {
    \builtin local LC_ALL=C IFS=$'\n' __s_name __s_form __s_sample __s_before=$((${#__s_added[@]} + ${#__s_removed[@]}))
    for __s_name; do
        if __stead_is_own "$__s_name"; then \builtin continue; fi
        if [[ ! -v $__s_name ]]; then
            \builtin eval "__s_form=\${#$__s_name[@]}"
            if ((__s_form == 0)); then
                if [[ -n ${__stead_sig[$__s_name]+x} ]]; then __stead_forget_variable "$__s_name"; fi
                \builtin continue
            fi
        fi
        __s_form=${__stead_forms[$__s_name]-}
        if [[ -z $__s_form ]]; then __stead_form "$__s_name"; __stead_forms[$__s_name]=$__s_form; fi
        \builtin eval "__s_sample=\"$__s_form\""
        if [[ -n ${__stead_sig[$__s_name]+x} && ${__stead_sig[$__s_name]} == "$__s_sample" ]]; then \builtin continue; fi
        __stead_note_variable "$__s_name" "$__s_sample"
        if [[ ${__stead_forms[$__s_name]} != "$__s_form" ]]; then
            \builtin eval "__stead_sig[\$__s_name]=\"${__stead_forms[$__s_name]}\""
        fi
    done
    # With the next list all are compared one by one.
    __stead_joined=
    if ((${#__s_added[@]} + ${#__s_removed[@]} > __s_before)); then __stead_vtext=; fi
}

# The same for functions: their names, and the text of those that were known.
__stead_compare_functions() {
    \builtin local IFS=$'\n' __s_name __s_line __s_bodies="$2"
    if [[ $1 == "$__stead_ftext" && $2 == "$__stead_bodies" ]]; then \builtin return 0; fi
    if [[ $1 != "$__stead_ftext" ]]; then
        __stead_ftext=$1 __stead_fn=()
        for __s_name in $1; do
            case $__s_name in __stead_* | exit | trap | read) ;; *) __stead_fn+=("$__s_name") ;; esac
        done
        __s_bodies=$(\builtin declare -f -- __stead_ret "${__stead_fn[@]}")
    fi
    __stead_bodies=$__s_bodies
    # A function begins with its name at the start of a line, which only a here-document could imitate.
    \builtin local -A __s_text __s_known
    \builtin local __s_current=__stead_ret
    __s_known[__stead_ret]=1
    for __s_name in $1; do __s_known[$__s_name]=1; done
    for __s_line in $__s_bodies; do
        if [[ $__s_line == *' () ' && -n ${__s_known[${__s_line% () }]+x} && -z ${__s_text[${__s_line% () }]+x} ]]; then __s_current=${__s_line% () }; fi
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
    # A name for another variable, which is not looked at in its place.
    if [[ -R $1 ]]; then
        __s_type=nameref
        \builtin return 0
    fi
    \builtin eval "__s_attributes=\${$1@a}; __s_size=\${#$1[@]}"
    case $__s_attributes in
    *A*) __s_type=map ;;
    *a*) __s_type=array ;;
    *) __s_type=string
        if [[ $__s_attributes == *i* ]]; then __s_type=integer; fi
        \builtin eval "__s_size=\${#$1}" ;;
    esac
    if [[ $__s_attributes == *r* ]]; then __s_type="readonly $__s_type"; fi
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

# Sets __stead_changed to what the eval did to the names, as JSON, or to nothing. Takes the lists of variables and
# functions and the text of the functions; without them the eval can have changed those in __stead_named at most.
__stead_changes() {
    \builtin local -a __s_added __s_rebound __s_removed
    \builtin local __s_list __s_more=0 __s_room="$__stead_LISTED" __s_name __s_out=
    __stead_changed=
    if (($#)); then
        __stead_compare_variables "$1"
        __stead_compare_functions "$2" "$3"
        __stead_compare_aliases
    else
        __stead_compare_named "${__stead_named[@]}"
    fi
    if [[ -n $__stead_is_stdlib ]]; then __stead_take_given; elif ((${#__stead_given[@]})); then __stead_give_up; fi
    if ((${#__stead_regiven[@]})); then __stead_give_again; fi
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
