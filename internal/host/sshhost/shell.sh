# shellcheck shell=sh
# Runs one command after another, of which it is told on its standard input. For each it
#   - reads a token and prints it, which proves that nothing has run yet and somebody listens,
#   - reads the size of the command's input, the command as one line and then the input; of a command that reads what it is told while it
#     runs the size is "-", and it has to leave what comes after its end,
#   - prints the token after the command's output and after its messages, the status with the former.
# A command that leaves some of its input unread must not leave it to the next: cat takes the rest. Only an exec makes sure that a command
# is a program, and not the shell's own word of that name. A newline in a command is the variable newline.
# shellcheck disable=SC2034 # the commands have it
newline='
'
while IFS= read -r token; do
  printf '%s\n' "$token"
  IFS= read -r size && IFS= read -r command || exit 1
  if [ "$size" = 0 ]; then
    (eval "exec $command") </dev/null
  elif [ "$size" = - ]; then
    (eval "exec $command")
  else
    head -c "$size" | { (eval "exec $command"); status=$?; cat >/dev/null; exit "$status"; }
  fi
  status=$?
  printf '%s\n' "$token" >&2
  printf '%s %s\n' "$token" "$status"
done
