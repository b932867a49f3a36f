# Saving: the user's state as text in a file (docs/SAVED.md), for `save` and for checkpoints.
#
# The file's body is commands that loading.bash carries out. They are gathered in a subshell, which has all that the shell has
# and whose options, locale and traps are nobody's.

# The text that saves runs at the top level, where alone all traps and arguments are seen. In a list like this one
# nothing is an error to `set -e` or to an ERR trap. It has no word that an alias could stand for.
__stead_saving='__stead_keyword=+k; \builtin test -o keyword && __stead_keyword=-k && \builtin set +k; __stead_traps_seen=$(\builtin trap -p) && \__stead_save "$@" 2>/dev/null || \builtin :'
__stead_traps_seen= __stead_moved= __stead_SAVED=200 __stead_UNSAVED=100

# Notes which streams the user has moved by `exec`, and what else is open. Is called while 41 to 43 are the session's own.
__stead_find_moved() {
    \builtin local __s_fd
    __stead_moved=
    for __s_fd in 0 1 2; do
        if [[ ! /dev/fd/$((45 + __s_fd)) -ef /dev/fd/$((41 + __s_fd)) ]]; then __stead_moved+=" $__s_fd"; fi
    done
    for ((__s_fd = 3; __s_fd < 40; __s_fd++)); do
        if [[ -e /dev/fd/$__s_fd ]]; then __stead_moved+=" $__s_fd"; fi
    done
}

# Saves: the first line of the argument is the path, the second `force` or nothing, the others are names. Of a `checkpoint`,
# which takes the place of what is there too, it is also noted what came from the user's standard library, and what no
# other shell can have.
__stead_save() {
    \builtin local - __s_set="$SHELLOPTS" __s_shopt="$BASHOPTS" __s_has_ifs="${IFS+x}" __s_ifs="${IFS-}" __s_ifs_flags="-${IFS@a}"
    \builtin local __s_path __s_force __s_target __s_folder __s_said __s_jobs __s_processes=
    \builtin local -a __s_lines
    \builtin set +euvkaxCET -f +o posix
    { \builtin local IFS=$' \t\n'; } 2>/dev/null  # it may be readonly
    if [[ $__stead_keyword == -k ]]; then __s_set+=:keyword; fi
    # They are off while there is work.
    if [[ $__stead_quiet == *v* ]]; then __s_set+=:verbose; fi
    if [[ $__stead_quiet == *T ]]; then __s_set+=:functrace; fi
    \builtin mapfile -t __s_lines <<<"$__stead_argument"
    __s_path=${__s_lines[0]} __s_force=${__s_lines[1]-} __s_lines=("${__s_lines[@]:2}")
    __stead_find_target || \builtin return 0
    __s_jobs=$(\builtin jobs -p)
    if [[ $__s_force == checkpoint ]]; then __stead_find_processes; fi
    __s_said=$(__stead_save_apart "$@" 2>/dev/null)
    case $__s_said in
    '{'*) __stead_report=$__s_said __stead_temporary= ;;
    '') __stead_fail SaveError "saving to \`$__s_path\` ended too early" ;;
    *) __stead_fail SaveError "$__s_said" ;;
    esac
}

