# Loading: carries out what saving.bash wrote.
#
# Variables, functions and aliases are set from within a function; what only holds if it is set at the top level comes
# behind it. What cannot be set is named and keeps nothing else from being loaded.

__stead_loading='__stead_keyword=+k; \builtin test -o keyword && __stead_keyword=-k && \builtin set +k; \__stead_load 2>/dev/null && \builtin eval "$__stead_after" || \builtin :; __stead_after='
# What is left to be done at the top level, and what must come last there.
__stead_after= __stead_at_last=

# Options that `local -` does not keep, as our own text needs them: until __stead_put_back.
__stead_calm() {
    __stead_shopts=$BASHOPTS
    \builtin shopt -u expand_aliases nocasematch
    \builtin shopt -s extglob interactive_comments
}

# Loads the file that the argument names.
__stead_load() {
    \builtin local - __s_path="${__stead_argument%%$'\n'*}" __s_text= __s_version= __s_joined __s_report __s_ended= __s_lost=0 __s_goes_back= __stead_q
    \builtin local -a __s_loaded __s_failed __s_warnings
    \builtin set +euvkaxCET -f +o posix
    { \builtin local IFS=$' \t\n'; } 2>/dev/null  # it may be readonly
    __stead_after= __stead_at_last=
    __stead_calm
    if ! __stead_read_saved; then
        __stead_put_back
        \builtin return 1
    fi
    if [[ ${__s_version%.*} != "${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}" ]]; then
        __stead_warn "saved by Bash $__s_version, this is ${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]}"
    fi
    \builtin eval "$__s_text" 2>/dev/null
    __stead_put_back
    if [[ -z $__s_ended ]]; then __stead_warn 'the file was not read to its end'; fi
    __stead_after+=$__stead_at_last
    __stead_quote "$__s_path"
    __s_report="{\"path\":$__stead_q"
    __stead_join "${__s_loaded[@]:0:__stead_SAVED}"
    __s_report+=",\"loaded\":[$__s_joined],\"count\":${#__s_loaded[@]}"
    __stead_join "${__s_failed[@]:0:__stead_UNSAVED}"
    __s_report+=",\"failed\":[$__s_joined],\"failed_count\":${#__s_failed[@]}"
    __stead_join "${__s_warnings[@]}"
    __stead_report="$__s_report,\"warnings\":[$__s_joined]}"
    if ((${#__s_loaded[@]} == 0 && ${#__s_failed[@]} > __s_lost)); then __stead_fail LoadError "nothing of \`$__s_path\` could be loaded"; fi
    # Where there are too many variables to list, these are compared.
    __stead_src="${__s_loaded[*]}"
}

# Sets text and version of the caller to what the file holds. Fails if it is none that can be loaded.
__stead_read_saved() {
    \builtin local __s_what= __s_start __s_length __s_manifest __s_check= __s_sum
    \builtin local -a __s_parts
    if __stead_counts_bytes; then
        if [[ ${LC_ALL@a} != *r* ]]; then \builtin local LC_ALL=C; fi
    else
        __s_what="cannot be read: \`LC_ALL\` is readonly in this session, and not \`C\`"
    fi
    if [[ -n $__s_what ]]; then
        \builtin :
    elif [[ -d $__s_path ]]; then
        __s_what='is a directory'
    elif [[ -p $__s_path ]]; then
        __s_what='is a FIFO'
    elif [[ ! -e $__s_path ]]; then
        __s_what='does not exist'
    elif [[ ! -f $__s_path ]]; then
        __s_what='is no file'
    elif [[ ! -r $__s_path ]]; then
        __s_what='cannot be read: permission denied'
    fi
    if [[ -z $__s_what ]]; then
        # A zero byte is in no file of ours; what comes behind one is not read.
        { \builtin mapfile -d '' -n 1 __s_parts <"$__s_path"; } 2>/dev/null || __s_what='cannot be read'
        __s_text=${__s_parts[0]-}
        if [[ -z $__s_what && ${__s_text:0:11} != $'STEADSAVE1\n' ]]; then __s_what='is no file that stead has saved'; fi
    fi
    if [[ -z $__s_what ]]; then
        if [[ ${__s_text: -51} =~ ^STEADEND\ ([0-9]{20})\ ([0-9]{20})$'\n'$ ]]; then
            __s_start=$((10#${BASH_REMATCH[1]})) __s_length=$((10#${BASH_REMATCH[2]}))
            if ((__s_start >= 11 && __s_length > 0 && __s_start + __s_length + 51 == ${#__s_text})); then __s_manifest=${__s_text:__s_start:__s_length}; fi
        fi
        if [[ ! ${__s_manifest-} =~ ^\{\"format\":([0-9]+),\"language\":\"([a-z]+)\",\"version\":\"([0-9]+\.[0-9]+\.[0-9]+) ]]; then
            __s_what='is not whole, or was not saved by a Bash session'
        elif [[ ${BASH_REMATCH[1]} != 1 ]]; then
            __s_what="was saved by a newer version of stead (format ${BASH_REMATCH[1]})"
        elif [[ ${BASH_REMATCH[2]} != bash ]]; then
            __s_what="was saved by a session of ${BASH_REMATCH[2]}, and this one is of bash"
        else
            __s_version=${BASH_REMATCH[3]} __s_text=${__s_text:11:__s_start-11}
            if [[ $__s_manifest =~ ,\"bash\":\{\"check\":\"([0-9]+\ [0-9]+)\" ]]; then __s_check=${BASH_REMATCH[1]}; fi
            if [[ -n $__s_check ]]; then
                __s_sum=$(\builtin printf %s "$__s_text" | __stead_sum)
                if [[ -n $__s_sum && $__s_sum != "$__s_check" ]]; then __s_what='is damaged: it is not as it was written'; fi
            fi
            # In a branch that is never taken: what cannot be read as a whole is not begun.
            if [[ -z $__s_what ]] && ! \builtin eval "if ((0)); then$__stead_nl$__s_text$__stead_nl fi" 2>/dev/null; then __s_what='is damaged'; fi
        fi
    fi
    if [[ -n $__s_what ]]; then
        __stead_fail LoadError "\`$__s_path\` $__s_what"
        \builtin return 1
    fi
}

__stead_warn() {
    \builtin local __stead_q
    __stead_quote "$1"
    __s_warnings+=("$__stead_q")
}

# Notes a name that could not be set, and why.
__stead_unloaded() {
    \builtin local __stead_q
    __stead_quote "$1"
    __s_failed+=("{\"name\":$__stead_q,\"type\":\"$2\",\"why\":")
    __stead_quote "$3"
    __s_failed[-1]+="$__stead_q}"
}

# Notes what does not come back although nothing is wrong with the file.
__stead_lose() {
    __stead_unloaded "$@"
    __s_lost=$((__s_lost + 1))
}

# The usual: a text without attributes. This is short, since Bash copies a function to call it.
__stead_v() {
    if [[ $1 == [a-z]* && $1 != *[!a-zA-Z0-9_]* && ! -R $1 ]] && \builtin unset -v "$1" && \builtin declare -g "$1=$2"; then
        __s_loaded+=("\"$1\"")
    else
        __stead_is variable "$1" -- "${2@Q}"
    fi
}

# What else the file consists of: a kind, and what belongs to it.
__stead_is() {
    \builtin local __s_kind="$1"
    \builtin shift
    case $__s_kind in
    variable) __stead_set_variable "$@" ;;
    function) __stead_set_function "$@" ;;
    alias)
        # shellcheck disable=SC2139
        if \builtin alias -- "$1=$2"; then __stead_is_loaded "$1"; else __stead_unloaded "$1" alias 'it cannot be set'; fi ;;
    # An `unset` that is not allowed ends nothing.
    gone) if [[ $1 == IFS ]]; then __stead_after+=$'\\builtin unset -v IFS\n'; else \builtin unset -v -- "$1"; fi ;;
    arguments)
        \builtin printf -v __s_kind ' %s' "${@@Q}"
        __stead_after+="\\builtin set --$__s_kind"$'\n' ;;
    directory) __stead_set_directory "$@" ;;
    stack) __stead_set_stack "$@" ;;
    umask) \builtin umask "$1" ;;
    option) __stead_set_option "$@" ;;
    trap) __stead_set_trap "$@" ;;
    given) __stead_regiven+=("$1") ;;
    # A variable that the user's standard library has set and nobody has changed.
    made) __stead_note_given "$1" ;;
    # The file is a checkpoint, and the session goes back to it.
    checkpoint) __s_goes_back=1 ;;
    # It is not in the file: the shell that wrote it could not save it.
    lost) __stead_lose "$@" ;;
    end) __s_ended=1 ;;
    esac
}

