# Incomplete code: whether code ends too early. It is read as a whole before any of it runs, in a branch that is never
# taken; code whose words show that it is whole is not read twice (__stead_prepare).
#
# To leave such a branch, code would have to close all that is open there, in the right order: a stray `)` or `}` does not
# run what follows it.

# Whether the code in __stead_src could go on but not stop here. Where that is not certain it is run, and Bash says what it
# says.
__stead_is_incomplete() {
    __stead_way=
    if [[ $__stead_src == *alias[[:space:]]*=* ]]; then __stead_is_incomplete_aliased; else __stead_wants_more; fi
}

# The same for code that makes aliases, each of which may stand for any word of the language from the next line on. Those of
# the first lines are made before the rest is read, in a subshell. Others stand where they may or may not hold for what
# follows: such code is incomplete if it is so with them and without them, and run if they are not plain text.
__stead_is_incomplete_aliased() {
    \builtin local __s_rest="$__stead_src" __s_line __s_made= __s_all __s_said
    while [[ $__s_rest == *"$__stead_nl"* ]]; do
        __s_line=${__s_rest%%"$__stead_nl"*}
        if [[ $__s_line =~ $__stead_ALIASES[[:space:]]*\;?[[:space:]]*$ && -z ${__s_line%%"${BASH_REMATCH[0]}"} ]]; then
            __s_made+="\\builtin $__s_line$__stead_nl"
        elif [[ $__s_line == *[![:space:]]* && ! $__s_line =~ ^[[:space:]]*# ]]; then
            \builtin break
        fi
        __s_rest=${__s_rest:${#__s_line}+1}
    done
    __s_said=$(\__stead_reads_on "$__s_made" "$__s_rest") || \builtin return
    __s_all=$__s_made __s_line=$__s_rest
    while [[ $__s_line =~ $__stead_ALIASES ]]; do
        __s_all+="\\builtin ${BASH_REMATCH[0]}$__stead_nl" __s_line=${__s_line/"${BASH_REMATCH[0]}"/}
    done
    if [[ $__s_line == *alias[[:space:]]*=* ]]; then \builtin return 1; fi
    if [[ $__s_all != "$__s_made" ]]; then __s_line=$(\__stead_reads_on "$__s_all" "$__s_rest") || \builtin return; fi
    __stead_said=$__s_said
}

# Aliases whose texts are plain or quoted, as one command.
__stead_ALIASES=$'alias([[:space:]]+[^][:space:]\'"$`\\;&|<>()=#]+=(\'[^\']*\'|"[^"$`\\]*"|[^][:space:]\'"$`\\;&|<>(){}*?~!#[])*)+'

# In a subshell: makes these aliases, and says what Bash says of the code, if that is incomplete.
__stead_reads_on() {
    \builtin local __stead_src="$2"
    \builtin eval "$1"
    __stead_wants_more && \builtin printf %s "$__stead_said"
}

# Whether the code in __stead_src cannot be read as a whole, but could go on.
__stead_wants_more() {
    if \builtin eval "if ((0)); then { ( :;$__stead_src$__stead_nl) } fi" 2>/dev/null; then
        # A backslash at the end, unless in a comment, puts the next line behind this one: then that may begin with `;`.
        __stead_said='unexpected end of file after a backslash'
        [[ $__stead_src == *\\?("$__stead_nl") ]] && \builtin eval "if ((0)); then { ( :;${__stead_src%"$__stead_nl"}$__stead_nl;$__stead_nl) } fi" 2>/dev/null
        \builtin return
    fi
    # After an error in `[[` Bash stumbles over the next one, unless there is another error between.
    \builtin eval if 2>/dev/null
    # It cannot be read. Without what closes the branch Bash comes to the end of code that could go on, and else stops
    # before. A stray `)` or `}` closes the inner part of one of these and not of the other.
    if __stead_comes_to_end '( ' && __stead_comes_to_end '{ '; then \builtin return 0; fi
    # Of `[[` Bash may say anything.
    __stead_said='syntax error: unexpected end of file'
    if [[ $__stead_src == *'[['* ]] && \builtin eval "if ((0)); then { ( :;$__stead_src$__stead_nl. ]]$__stead_nl) } fi" 2>/dev/null; then \builtin return 0; fi
    __stead_way=$__stead_BY_EVAL
    # As above: Bash is about to read the code once more.
    \builtin eval if 2>/dev/null
    \builtin return 1
}

# What is run in place of code that has a syntax error in it: of a file Bash would tell the error with the path that it has
# for us, `/dev/fd/39`, of this with `eval`. Lines before the error run, as from a file.
__stead_way= __stead_BY_EVAL='\builtin eval "$__stead_src"'

# Sets __stead_said to what Bash says where the code in __stead_src ends.
__stead_comes_to_end() {
    # shellcheck disable=SC2030  # it is only for this
    __stead_said=$(LC_ALL=C; \builtin eval "if ((0)); then { ( { $1:;$__stead_src$__stead_nl" 2>&1)
    [[ $__stead_said == *'unexpected end of file'* || $__stead_said == *'unexpected EOF'* || $__stead_said == *"token \`EOF'"* ]]
}

# Answers for an eval that is not run; its status is Bash's for a syntax error.
__stead_refuse() {
    \builtin local __stead_q __s_said=$__stead_said
    __stead_said=
    # The warning about a here-document comes first, and says most.
    __s_said=${__s_said%%$'\n'*}
    __s_said=${__s_said#*bash: } __s_said=${__s_said#eval: }
    __stead_name_line
    __stead_quote "$1: ${__s_said##*warning: }"
    __stead_st=2 __stead_src=
    __stead_send "{\"ev\":\"error\",\"name\":\"SyntaxError\",\"message\":$__stead_q,\"incomplete\":true}"
    __stead_send "{\"ev\":\"done\",\"eval\":\"$1\",\"status\":\"error\",\"nothing_ran\":true,\"exit_code\":2,\"variables\":$__stead_count}"
}
