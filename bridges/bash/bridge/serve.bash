# Serve: the loop, and the start; what runs last stands last.

# What is to be seen of the shell after an eval, in two ways (look.bash). A function would not see the traps for DEBUG and
# RETURN, so traps are looked at here, by commands of their own: what a DEBUG trap prints must not get between. Bash 4.4 reads the text of a substitution only when it runs, and would see the user's aliases in it.
__stead_see='if [[ -z ${__stead_cur-} ]]; then \__stead_gone; fi; if [[ $__stead_reach == all || -z $__stead_end || -n ${__stead_off-} ]]; then '"$__stead_check"'; fi; '"$__stead_lift"'; if [[ -n $__stead_quiet ]]; then '"$__stead_loud"'; fi; __stead_opts=$BASHOPTS __stead_T=+T __stead_k=+k; if [[ -o keyword && -z $__stead_none ]]; then __stead_k=-k; \builtin set +k; fi; if [[ -o functrace && -z $__stead_none ]]; then __stead_T=-T; \builtin set +T; fi; \builtin shopt -u expand_aliases; if [[ $__stead_reach == all ]]; then if \__stead_looks_here && \builtin trap -p DEBUG >&48 && \__stead_part >&48 && \builtin trap -p >&48 && \__stead_show >&48; then \__stead_take_in; else __stead_look=$(\builtin set +euE; \builtin trap -p DEBUG; \__stead_part; \builtin trap -p; \__stead_show); fi; \builtin trap - DEBUG; if [[ ${__stead_seen[1]-} == *"$__stead_nothing"?" RETURN"* ]]; then \builtin trap - RETURN; fi; fi; \__stead_finish; '"$__stead_heed"'; \builtin set +xt -E $__stead_T $__stead_k'

# In place of our descriptors user code sees /dev/null, which is 44. Copying them away puts the originals at higher
# numbers, where code that uses or closes 10 and above does not hit them, and closes them in programs that it runs.
__stead_run='{ \builtin . /dev/fd/39 39<<<"${__stead_way:-$__stead_src}"; { \__stead_note "$?"; } >/dev/null 2>&1 || { \__stead_keep; } 43>&2 2>/dev/null 41<&0 42>&1 63<&44 >/dev/null || \__stead_raise; } <&45 >&46 2>&47 40<&44 41<&44 42<&44 43<&44 45<&44 46<&44 47<&44 48<&44'

# A subshell that is interrupted before it knows that it is one comes here too. Some versions leave PIPESTATUS without room
# for a status after a PROMPT_COMMAND, by which every shell of ours begins; the next pipeline makes it anew.
__stead_loop="__stead_rounds+=x __stead_looped=; if [[ \${BASHPID-\$((\$\$ + \${BASH_SUBSHELL-0}))} != \$\$\${__stead_none-} ]]; then \\builtin trap - EXIT; \\builtin exit 130; fi; if [[ \${#__stead_rounds} -gt __stead_ROUNDS ]]; then \\__stead_gone; fi; $__stead_check; $__stead_lift; \\exec 0<<<\"\$__stead_again\"; \\builtin set +o history; \\builtin history -c; \\builtin unset -v PIPESTATUS; \\__stead_mend \"\$@\"; if [[ -n \$__stead_cur ]]; then $__stead_see; fi; __stead_ready=; for ((; __stead_ROUNDS; )); do if [[ -n \$__stead_cur && -z \$__stead_ready\$__stead_early ]]; then \\builtin break; fi; if [[ -n \$__stead_harmless ]] && $__stead_may_run; then $__stead_run_harmless; elif $__stead_may_run || { \\builtin shopt \$__stead_aliases expand_aliases; \\__stead_next; } && { [[ -z \$__stead_work ]] || { $__stead_hush; }; }; then if [[ -n \$__stead_aside ]]; then \\builtin break; fi; $__stead_run; else $__stead_run; fi; if $__stead_is_usual; then $__stead_go_on; else $__stead_see; fi; done; if [[ -n \$__stead_aside ]]; then __stead_aside=; if \\__stead_ret \"\$__stead_st\"; then $__stead_run; else $__stead_run; fi; elif [[ -n \$__stead_cur ]]; then __stead_end=normal __stead_code=0 __stead_told+=\"\${__stead_told:+; }\$__stead_BROKE\"; fi; if [[ -n \$__stead_cur ]]; then $__stead_see; __stead_looped=1; fi"

# Whether the loop was left because code had to run outside of it, or because code that did not look like it has left it by a
# `break` or `continue` of its own, which is then its end.
__stead_looped=
__stead_BROKE='a `break` or `continue` outside of any loop ended the code: what stands behind it did not run'

# What the shell reads as its own input when it comes back to its prompt: the same two commands eight times, of which the first
# that is not cut short by another interrupt gives all eight anew. Bash takes its input in pieces of 128 or of 1024 bytes and
# keeps what it has not read of one, also when the input is another, so each pair has 128 bytes: whatever is left begins with a
# pair. Of a line whose beginning is lost to an interrupt the brace at its end makes an error, and nothing of it runs.
__stead_pair=$'\n\n{ \\builtin shopt -u expand_aliases;}\n{ \\builtin eval "${__stead_loop-}";[[ ${__stead_looped-} ]]||\\__stead_gone;}'
\builtin printf -v __stead_pair '%-127s\n' "$__stead_pair"
\builtin printf -v __stead_again %s "$__stead_pair"{,,,,,,,}
# A here-string ends with a line feed of its own.
__stead_again=${__stead_again%$'\n'}

__stead_begin() {
    \builtin local __stead_new __stead_i=0 IFS=$'\n'
    __stead_start=$PWD
    # As `export NAME=VALUE`, which works wherever it is run, unlike `declare`.
    __stead_env=$(\builtin set -o posix; \builtin export -p)
    __stead_options=$(\builtin set +o; \builtin shopt -p)
    __stead_listed "$(\builtin compgen -v -X "__stead_*")"
    __stead_sample
    __stead_joined=$__stead_new
    for __stead_line in "${__stead_names[@]}"; do
        __stead_sig[$__stead_line]=${__stead_now[__stead_i]} __stead_base[$__stead_line]=${__stead_now[__stead_i++]}
    done
    # Their attributes, in the same order.
    __stead_first=("${__stead_names[@]}")
    \builtin printf -v __stead_line ' "${%s@a}"' "${__stead_names[@]}"
    \builtin eval "__stead_kinds=($__stead_line)"
    __stead_ftext=$(\builtin compgen -A function -X "__stead_*")
    __stead_bodies=$(\builtin declare -f -- __stead_ret)
}

\exec 0<<<"$__stead_again"
\exec 44<>/dev/null 45<&41 46>&42 47>&43
__stead_open_scratch
__stead_define
__stead_own_traps=$(\builtin trap -p)$'\n'
\builtin trap '__stead_early=1' INT
__stead_begin
\builtin readonly -f $(\builtin compgen -A function __stead_)
__stead_quote "$BASH"
__stead_send "{\"ev\":\"hello\",\"protocol\":1,\"language\":\"bash\",\"version\":\"$BASH_VERSION\",\"executable\":$__stead_q,\"pid\":$$,\"can\":[\"clear\",\"vars\",\"inspect\",\"complete\",\"changed\",\"no_nul\",\"shell\",\"save\",\"load\",\"saves_all\",\"stdlib\",\"definitions\",\"last\"],\"channel\":40}"
\builtin unset __stead_q __stead_line PROMPT_COMMAND
# The loop begins at the prompt.