__stead_is_loaded() {
    \builtin local __stead_q
    __stead_quote "$1"
    __s_loaded+=("$__stead_q")
}

# Sets a variable of these attributes to a value, which is text as the shell reads it, or to none.
__stead_set_variable() {
    \builtin local __s_attributes= __s_flags="${2/r/}"
    if ! __stead_is_name "$1" || __stead_is_fixed "$1"; then
        __stead_unloaded "$1" variable "it is the shell's own"
        \builtin return 0
    fi
    if [[ -R $1 ]]; then \builtin unset -n -- "$1"; fi
    \builtin eval "__s_attributes=\${$1@a}"
    if [[ $__s_attributes == *r* ]]; then
        # What is there already is loaded.
        if __stead_is_there "$@"; then __s_loaded+=("\"$1\""); else __stead_unloaded "$1" variable 'it is readonly in this session'; fi
        \builtin return 0
    fi
    # These change how the shell itself works.
    case $1 in
    IFS | LANG | LC_* | POSIXLY_CORRECT)
        __stead_after+="\\builtin unset -v $1; \\builtin declare $2 $1${3+=$3}"$'\n'
        __s_loaded+=("\"$1\"")
        \builtin return 0 ;;
    esac
    \builtin unset -v -- "$1"
    if [[ $__s_flags == - ]]; then __s_flags=--; fi
    # An error in an expansion ends what is evaluated.
    if \builtin eval '__stead_put_variable "$@"'; then
        __s_loaded+=("\"$1\"")
    else
        __stead_unloaded "$1" variable 'it cannot be set'
    fi
}

