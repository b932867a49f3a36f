# Incomplete code: whether code ends too early. It is read as a whole before any of it runs, in a branch that is never
# taken; code whose words show that it is whole is not read twice (__stead_prepare).
#
# To leave such a branch, code would have to close all that is open there, in the right order: a stray `)` or `}` does not
# run what follows it.

# Whether the code in __stead_src could go on but not stop here. Where that is not certain it is run, and Bash says what it
# says: an alias that the code makes may stand for any word of the language.
__stead_is_incomplete() {
    if [[ $__stead_src == *alias[[:space:]]*=* ]]; then \builtin return 1; fi
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
    [[ $__stead_src == *'[['* ]] && \builtin eval "if ((0)); then { ( :;$__stead_src$__stead_nl. ]]$__stead_nl) } fi" 2>/dev/null
}

# Sets __stead_said to what Bash says where the code in __stead_src ends.
__stead_comes_to_end() {
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
    __stead_quote "$1: ${__s_said##*warning: }"
    __stead_st=2 __stead_src=
    __stead_send "{\"ev\":\"error\",\"name\":\"SyntaxError\",\"message\":$__stead_q,\"incomplete\":true}"
    __stead_send "{\"ev\":\"done\",\"eval\":\"$1\",\"status\":\"error\",\"exit_code\":2,\"variables\":$__stead_count}"
}
