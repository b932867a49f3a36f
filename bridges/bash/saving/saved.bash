# Saved: what becomes of each kind of thing that is saved, and the file.

# Variables that are the shell's own: they cannot be set, or not to any purpose. PWD follows from the directory.
__stead_is_fixed() {
    case $1 in
    __stead_* | __s_* | _ | PWD | SHLVL | PPID | UID | EUID | GROUPS | RANDOM | SRANDOM | SECONDS | LINENO | EPOCHSECONDS | EPOCHREALTIME | FUNCNAME | PIPESTATUS | \
        SHELLOPTS | DIRSTACK | HISTCMD | COMP_* | COLUMNS | LINES | PROMPT_COMMAND | BASH | BASHOPTS | BASHPID | BASH_ALIASES | BASH_ARGC | BASH_ARGV | BASH_ARGV0 | BASH_CMDS | \
        BASH_COMMAND | BASH_EXECUTION_STRING | BASH_LINENO | BASH_LOADABLES_PATH | BASH_MONOSECONDS | BASH_REMATCH | BASH_SOURCE | BASH_SUBSHELL | BASH_TRAPSIG | BASH_VERSINFO | BASH_VERSION | BASH_XTRACEFD)
        \builtin return 0 ;;
    esac
    \builtin return 1
}

