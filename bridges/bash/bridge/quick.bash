# Quick: from one plain eval to the next without calling functions.
#
# To call a function Bash copies the whole of it and sets up a frame; nine calls were a third of an eval's time. Most evals
# need nothing of what those functions look after: the code was plain (reach.bash), ended with 0, and so is the next one.
# For these the text here does, in the loop itself, what __stead_finish, __stead_next and __stead_prepare do for all.
# Where anything is out of the ordinary it leaves the rest to them.
#
# It has no locals, and the options are the user's: so it is only for a shell in which none is set that matters here.

# Whether the next code is prepared and may run; how far the next command was read: its `line`, its `text` too, or nothing.
__stead_ready= __stead_pending=
# How many names the user has; whether the user had case ignored in comparisons.
__stead_count=0 __stead_nocase=
# The code with 0 in the place of its first sum, if that has only numbers in it; what comes after `$((`, and up to `))`.
__stead_plain= __stead_rest= __stead_sum=
# Whether the code may start programs (__stead_renew): a single command that is none of these does. Whether it is one of these
# and has no redirection either: then it can neither use nor pass on our descriptors, which need not be put out of its reach.
__stead_spawns=1 __stead_harmless=
\builtin declare -A __stead_light
for __stead_line in echo pwd cd : true false test type kill umask dirs pushd popd times; do __stead_light[$__stead_line]=; done
# Characters that the text below cannot have in it.
__stead_marks=$'\'\n'

# Whether the eval ended like that, and no interrupt came. What has to be told besides is told by __stead_finish: a new
# directory, and what became of background jobs.
__stead_is_usual='[[ $__stead_end$__stead_code$__stead_reach$__stead_jobs$__stead_nocase$__stead_fixed${__stead_off-}${FUNCNEST-} == normal0nothing && $- != *[aefktuvxT]* && $PWD == "$__stead_pwd" && -z $! ]] && ! \builtin read -t 0 -u 40'

# Reports it, reads the next command, and prepares it if it is plain code too. Long code is left to the others before
# anything looks at it: to take the first word off a text needs time by the square of its length.
__stead_go_on='\builtin trap "__stead_early=1" INT
\builtin printf "%s\n" "{\"ev\":\"done\",\"eval\":\"$__stead_cur\",\"status\":\"ok\",\"exit_code\":0,\"variables\":$__stead_count}" >&40 || __stead_gone "$__stead_UNHEARD"
__stead_st=0 __stead_cur= __stead_src= __stead_pending=line
IFS= \builtin read -r -u 40 __stead_line || IFS= __stead_read_on "$?" || __stead_quit
if [[ $__stead_line == eval\ * && $__stead_line != *\ 0 && ${__stead_line##* } -le 1000 && -z $__stead_early$__stead_watched$__stead_debug$__stead_int$__stead_user_err$__stead_x$__stead_leaks${PROMPT_COMMAND-} ]]; then
    LC_ALL=C \builtin read -r -N "${__stead_line##* }" -u 40 __stead_text || LC_ALL=C __stead_read_more "${__stead_line##* }" "$?" || __stead_quit
    __stead_src=$__stead_text __stead_plain=$__stead_text __stead_pending=text __stead_word=${__stead_text%% *}
    if [[ $__stead_src == *"\$(("*"))"* ]]; then
        __stead_rest=${__stead_src#*"\$(("}
        __stead_sum=${__stead_rest%%"))"*}
        if [[ $__stead_sum != *[!0-9\ +*/%-]* ]]; then __stead_plain=${__stead_src%%"\$(("*}0${__stead_rest#*"))"}; fi
    fi
    if [[ -n $__stead_word && $__stead_plain != *[\\\`\(\)\{\}\[\]\"\;\&\|"$__stead_marks"]* && $__stead_src != *"<<"* && ( $__stead_src != *[\<\>]* || $__stead_src != *[\<\>]@(*([[:blank:]])|+([[:blank:]])[\<\>]*) ) && $__stead_word != *[!a-zA-Z0-9_./+:@,-]* && $__stead_word != printf &&
        -z ${__stead_heavy[$__stead_word]+x}${BASH_ALIASES[$__stead_word]+x} && $__stead_nl$__stead_ftext$__stead_nl != *"$__stead_nl$__stead_word$__stead_nl"* ]]; then
        __stead_reach=nothing
    else
        __stead_word=/
        \builtin set -f
        __stead_foresee
        \builtin set +f
    fi
    if [[ $__stead_reach == nothing && $__stead_src != *"$__stead_nl"* ]]; then
        __stead_line=${__stead_line#* } __stead_pending= __stead_ran=1 __stead_probing= __stead_nudged= __stead_held= __stead_end= __stead_where= __stead_tries=0 __stead_rounds= __stead_has_int= __stead_began=
        if [[ -n $__stead_spawns ]]; then __stead_renew; fi
        __stead_cur=${__stead_line% *} __stead_ready=1 __stead_spawns=${__stead_light[$__stead_word]-1} __stead_harmless=
        if [[ -z $__stead_spawns && $__stead_src != *[\<\>]* ]]; then __stead_harmless=1; fi
    fi
fi'

# Whether what was prepared may run. Otherwise an interrupt came before it began, which __stead_next reports.
__stead_may_run='[[ -n $__stead_ready ]] && __stead_ready= && \builtin trap - INT && [[ -z $__stead_early ]]'

# Runs code that is harmless, in place of __stead_run: to put the descriptors away and back takes as long as the rest.
__stead_run_harmless='{ \builtin . /dev/fd/39 39<<<"$__stead_src"; __stead_code=$? __stead_end=normal; } <&45 >&46 2>&47'