# Whether a variable is what it would become.
__stead_is_there() {
    \builtin local __s_name="$1" __s_text __s_rest
    if [[ ${LC_ALL@a} != *r* ]]; then \builtin local LC_ALL=C; fi
    __s_text=$(\builtin declare -p -- "$1") __s_rest=${__s_text#"declare $2 $1"}
    if [[ $2 == *A* ]]; then __s_rest=$(__stead_quote_keys; \builtin printf '%s.' "$__s_rest") __s_rest=${__s_rest%.}; fi
    [[ $__s_text == "declare $2 $1"* && $__s_rest == "${3+=$3}" ]]
}

__stead_put_variable() {
    case $__s_flags in
    *[aA]*)
        # Not in one command: a list is no argument of `builtin`.
        \builtin declare -g "-${__s_flags//[!aA]/}" "$1" || \builtin return
        if (($# > 2)); then \builtin eval "$1=$3" || \builtin return; fi
        \builtin declare -g "$__s_flags" "$1" || \builtin return ;;
    *n*) \builtin eval "\\builtin declare -g $__s_flags $1${3+=$3}" || \builtin return ;;
    *)
        # The value first: of one that is an integer or has one case the shell would make another, or run what is in it.
        \builtin eval "\\builtin declare -g -- $1${3+=$3}" || \builtin return
        \builtin declare -g "$__s_flags" "$1" || \builtin return ;;
    esac
    if [[ $2 == *r* ]]; then \builtin declare -g -r "$1"; fi
}

# Sets a function of this name and these attributes from its text.
__stead_set_function() {
    if [[ $1 == __stead_* ]] || ! \builtin eval "$3"; then
        __stead_unloaded "$1" function 'it cannot be defined in this session: is it readonly?'
        \builtin return 0
    fi
    if [[ $2 == *x* ]]; then \builtin declare -f -x -- "$1"; fi
    if [[ $2 == *t* ]]; then \builtin declare -f -t -- "$1"; fi
    if [[ $2 == *r* ]]; then \builtin declare -f -r -- "$1"; fi
    if [[ -z $__stead_asking && $3 == *read*-*p* ]]; then
        __stead_asking=1
        if ! \builtin declare -F read >/dev/null; then __stead_define_read; fi
    fi
    __stead_is_loaded "$1"
}

# Of a session that goes back only what was lost is told, and no warning.
__stead_set_directory() {
    if \builtin cd -- "$1"; then
        \builtin :
    elif [[ -n $__s_goes_back ]]; then
        __stead_lose "the directory \`$1\`" directory "it cannot be entered, and the session is in \`$PWD\`"
    else
        __stead_warn "the directory \`$1\` cannot be entered: the session stays in \`$PWD\`"
    fi
    if (($# > 1)); then OLDPWD=$2; else \builtin unset -v OLDPWD; fi
}

# Directories that `pushd` put away, the next one first.
__stead_set_stack() {
    \builtin local __s_n
    \builtin dirs -c
    for ((__s_n = $#; __s_n > 0; __s_n--)); do \builtin pushd -n "${!__s_n}" >/dev/null; done
}

# `set -o NAME` and the like. What is on is put off to the end.
__stead_set_option() {
    case $3 in
    xtrace) __stead_x=; if [[ $2 == -o ]]; then __stead_x=1; fi ;;
    errtrace) __stead_trace=1 ;;
    *)
        if [[ $1 == shopt && -n $(\builtin shopt -q "$3" 2>&1) ]]; then
            __stead_warn "the option \`$3\` is not known to this Bash"
        else
            __stead_at_last+="\\builtin $1 $2 $3"$'\n'
        fi ;;
    esac
}

# The traps for SIGINT and DEBUG are set when code begins, and those for RETURN and SIGCHLD when the work is over.
__stead_set_trap() {
    \builtin local __s_text
    case $2 in
    SIGINT) __stead_int="trap -- ${1@Q} SIGINT" ;;
    SIGCHLD) __stead_children="trap -- ${1@Q} SIGCHLD" ;;
    DEBUG)
        __stead_watch_text DEBUG "$1"
        if [[ $1 == - ]]; then __s_text=-; fi
        __stead_debug="trap -- ${__s_text@Q} DEBUG" ;;
    RETURN)
        __stead_watch_text RETURN "$1"
        if [[ $1 == - ]]; then __s_text=-; fi
        __stead_returns="trap -- ${__s_text@Q} RETURN" ;;
    *) __stead_after+="\\builtin trap -- ${1@Q} $2; \\__stead_trapped -- ${1@Q} $2; __stead_depth=0"$'\n' ;;
    esac
}
