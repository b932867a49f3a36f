# Reach: what code can change at most, told from its text before it runs.
#
# To list and compare all names takes a shell longer than most evals. Programs that are run, and builtins that only print,
# change none; an assignment changes the variable that it names. Where the text is not as plain as that, all is looked at.
# Whatever this should overlook is told after the next eval that is looked at.

# `nothing`, `named` (only the variables in __stead_named), or `all`.
__stead_reach=all __stead_named=()
# Whether a trap of the user's may run code beside; known after a whole look only. All traps, if so.
__stead_watched= __stead_sprung=

# Sets __stead_reach for the code in __stead_src. Is called with `set -f`.
__stead_foresee() {
    __stead_reach=all __stead_named=()
    if [[ -n $__stead_watched$__stead_debug$__stead_int$__stead_user_err$__stead_fixed || ${#__stead_src} -gt 1000 ]]; then \builtin return 0; fi
    \builtin local IFS=$' \t' __s_text="$__stead_src" __s_word __s_first=1
    if [[ $__s_text == *'$(('* ]] && ! __stead_without_sums; then \builtin return 0; fi
    if [[ $__s_text == *[\'\"]* ]] && ! __stead_without_quotes; then \builtin return 0; fi
    # Nothing that puts words or commands together, no `printf -v`, and nothing that may want more than there is.
    if [[ $__s_text == *[\\\`\(\)\{\}\[\]]* || $__stead_src == *printf*@(-v|\$)* || $__s_text == *@('<<'*|[\|\&]*([[:space:]])) ]]; then \builtin return 0; fi
    if [[ $__s_text == *[\;\&\|\<\>]* ]] && __stead_is_misplaced; then \builtin return 0; fi
    for __s_word in ${__s_text//[$';&|\n']/ ; }; do
        if [[ $__s_word == ';' ]]; then
            __s_first=1
        elif [[ -n $__s_first ]]; then
            __stead_is_plain || \builtin return 0
        fi
    done
    if [[ -n ${__stead_named[0]-} ]]; then __stead_reach=named; else __stead_reach=nothing; fi
}

# Whether a sign stands where none can: no command before or after it, no word behind a redirection. Such code is not plain, so
# that it is read before it runs and Bash's message does not name the file that it is in for us (incomplete.bash).
__stead_is_misplaced() {
    \builtin local __s_signs="${__s_text//@(&&|\|\|)/;}"
    [[ $__s_signs == *([[:space:]])[\;\&\|]* || $__s_signs == *[\;\&\|]*([[:blank:]])[\;\|]* || $__s_signs == *[\<\>]@(*([[:space:]])|+([[:blank:]])[\;\|\&\<\>]*|*([[:blank:]])[$';\n']*) ]]
}

# Puts 0 in the place of each sum of numbers. With a name in it there could be an assignment, in the name's value too.
__stead_without_sums() {
    \builtin local __s_rest __s_sum
    while [[ $__s_text == *'$(('*'))'* ]]; do
        __s_rest=${__s_text#*'$(('}
        __s_sum=${__s_rest%%'))'*}
        if [[ $__s_sum == *[!0-9\ +*/%-]* ]]; then \builtin return 1; fi
        __s_text=${__s_text%%'$(('*}0${__s_rest#*'))'}
    done
}

# Leaves of each quoted text one quote, which no word of a command may have. Which quotes belong together is certain only
# where all are of one kind and none can stand in a comment or here-document.
__stead_without_quotes() {
    \builtin local IFS=\" __s_i
    \builtin local -a __s_pieces
    if [[ $__s_text == *\"* ]]; then
        if [[ $__s_text == *[\'\\\`\#]* || $__s_text == *'<<'* || $__s_text == *\$[\(\{\[]* ]]; then \builtin return 1; fi
    else
        if [[ $__s_text == *[\\\#]* || $__s_text == *'<<'* ]]; then \builtin return 1; fi
        IFS=\'
    fi
    # The last piece would be lost if it were empty, and with it whether a quote stands open.
    __s_pieces=($__s_text.)
    if ((${#__s_pieces[@]} % 2 == 0)); then \builtin return 1; fi
    __s_text=
    for ((__s_i = 0; __s_i < ${#__s_pieces[@]}; __s_i += 2)); do __s_text+=\"${__s_pieces[__s_i]}; done
    __s_text=${__s_text#\"} __s_text=${__s_text%.}
}

# Whether the word at the beginning of a command does no harm: an assignment, which it notes, or the name of a program or
# of a builtin that only prints.
__stead_is_plain() {
    if [[ $__s_word == [a-zA-Z_]*=* ]]; then
        __stead_is_plain_assignment
        \builtin return
    fi
    __s_first=
    [[ $__s_word != *[!a-zA-Z0-9_./+:@,-]* && -z ${__stead_heavy[$__s_word]+x}${BASH_ALIASES[$__s_word]+x} &&
        $__stead_nl$__stead_ftext$__stead_nl != *"$__stead_nl$__s_word$__stead_nl"* ]]
}

__stead_is_plain_assignment() {
    __s_word=${__s_word%%=*}
    __s_word=${__s_word%+}
    if [[ $__s_word == *[!a-zA-Z0-9_]* || $__s_word == __stead_* ]]; then \builtin return 1; fi
    # What is assigned to a name for another, or to a sum, may change more. Before Bash 5 one that has no value yet does not
    # tell which it is.
    if [[ -R $__s_word || ( ${BASH_VERSINFO[0]} -lt 5 && ! -v $__s_word ) ]]; then \builtin return 1; fi
    if \builtin eval "[[ \${$__s_word@a} == *i* ]]"; then \builtin return 1; fi
    __stead_named+=("$__s_word")
}

# Builtins and words of the language that may do more than print.
\builtin declare -A __stead_heavy
__stead_line='. alias bg bind break builtin caller command compgen complete compopt continue declare disown enable eval exec exit export fc fg getopts
    hash history jobs let local logout mapfile read readarray readonly return set shift shopt source suspend trap typeset ulimit unalias unset wait
    if then else elif fi case esac for select while until do done in function time coproc'
for __stead_line in $__stead_line; do __stead_heavy[$__stead_line]=; done
