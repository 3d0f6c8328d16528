// Package packages installs a distribution's packages on a machine, by apt or dnf.
package packages

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Family is a family of distributions: one way to install, one set of package names.
type Family string

// The families.
const (
	Unknown Family = ""
	Debian  Family = "debian"
	Fedora  Family = "fedora"
)

// ParseOSRelease reads /etc/os-release (os-release(5)): assignments with a shell's quotes.
func ParseOSRelease(text []byte) map[string]string {
	values := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		values[key] = strings.NewReplacer(`\"`, `"`, `\$`, "$", `\\`, `\`, "\\`", "`").Replace(value)
	}
	return values
}

// FamilyOf tells the family by ID and ID_LIKE of os-release.
func FamilyOf(osRelease map[string]string) Family {
	for _, id := range append([]string{osRelease["ID"]}, strings.Fields(osRelease["ID_LIKE"])...) {
		switch id {
		case "debian", "ubuntu":
			return Debian
		case "fedora", "rhel", "centos":
			return Fedora
		}
	}
	return Unknown
}

// Command is what a person would type to install packages.
func (f Family) Command(names []string) string {
	if f == Fedora {
		return "dnf install " + strings.Join(names, " ")
	}
	return "apt-get install " + strings.Join(names, " ")
}

// logFile takes the output on the machine, so that an installation outlives the connection that began it:
// nothing it writes can fail because nobody listens any more.
const logFile = "/var/log/virtcluster-packages.log"

// aptScript installs by apt, as soon as nobody else holds its locks.
//
//go:embed apt.sh
var aptScript string

// dnfScript installs by dnf, which waits for its own locks, or by what smaller images have in its place.
//
//go:embed dnf.sh
var dnfScript string

// Install installs packages that are missing; the machine needs a package mirror for it. What else than replaced would have to go for them is
// an error, and nothing is installed.
func Install(ctx context.Context, h host.Host, f Family, names, replaced []string) error {
	if len(names) == 0 {
		return nil
	}
	script, ok := map[Family]string{Debian: aptScript, Fedora: dnfScript}[f]
	if !ok {
		return fmt.Errorf("install %s on %s: only the families of Debian and of Fedora are known", strings.Join(names, ", "), h)
	}
	unlock, err := h.Lock(ctx, "packages")
	if err != nil {
		return err
	}
	defer unlock()
	names = slices.Sorted(slices.Values(names))
	_, err = h.Run(ctx, host.RepeatableScript(f.Command(names), script, append([]string{logFile, strings.Join(replaced, " ")}, names...)...))
	return err
}