# Adds the variables in __s_wanted of the caller. All are printed by one process and read back at once; a zero byte is in no value.
# No function is called for the usual one: Bash copies the whole of a function to call it, and all arguments of the caller.
__stead_gather_variables() {
    \builtin local __s_name __s_text __s_flags __s_rest __s_type __s_size __s_value __s_n=0 __stead_q
    \builtin local -a __s_texts
    \builtin mapfile -d '' -t __s_texts < <(for __s_name in "${__s_wanted[@]}"; do \builtin declare -p -- "$__s_name"; \builtin printf '\0'; done)
    for __s_name in "${__s_wanted[@]}"; do
        __s_text=${__s_texts[__s_n++]}
        if [[ ${__s_text:0:11} == 'declare -- ' && ${__s_text:11+${#__s_name}:1} == = && $__s_name == [a-z]* ]]; then
            __s_value=${!__s_name}
            __s_body+=("__stead_v $__s_name ${__s_value@Q}")
            __s_saved+=("\"$__s_name\"")
            if [[ ${#__s_value} -le 100 && $__s_value != *[!\ !#-\[\]-~]* ]]; then
                __s_entries+=("{\"name\":\"$__s_name\",\"type\":\"string\",\"size\":\"${#__s_value}\",\"value\":\"$__s_value\"}")
                \builtin continue
            fi
            __s_flags=-- __s_rest="="
        else
            __stead_gather_unusual || \builtin continue
        fi
        __stead_describe_saved
        __s_entries+=("{\"name\":\"$__s_name\",\"type\":\"$__s_type\",\"size\":\"$__s_size\",\"value\":$__stead_q}")
    done
}

# Adds a variable that has attributes, or has another way to be saved. Fails if it is not saved.
__stead_gather_unusual() {
    \builtin local __s_shown
    if [[ $__s_name == LC_ALL ]]; then __s_text=$__s_locale; fi
    if [[ $__s_name == IFS ]]; then __s_text="declare ${__s_ifs_flags/%-/--} IFS=${__s_ifs@Q}"; fi
    # A part of a value that looks like a variable is none.
    if [[ -z $__s_text ]]; then \builtin return 1; fi
    __s_text=${__s_text#declare } __s_text=${__s_text%$'\n'}
    __s_flags=${__s_text:0:20} __s_flags=${__s_flags%% *}
    __s_rest=${__s_text:${#__s_flags}+1+${#__s_name}}
    if [[ $__s_flags == *a* && -n $__s_rest ]] && __stead_is_coprocess; then \builtin return 1; fi
    if [[ $__s_flags == *A* ]]; then __stead_quote_keys; fi
    __s_shown=${__s_rest:1}
    __s_body+=("__stead_is variable $__s_name $__s_flags${__s_rest:+ ${__s_shown@Q}}")
    __s_saved+=("\"$__s_name\"")
}

# The descriptors of a coprocess are of no use to another shell. Takes the variable of the caller.
__stead_is_coprocess() {
    \builtin local __s_pid=${__s_name}_PID __s_fd
    [[ -n ${!__s_pid-} && $__s_rest =~ ^=\(\[0\]=\"([0-9]+)\"\ \[1\]=\"([0-9]+)\"\ ?\)$ ]] || \builtin return 1
    __stead_unsaved "$__s_name" coprocess 'it belongs to a process that runs'
}

# Writes the keys of a map anew: not every Bash prints them so that it could read them again.
__stead_quote_keys() {
    \builtin local __s_key
    \builtin local -a __s_pairs
    \builtin local -n __s_map="$__s_name"
    if [[ -z $__s_rest ]]; then \builtin return 0; fi
    for __s_key in "${!__s_map[@]}"; do __s_pairs+=("[${__s_key@Q}]=${__s_map[$__s_key]@Q}"); done
    \builtin printf -v __s_rest '%s ' "${__s_pairs[@]}"
    __s_rest="=(${__s_rest% })"
}

# Sets type and size of the caller and __stead_q, the JSON of a short value.
__stead_describe_saved() {
    __s_type=string
    case $__s_flags in
    *n*) __s_type=reference __s_value=${__s_rest#=} __s_value=${__s_value//\"/} __s_size=${#__s_value} ;;
    *A*) __s_type=map ;;
    *a*) __s_type=array ;;
    *) if [[ $__s_flags == *i* ]]; then __s_type=integer; fi
        __s_value=${!__s_name-} __s_size=${#__s_value} ;;
    esac
    if [[ $__s_type == map || $__s_type == array ]]; then
        __s_size=0 __s_value=
        if [[ -n $__s_rest ]]; then
            \builtin eval "__s_size=\${#$__s_name[@]}"
            __stead_short "$__s_name" 100
        fi
    fi
    if [[ ${#__s_value} -gt 100 || $__s_value == *… ]]; then
        # Not in the middle of a character.
        __s_value=${__s_value:0:100} __s_value=${__s_value%[$'\xc0'-$'\xff']*([$'\x80'-$'\xbf'])}…
    fi
    if [[ $__s_flags == *x* ]]; then __s_type="exported $__s_type"; fi
    if [[ $__s_value == *[!\ !#-\[\]-~]* ]]; then __stead_quote "$__s_value"; else __stead_q=\"$__s_value\"; fi
}

# Adds the functions in __s_wanted of the caller, with what `export -f` and `readonly -f` made of them.
__stead_gather_functions() {
    \builtin local __s_name __s_text __s_n=0 __stead_q
    \builtin local -a __s_texts
    \builtin local -A __s_marks
    \builtin mapfile -t __s_texts < <(\builtin declare -F)
    for __s_text in "${__s_texts[@]}"; do
        __s_text=${__s_text#declare -}
        __s_marks[${__s_text#* }]=${__s_text%% *}
    done
    \builtin mapfile -d '' -t __s_texts < <(for __s_name in "${__s_wanted[@]}"; do \builtin declare -f -- "$__s_name"; \builtin printf '\0'; done)
    for __s_name in "${__s_wanted[@]}"; do
        __s_text=${__s_texts[__s_n++]} __s_text=${__s_text%$'\n'}
        if [[ -z $__s_text ]] || ! \builtin eval "if ((0)); then $__s_text$__stead_nl fi"; then
            __stead_unsaved "$__s_name" function 'Bash does not print it so that it could read it again'
            \builtin continue
        fi
        __s_body+=("__stead_is function ${__s_name@Q} ${__s_marks[$__s_name]:-f} ${__s_text@Q}")
        __stead_quote "$__s_name"
        __s_saved+=("$__stead_q")
        __s_entries+=("{\"name\":$__stead_q,\"type\":\"function\",\"size\":\"${#__s_text}\"}")
    done
}

__stead_gather_alias() {
    \builtin local __stead_q
    __s_body+=("__stead_is alias ${1@Q} ${BASH_ALIASES[$1]@Q}")
    __stead_quote "$1"
    __s_saved+=("$__stead_q")
    __s_entries+=("{\"name\":$__stead_q,\"type\":\"alias\",\"value\":")
    __stead_quote "${BASH_ALIASES[$1]:0:100}"
    __s_entries[-1]+="$__stead_q}"
}

# Adds what is the user's besides names; takes the arguments of the shell.
__stead_gather_settings() {
    \builtin local __s_line __s_name __s_on __s_wanted __s_last=
    \builtin local -a __s_stack __s_options
    if (($#)); then
        \builtin printf -v __s_line ' %s' "${@@Q}"
        __s_body+=("__stead_is arguments$__s_line")
    fi
    if [[ -z $__s_has_ifs ]]; then __s_body+=('__stead_is gone IFS'); elif [[ $__s_ifs != $' \t\n' || $__s_ifs_flags == -?* ]]; then
        __s_line=${__s_ifs@Q}
        __s_body+=("__stead_is variable IFS ${__s_ifs_flags/%-/--} ${__s_line@Q}")
    fi
    __s_line=$(\builtin pwd; \builtin printf .) __s_line=${__s_line%.} __s_line=${__s_line%$'\n'}
    __s_body+=("__stead_is directory ${__s_line@Q}${OLDPWD+ ${OLDPWD@Q}}" "__stead_is umask $__s_mask")
    if ((${#DIRSTACK[@]} > 1)); then
        __s_stack=("${DIRSTACK[@]:1}")
        \builtin printf -v __s_line ' %s' "${__s_stack[@]@Q}"
        __s_body+=("__stead_is stack$__s_line")
    fi
    # Options that are not as they were at the beginning; `set -e` last, since what follows it may end everything.
    \builtin mapfile -t __s_options <<<"$__stead_options"
    for __s_line in "${__s_options[@]}"; do
        __s_name=${__s_line##* } __s_on=+
        case $__s_line in
        set\ *)
            case $__s_name in errtrace | history | histexpand | onecmd | noexec) \builtin continue ;; esac
            if [[ :$__s_set: == *:$__s_name:* || ( $__s_name == xtrace && -n $__stead_x ) ]]; then __s_on=-; fi
            __s_wanted="set ${__s_on}o $__s_name" ;;
        shopt\ *)
            # What is compatible with which version is in BASH_COMPAT too.
            case $__s_name in login_shell | restricted_shell) \builtin continue ;; compat[0-9]*) if [[ -n ${BASH_COMPAT-} ]]; then \builtin continue; fi ;; esac
            __s_wanted="shopt -u $__s_name"
            if [[ :$__s_shopt: == *:$__s_name:* ]]; then __s_wanted="shopt -s $__s_name"; fi ;;
        esac
        if [[ $__s_wanted == "$__s_line" ]]; then \builtin continue; fi
        if [[ $__s_name == errexit ]]; then __s_last=$__s_wanted; else __s_body+=("__stead_is option $__s_wanted"); fi
    done
    if [[ -n $__stead_trace ]]; then __s_body+=('__stead_is option set -o errtrace'); fi
    __stead_gather_traps
    if [[ -n $__s_last ]]; then __s_body+=("__stead_is option $__s_last"); fi
    __stead_warn_unkept
}

# Adds traps. The list that Bash prints is text that calls `trap`, which is here a function that notes what it is called with.
__stead_gather_traps() {
    trap() {
        case $3 in
        SIGINT | EXIT | ERR | DEBUG) if [[ -z $__s_told ]]; then \builtin return 0; fi ;;
        *) if [[ $2 == '{ \__stead_'* ]]; then \builtin return 0; fi ;;
        esac
        __s_body+=("__stead_is trap ${2@Q} $3")
    }
    \builtin local __s_told=
    \builtin eval "$__stead_traps_seen"
    # These are not as the user set them, or not set, while the bridge is at work.
    __s_told=1
    if [[ $__stead_returns == *'__s[t_]'* ]]; then trap -- "$__stead_user_return" RETURN; elif [[ -n $__stead_returns ]]; then \builtin eval "$__stead_returns"; fi
    if [[ -n $__stead_children ]]; then \builtin eval "$__stead_children"; fi
    if [[ -n $__stead_int ]]; then \builtin eval "$__stead_int"; fi
    if [[ $__stead_debug == *'__s[t_]'* ]]; then trap -- "$__stead_user_debug" DEBUG; elif [[ -n $__stead_debug ]]; then \builtin eval "$__stead_debug"; fi
    if [[ -n $__stead_user_err ]]; then trap -- "$__stead_user_err" ERR; fi
    if [[ -n $__stead_user_exit ]]; then trap -- "$__stead_user_exit" EXIT; fi
}

# What no file can keep is named.
__stead_warn_unkept() {
    \builtin local __stead_q
    if [[ $__s_force == checkpoint ]]; then
        if [[ -n $__s_processes ]]; then __stead_unsaved "background processes $__s_processes" process 'going back ends them'; fi
        if [[ -n $__stead_moved ]]; then __stead_unsaved "descriptors$__stead_moved" descriptor 'going back closes what `exec` has opened'; fi
        \builtin return 0
    fi
    if [[ -n $__s_jobs ]]; then __s_warnings+=('"background jobs are not saved"'); fi
    if [[ -n $__stead_moved ]]; then __s_warnings+=("\"redirections by \`exec\` are not saved: descriptors$__stead_moved\""); fi
}

# Sets __s_joined of the caller to the arguments with commas between.
__stead_join() {
    __s_joined=
    if (($#)); then \builtin printf -v __s_joined '%s,' "$@"; fi
    __s_joined=${__s_joined%,}
}

# Writes the file, makes sure that the disk has it, and puts it in its place. What fails says why on stderr.
__stead_write_file() {
    \builtin local __s_fd __s_trailer
    __stead_sweep
    \builtin printf -v __s_trailer 'STEADEND %020d %020d\n' "$__s_size" "${#__s_manifest}"
    \builtin umask 077
    \builtin set -C
    \exec {__s_fd}>"$__stead_temporary" || \builtin return
    { \builtin printf '%s' $'STEADSAVE1\n' "$__s_whole_body" "$__s_manifest" "$__s_trailer"; } >&"$__s_fd" || \builtin return
    \exec {__s_fd}>&- || \builtin return
    __stead_synchronize "$__stead_temporary" || \builtin return
    __stead_program mv -f -- "$__stead_temporary" "$__s_target" || \builtin return
    __stead_synchronize "$__s_folder"
}

# A system without such a program writes when it likes.
__stead_synchronize() {
    \builtin local __s_status=0
    __stead_program sync -- "$1" || __s_status=$?
    ((__s_status == 0 || __s_status == 127))
}

# Removes what saves to the same file left that were killed.
__stead_sweep() {
    \builtin local - __s_file __s_pid __s_base=${__stead_temporary%."$$".tmp}
    \builtin set +f
    for __s_file in "$__s_base".[0-9]*.tmp; do
        __s_pid=${__s_file#"$__s_base".} __s_pid=${__s_pid%.tmp}
        if [[ $__s_pid != *[!0-9]* && -f $__s_file && ( $__s_pid == "$$" || ! -d /proc/$__s_pid ) ]]; then __stead_program rm -f -- "$__s_file"; fi
    done
}

# Sets the manifest of the caller.
__stead_manifest() {
    \builtin local __s_joined __s_date __stead_q
    TZ=UTC0 \builtin printf -v __s_date '%(%Y-%m-%dT%H:%M:%SZ)T' -1
    __stead_quote "$BASH_VERSION"
    __s_manifest="{\"format\":1,\"language\":\"bash\",\"version\":$__stead_q,\"saved\":\"$__s_date\""
    __stead_quote "${__stead_cur%:*}"
    __s_manifest+=",\"session\":$__stead_q"
    __stead_quote "$PWD"
    __s_manifest+=",\"cwd\":$__stead_q"
    __stead_join "${__s_entries[@]}"
    __s_manifest+=",\"names\":[$__s_joined]"
    __stead_join "${__s_failed[@]}"
    __s_manifest+=",\"failed\":[$__s_joined],\"packages\":{}"
    __stead_join "${__s_warnings[@]}"
    __s_manifest+=",\"bash\":{\"check\":\"$(\builtin printf %s "$__s_whole_body" | __stead_sum)\",\"settings\":$([[ -n $__s_whole ]] && \builtin printf true || \builtin printf false),\"warnings\":[$__s_joined]}}"
}

# A checksum of what it reads, or nothing where there is no such program.
__stead_sum() { \builtin command -p cksum || \builtin command cksum; } 2>/dev/null

# Prints the report.
__stead_tell_saved() {
    \builtin local __s_joined __s_report __stead_q
    __stead_quote "$__s_path"
    # The last line of a file has 51 bytes.
    __s_report="{\"path\":$__stead_q,\"bytes\":$((__s_size + ${#__s_manifest} + 51))"
    __stead_join "${__s_saved[@]:0:__stead_SAVED}"
    __s_report+=",\"saved\":[$__s_joined],\"count\":${#__s_saved[@]}"
    __stead_join "${__s_failed[@]:0:__stead_UNSAVED}"
    __s_report+=",\"failed\":[$__s_joined],\"failed_count\":${#__s_failed[@]}"
    __stead_join "${__s_warnings[@]}"
    \builtin printf %s "$__s_report${__s_joined:+,\"warnings\":[$__s_joined]}}"
}