# Sets processes of the caller to those that the shell has started and that still run, disowned ones too: number and name.
__stead_find_processes() {
    \builtin local __s_pid __s_name __s_pids="$__s_jobs"
    # Not every kernel has this list.
    { \builtin read -r __s_pids <"/proc/$$/task/$$/children"; } 2>/dev/null
    for __s_pid in $__s_pids; do
        if ((${#__s_processes} > 200)); then
            __s_processes+=', …'
            \builtin break
        fi
        __s_name=
        { \builtin read -r __s_name <"/proc/$__s_pid/comm"; } 2>/dev/null
        __s_processes+="${__s_processes:+, }$__s_pid${__s_name:+ ($__s_name)}"
    done
}

# Sets where to write: the file that a link leads to, and beside it the temporary one. Fails if it is not to be written.
__stead_find_target() {
    \builtin local __s_what= __s_head=
    __s_target=$__s_path
    if ! __stead_counts_bytes; then
        __stead_fail SaveError "nothing can be saved while \`LC_ALL\` is readonly and not \`C\`"
        \builtin return 1
    fi
    if [[ ${LC_ALL@a} != *r* ]]; then \builtin local LC_ALL=C; fi
    if [[ -L $__s_path ]]; then
        __s_target=$(__stead_program readlink -f -- "$__s_path" 2>/dev/null; \builtin printf .)
        __s_target=${__s_target%.} __s_target=${__s_target%$'\n'}
        if [[ -z $__s_target ]]; then __s_what='is a link that leads nowhere'; fi
    fi
    if [[ -d $__s_target || $__s_target == */ ]]; then
        __s_what='is a directory'
    elif [[ -p $__s_target ]]; then
        __s_what='is a FIFO'
    elif [[ -S $__s_target ]]; then
        __s_what='is a socket'
    elif [[ -b $__s_target || -c $__s_target ]]; then
        __s_what='is a device'
    elif [[ -e $__s_target && -z $__s_force && ! -r $__s_target ]]; then
        __s_what='could not be written: Permission denied'
    elif [[ -e $__s_target && -z $__s_force ]]; then
        { \builtin read -r -N 11 __s_head <"$__s_target"; } 2>/dev/null
        if [[ $__s_head != $'STEADSAVE1\n' ]]; then __s_what='is a file that was not saved by stead, and would be lost'; fi
    fi
    __s_folder=${__s_target%/*}/
    if [[ -z $__s_what && ! -d $__s_folder ]] && ! __s_head=$(__stead_program mkdir -p -- "$__s_folder" 2>&1); then
        __s_what="could not be written: ${__s_head##*: }"
    fi
    if [[ -n $__s_what ]]; then
        __stead_fail SaveError "\`$__s_path\` $__s_what"
        \builtin return 1
    fi
    __s_head=${__s_target##*/}
    # A name may have 255 bytes.
    __stead_temporary=$__s_folder.${__s_head:0:200}.$$.tmp
}

# Whether lengths can be counted in bytes, which needs a locale that a readonly LC_ALL may keep from us.
__stead_counts_bytes() { [[ ${LC_ALL@a} != *r* || $LC_ALL == C || $LC_ALL == POSIX ]]; }

# Gathers and writes, in a subshell. Prints the report, or what is the matter.
__stead_save_apart() {
    \builtin local __s_locale __s_mask __s_whole= __s_reason= __s_manifest __s_whole_body __s_size=11
    \builtin local -a __s_body __s_entries __s_saved __s_failed __s_warnings
    \builtin trap - ERR RETURN DEBUG
    __s_body=('# bash')
    if [[ $__s_force == checkpoint ]]; then __s_body+=('__stead_is checkpoint'); fi
    __s_locale=$(\builtin declare -p LC_ALL)
    __s_mask=$(\builtin umask)
    # In this locale lengths are bytes, and what is quoted is plain ASCII.
    if [[ ${LC_ALL@a} != *r* ]]; then LC_ALL=C; fi
    # A limit for the size of files is then an error as any other.
    \builtin trap '' XFSZ
    \builtin shopt -u nocasematch expand_aliases nullglob failglob nocaseglob
    \builtin shopt -s extglob dotglob
    if ((${#__s_lines[@]})); then
        __stead_gather_named
        if ((${#__s_saved[@]} == 0)); then
            \builtin printf %s "nothing was saved: $__s_reason"
            \builtin return 0
        fi
    else
        __s_whole=1
        __stead_gather_all
        __stead_gather_settings "$@"
    fi
    __s_body+=('__stead_is end')
    \builtin printf -v __s_whole_body '%s\n' "${__s_body[@]}"
    __s_size=$((__s_size + ${#__s_whole_body}))
    __stead_manifest
    if ! __s_reason=$(__stead_write_file 2>&1 >/dev/null); then
        __s_reason=${__s_reason%%$'\n'*}
        \builtin printf %s "could not write \`$__s_path\`: ${__s_reason##*: }"
        \builtin return 0
    fi
    __stead_tell_saved
}

# Notes a name that is not saved, and why. Whoever goes back to a checkpoint is told so again.
__stead_unsaved() {
    \builtin local __stead_q
    if [[ $__s_force == checkpoint ]]; then __s_body+=("__stead_is lost ${1@Q} ${2@Q} ${3@Q}"); fi
    __s_reason="\`$1\`: $3"
    __stead_quote "$1"
    __s_failed+=("{\"name\":$__stead_q,\"type\":\"$2\",\"why\":")
    __stead_quote "$3"
    __s_failed[-1]+="$__stead_q}"
}

# Takes the names that were asked for, whatever they name.
__stead_gather_named() {
    \builtin local __s_name __s_kind
    \builtin local -a __s_variables __s_functions __s_wanted
    for __s_name in "${__s_lines[@]}"; do
        __s_kind=
        if __stead_is_name "$__s_name" && \builtin declare -p -- "$__s_name" >/dev/null; then
            __s_kind=1
            if __stead_is_fixed "$__s_name"; then __stead_unsaved "$__s_name" variable "it is the shell's own"; else __s_variables+=("$__s_name"); fi
        fi
        if [[ $__s_name != __stead_* ]] && \builtin declare -F -- "$__s_name" >/dev/null; then __s_kind=1 __s_functions+=("$__s_name"); fi
        if [[ -n $__s_name && -n ${BASH_ALIASES[$__s_name]+x} ]]; then __s_kind=1; __stead_gather_alias "$__s_name"; fi
        if [[ -z $__s_kind ]]; then
            __stead_unsaved "$__s_name" '' 'there is no such name'
            __s_reason="there is no name \`$__s_name\`"
        fi
    done
    __s_wanted=("${__s_variables[@]}")
    __stead_gather_variables
    __s_wanted=("${__s_functions[@]}")
    __stead_gather_functions
}

# Takes all that is the user's.
__stead_gather_all() {
    \builtin local __s_line __s_name __s_form __s_text
    \builtin local -a __s_wanted __s_listing __s_functions __s_aliases __s_made
    \builtin local -A __s_met __s_kinds __s_spared
    for __s_line in "${!__stead_first[@]}"; do __s_kinds[${__stead_first[__s_line]}]=${__stead_kinds[__s_line]}; done
    # Only this list has also variables without a value. A line in it may be part of a value, so what it names must exist.
    \builtin mapfile -t __s_listing < <(\builtin declare -p)
    for __s_line in "${__s_listing[@]}"; do
        if [[ $__s_line != declare\ -* ]]; then \builtin continue; fi
        __s_name=${__s_line:8:2000} __s_name=${__s_name#* } __s_name=${__s_name%%=*}
        if [[ -z $__s_name || $__s_name == *[!a-zA-Z0-9_]* || $__s_name == [0-9]* || -n ${__s_met[$__s_name]+x} ]]; then \builtin continue; fi
        __s_met[$__s_name]=1
        case $__s_name in [A-Z_]*) if __stead_is_fixed "$__s_name" || __stead_is_as_before; then \builtin continue; fi ;; esac
        if [[ -z ${__stead_base[$__s_name]+x} ]] || ! __stead_is_unchanged; then
            if [[ -n ${__stead_given_values[$__s_name]-} && -z ${__stead_mine[$__s_name]+x} ]] && __stead_is_as_given; then
                if [[ $__s_force != checkpoint ]]; then
                    __s_spared[$__s_name]=1
                    \builtin continue
                fi
                __s_made+=("__stead_is made $__s_name" "__stead_is given $__s_name")
            elif [[ $__s_force == checkpoint && -z ${__stead_base[$__s_name]+x}${__stead_mine[$__s_name]+x} ]]; then
                __s_body+=("__stead_is given $__s_name")
            fi
            __s_wanted+=("$__s_name")
        fi
    done
    if [[ $__s_force == checkpoint ]]; then
        for __s_name in "${!__stead_given[@]}"; do __s_body+=("__stead_is given ${__s_name@Q}"); done
    fi
    for __s_name in "${!__stead_base[@]}"; do
        if ! \builtin declare -p -- "$__s_name" >/dev/null || [[ $__s_name == LC_ALL && -z $__s_locale ]]; then __s_body+=("__stead_is gone $__s_name"); fi
    done
    \builtin mapfile -t __s_listing < <(\builtin compgen -A function -X '__stead_*')
    for __s_name in "${__s_listing[@]}"; do
        case $__s_name in exit | trap | read) if __stead_is_ours; then \builtin continue; fi ;; esac
        __stead_take_or_spare "$__s_name()" && __s_functions+=("$__s_name")
    done
    for __s_name in "${!BASH_ALIASES[@]}"; do __stead_take_or_spare "$__s_name=" && __s_aliases+=("$__s_name"); done
    if ((${#__s_spared[@]})); then __stead_take_used; fi
    __stead_gather_variables
    __s_body+=("${__s_made[@]}")
    __s_wanted=("${__s_functions[@]}")
    __stead_gather_functions
    for __s_name in "${__s_aliases[@]}"; do __stead_gather_alias "$__s_name"; done
}

# Whether a function or alias is to be saved: not if it is from the user's standard library, which other sessions have too.
# All of a checkpoint is saved.
__stead_take_or_spare() {
    if [[ $__s_force == checkpoint || -z ${__stead_given[$1]+x} ]]; then \builtin return 0; fi
    __s_spared[$1]=1
    \builtin return 1
}

# Whether a variable is as the user's standard library has set it.
__stead_is_as_given() {
    \builtin eval "__s_text=\"\${$__s_name[@]@A}\""
    [[ $__s_text == "${__stead_given_values[$__s_name]}" ]]
}

# Takes from `spared` of the caller what the functions, aliases and traps that are saved name, and what is named by that.
__stead_take_used() {
    \builtin local __s_all __s_mark __s_found=1
    __s_all=" $__stead_traps_seen $__stead_int $__stead_debug $__stead_returns $__stead_children $__stead_user_err $__stead_user_exit "
    for __s_name in "${__s_aliases[@]}"; do __s_all+="${BASH_ALIASES[$__s_name]} "; done
    # Without a name it would print all.
    if ((${#__s_functions[@]})); then __s_all+="$(\builtin declare -f -- "${__s_functions[@]}") "; fi
    while [[ -n $__s_found ]]; do
        __s_found=
        for __s_mark in "${!__s_spared[@]}"; do
            __s_name=${__s_mark%'()'} __s_name=${__s_name%=}
            if [[ -z ${__s_spared[$__s_mark]} || $__s_all != *[!a-zA-Z0-9_]"$__s_name"[!a-zA-Z0-9_]* ]]; then \builtin continue; fi
            __s_found=1 __s_spared[$__s_mark]=
            case $__s_mark in
            *'()')
                __s_functions+=("$__s_name")
                __s_all+="$(\builtin declare -f -- "$__s_name") " ;;
            *=)
                __s_aliases+=("$__s_name")
                __s_all+="${BASH_ALIASES[$__s_name]} " ;;
            *) __s_wanted+=("$__s_name") ;;
            esac
        done
    done
}

# Whether a variable is as the shell itself makes it, or is told in another way: those that are not in __stead_base.
__stead_is_as_before() {
    case $__s_name in
    IFS | OLDPWD) \builtin return 0 ;;
    LC_ALL) [[ -z $__s_locale ]] || __stead_is_in_environment "$__s_locale" ;;
    OPTIND | OPTERR) [[ ${!__s_name} == 1 ]] ;;
    PS[12]) [[ -z ${!__s_name} ]] ;;
    PS4) [[ ${!__s_name} == '+ ' ]] ;;
    PS[03] | BASH*) __stead_is_in_environment "$__s_line" ;;
    *) \builtin return 1 ;;
    esac
}

# Whether a variable of the beginning is as it was then. A long text is known there by its length, and else by the text of
# the environment.
__stead_is_unchanged() {
    __stead_form "$__s_name"
    \builtin eval "__s_text=\"$__s_form\${$__s_name@a}\""
    [[ $__s_text == "${__stead_base[$__s_name]}${__s_kinds[$__s_name]-}" ]] || \builtin return 1
    [[ $__s_form != "\${#$__s_name[@]}:\${#$__s_name}" ]] || __stead_is_in_environment "$__s_line"
}

# Whether the shell began with a variable as `declare -p` shows it; some versions list them so, others with `export`.
__stead_is_in_environment() {
    \builtin local __s_all="$__stead_nl$__stead_env$__stead_nl" __s_one="${1#declare -x }$__stead_nl"
    [[ $__s_all == *"${__stead_nl}export $__s_one"* || $__s_all == *"${__stead_nl}declare -x $__s_one"* ]]
}

# Whether a function is one that the bridge defines for the user to call.
__stead_is_ours() {
    [[ $(\builtin declare -f -- "$__s_name") == "$(\builtin unset -f "$__s_name"; __stead_define; if [[ $__s_name == read ]]; then __stead_define_read; fi; \builtin declare -f -- "$__s_name")" ]]
}
