# Given to Bash with `-c`: puts the descriptors in their places and becomes the shell that reads the bridge from the
# control channel. lib.rs takes comments and indentation off.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
    echo "bash 4.4 or newer is needed, this is $BASH_VERSION" >&2
    exit 1
fi
if [ -z "${STEAD_BRIDGE_FD-}" ]; then
    echo "the variable STEAD_BRIDGE_FD is missing: a command that starts a session's interpreter must pass its environment on" >&2
    exit 1
fi
# 40 is the control channel, 41 to 43 are the session's streams.
exec 40<&"$STEAD_BRIDGE_FD" 41<&0 42>&1 43>&2
if ((STEAD_BRIDGE_FD < 40 || STEAD_BRIDGE_FD > 43)); then exec {STEAD_BRIDGE_FD}>&-; fi
unset STEAD_BRIDGE_FD
# An interactive shell runs this before it shows its first prompt: it reads `source N` and as many bytes.
export HISTFILE=/dev/null PROMPT_COMMAND='\builtin read -r -u 40 __stead_src
    LC_ALL=C \builtin read -r -N "${__stead_src#source }" -u 40 __stead_src
    \builtin eval "$__stead_src"'
exec "$BASH" --noprofile --norc --noediting -i </dev/null >/dev/null 2>&1
