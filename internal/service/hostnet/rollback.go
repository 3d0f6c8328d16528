package hostnet

import (
	"context"
	"crypto/rand"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// saveScript saves the files that a change replaces. Of one that is a symbolic link it saves the file that it leads to as well, as that
// is what is written, and has the unit wait for where that lies. Arguments: the change's directory, its unit's name, files.
const saveScript = `set -eu
umask 077
dir=$1 unit=$2
shift 2
mkdir -p "$dir/before"
n=0
for path; do
  if [ -e "$path" ] || [ -L "$path" ]; then cp -a -- "$path" "$dir/before/$n"; fi
  if [ -L "$path" ] && real=$(readlink -f -- "$path") && [ ! -d "$real" ]; then
    if [ -e "$real" ]; then cp -a -- "$real" "$dir/before/$n.real"; fi
    printf '%s\n' "$real" >"$dir/before/$n.path"
    printf '[Unit]\nRequiresMountsFor="%s"\n' "$(printf '%s\n' "$real" | sed 's/[\\"]/\\&/g; s/%/%%/g')" >>"$dir/unit"
  fi
  n=$((n + 1))
done
`

// armScript saves what a change replaces, and starts what puts it back: a process of its own that outlives the connection, and a unit
// that does it where the machine starts again in between. Arguments: those of saveScript.
const armScript = saveScript + `: >"$dir/armed"
if [ -d /run/systemd/system ]; then
  cp "$dir/unit" "/etc/systemd/system/$unit"
  chmod 644 "/etc/systemd/system/$unit"
  (umask 022; mkdir -p /etc/systemd/system/sysinit.target.wants)
  ln -s "../$unit" "/etc/systemd/system/sysinit.target.wants/$unit"
  sync
  if systemd-run --quiet --collect --unit="wait-$unit" /bin/sh "$dir/wait" </dev/null >/dev/null 2>&1; then exit 0; fi
fi
setsid sh "$dir/wait" </dev/null >/dev/null 2>&1 &
`

// doScript runs a change and leaves its status behind, as the connection may not live to tell. The change has a session of its
// own, by which it is ended when it takes too long; one that begins so late that the machine went back before does nothing.
const doScript = `dir=$1
setsid --wait sh -c 'echo $$ >"$1/pid"; if [ ! -e "$1/armed" ]; then echo "the machine went back before" >&2; exit 1; fi; exec sh "$1/do"' sh "$dir" </dev/null >"$dir/out" 2>&1
status=$?
cat "$dir/out" >&2
echo "$status" >"$dir/status"
exit "$status"`

// statusScript waits for the end of a change and ends with its status.
const statusScript = `until [ -s "$1/status" ]; do sleep 0.2; done
read -r status <"$1/status"
[ "$status" = 0 ] || cat "$1/out" >&2
exit "$status"`

// endScript removes what a change that is over leaves. Arguments: its directory, its unit's name.
const endScript = `rm -f "/etc/systemd/system/$2" "/etc/systemd/system/sysinit.target.wants/$2"
rm -rf "$1"
rmdir "${1%/*}" 2>/dev/null || :
`

// A change's directory has one of three files from its arming on. Who renames the first decides what becomes of the change, so that
// only one side can win.
const (
	armed  = "armed"  // it goes back unless it is proven in time
	going  = "going"  // it goes back
	proven = "proven" // it stays
)

// backScript undoes at once what the armed rollback would undo later, or waits for who does so already. What began to go back goes on
// whatever becomes of the connection.
const backScript = `if mv "$1/armed" "$1/going" 2>/dev/null; then
  setsid --wait sh -c 'sh "$1/back"
` + endScript + `' sh "$1" "$2" </dev/null >/dev/null 2>&1
  exit 0
fi
n=0
while [ -e "$1/going" ] && [ $n -lt 200 ]; do n=$((n + 1)); sleep 0.1; done
[ -e "$1/going" ] || {
` + endScript + `}
`

// earlierScript ends what changes before left whose provider did not come to their end: one that is not proven goes back now, one that
// goes back already is waited for, and of a proven one nothing stays but what it made. Argument: the directory of all changes.
const earlierScript = `for dir in "$1"/*; do
  [ -d "$dir" ] || continue
  set -- "$dir" "virtcluster-rollback-${dir##*/}.service"
  if mv "$1/armed" "$1/going" 2>/dev/null; then
    setsid --wait sh "$1/back" </dev/null >/dev/null 2>&1
  else
    n=0
    while [ -e "$1/going" ] && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.1; done
    [ ! -e "$1/going" ] || setsid --wait sh "$1/back" </dev/null >/dev/null 2>&1
  fi
` + endScript + `done`

// undoTime is what a machine is given to go back, so that it has done so when the timeout is over. Who makes the change gives up before.
func undoTime(timeout time.Duration) time.Duration { return min(timeout/4, 5*time.Second) }

// arm writes what undoes a change onto the machine, starts the wait for its disarming, and returns the change's directory.
func (s Site) arm(ctx context.Context, c Change) (dir string, err error) {
	// A name of this change alone: what sleeps on after an earlier change must find nothing.
	dir = stateDir + "/" + strings.ToLower(rand.Text()[:16])
	seconds := int((c.Timeout - undoTime(c.Timeout)) / time.Second)
	end := "set -- " + host.Quote([]string{dir, unitName(dir)}) + "\n" + endScript
	for name, text := range map[string]string{
		"undo": c.Undo,
		"do":   "set -eu\n" + c.Do,
		"back": restoreFiles(dir, c.Files),
		"wait": fmt.Sprintf("left=%d\nwhile [ $left -gt 0 ] && [ -e %s/armed ]; do sleep 1; left=$((left - 1)); done\n"+
			"if mv %[2]s/armed %[2]s/going 2>/dev/null; then sh %[2]s/back\n%s\nfi\n", seconds, dir, end),
		"boot": fmt.Sprintf("if [ -e %s/armed ] || [ -e %[1]s/going ]; then sh %[1]s/back boot; fi\n%s", dir, end),
		"unit": rollbackUnit(dir),
	} {
		if err := s.Host.Write(ctx, host.File{Path: dir + "/" + name, Content: []byte(text), Mode: 0o600}); err != nil {
			return "", fmt.Errorf("write %s/%s on %s: %w", dir, name, s.Host, err)
		}
	}
	arguments := []string{dir, unitName(dir)}
	for _, f := range c.Files {
		arguments = append(arguments, f.Path)
	}
	if _, err := s.Host.Run(ctx, host.Script("arm the rollback", armScript, arguments...)); err != nil {
		return "", s.goBack(ctx, dir, fmt.Errorf("arm the rollback on %s: %w", s.Host, err))
	}
	return dir, nil
}

// restoreLinked puts back what a symbolic link led to, that was saved below a name.
const restoreLinked = `if [ -e %[1]s.path ]; then
  real=$(cat %[1]s.path)
  if [ -e %[1]s.real ]; then mkdir -p -- "$(dirname -- "$real")" && cp -a --remove-destination -- %[1]s.real "$real"; else rm -f -- "$real"; fi
fi
`

// restoreFiles is the script that puts a change's files back as they were, and then runs the change's undo; on the way up, as its
// argument "boot" says, nothing is configured yet that would need one.
func restoreFiles(dir string, files []File) string {
	var b strings.Builder
	// What is ended finishes the call to the kernel that it is in.
	fmt.Fprintf(&b, "if [ -s %s/pid ] && [ ! -s %[1]s/status ]; then kill -9 -- -$(cat %[1]s/pid); n=0; while kill -0 -- -$(cat %[1]s/pid) 2>/dev/null && [ $n -lt 20 ]; do n=$((n + 1)); sleep 0.1; done; fi\n", dir)
	for i, f := range files {
		saved := fmt.Sprintf("%s/before/%d", dir, i)
		fmt.Fprintf(&b, "if [ -e %s ] || [ -L %[1]s ]; then mkdir -p -- %[3]s && cp -a --remove-destination -- %[1]s %[2]s; else rm -f -- %[2]s%[4]s; fi\n", saved, host.Quote([]string{f.Path}), host.Quote([]string{path.Dir(f.Path)}), removeDropInDir(f.Path))
		fmt.Fprintf(&b, restoreLinked, saved)
	}
	if slices.ContainsFunc(files, func(f File) bool { return strings.HasPrefix(f.Path, "/etc/netplan/") }) {
		// What netplan renders at a machine's start it has rendered from the files of the change: that is before any unit runs.
		b.WriteString("[ \"${1:-}\" != boot ] || netplan generate\n")
	}
	fmt.Fprintf(&b, "[ \"${1:-}\" = boot ] || sh %s/undo\n", dir)
	return b.String()
}

// removeDropInDir is the command behind the removal of a drop-in for systemd that takes away its directory with the last one.
func removeDropInDir(file string) string {
	if dir := path.Dir(file); strings.HasPrefix(dir, "/etc/systemd/") && strings.HasSuffix(dir, ".d") {
		return "; rmdir -- " + host.Quote([]string{dir}) + " 2>/dev/null"
	}
	return ""
}

func unitName(dir string) string { return "virtcluster-rollback-" + path.Base(dir) + ".service" }

// rollbackUnit puts the files back before any daemon reads them, where the machine starts again while a change is not proven.
func rollbackUnit(dir string) string {
	return fmt.Sprintf(`[Unit]
Description=Put back a network configuration, as its change was not proven to work
DefaultDependencies=no
RequiresMountsFor=%s
After=systemd-remount-fs.service
Wants=network-pre.target
Before=sysinit.target network-pre.target systemd-networkd.service NetworkManager.service networking.service

[Service]
Type=oneshot
ExecStart=/bin/sh %[1]s/boot
`, dir)
}
