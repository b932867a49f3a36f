# The floor of a Bash eval: a line of code on descriptor 0; its output and a line `done STATUS` on descriptor 3.
while IFS= read -r code; do
    eval "$code" >&3
    printf 'done %s\n' "$?" >&3
done
