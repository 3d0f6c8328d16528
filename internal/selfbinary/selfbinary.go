// Package selfbinary puts the provider's own program on a machine, where a subcommand of it serves. It lies there under a name with the sum
// of its content, so that what units of different versions run stays, and goes with the last unit that names it.
package selfbinary

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Directory is where the program lies on machines.
const Directory = "/usr/local/lib/virtcluster"

// Source is the file that is copied: "" for the program that runs. Tests, which are another program, name the provider's.
var Source string

// Program is a program for machines of one system and processor.
type Program struct {
	content []byte
	sum     string
}

// Own returns the program that runs. It is read once.
var Own = sync.OnceValues(func() (Program, error) {
	source := Source
	if source == "" {
		var err error
		if source, err = os.Executable(); err != nil {
			return Program{}, err
		}
	}
	content, err := os.ReadFile(source) //nolint:gosec // it is the program
	if err != nil {
		return Program{}, err
	}
	sum := sha256.Sum256(content)
	return Program{content, hex.EncodeToString(sum[:])}, nil
})

// Path is where the program lies on a machine.
func (p Program) Path() string {
	return Directory + "/terraform-provider-virtcluster-" + p.sum[:min(16, len(p.sum))]
}

// script looks at a machine, and removes programs that no unit names.
//
//go:embed selfbinary.sh
var script string

// machines are what `uname -sm` says of those that the program runs on.
var machines = map[string]string{"linux/amd64": "Linux x86_64", "linux/arm64": "Linux aarch64"}

// UnfitError is a machine of another system or processor than the program's.
type UnfitError struct{ Host, Machine, Program string }

func (e *UnfitError) Error() string {
	return fmt.Sprintf("%s is %q, and this provider is built for %s, so its program cannot run there", e.Host, e.Machine, e.Program)
}

// Put has the program be on a machine, and returns its path. An *UnfitError says that it could not run there.
func Put(ctx context.Context, h host.Host, p Program) (path string, err error) {
	there, err := look(ctx, h, p)
	if err != nil || there == p.sum {
		return p.Path(), err
	}
	return p.Path(), h.Write(ctx, host.File{Path: p.Path(), Content: p.content, Mode: 0o755})
}

// Fits returns an *UnfitError where the program cannot run on a machine.
func Fits(ctx context.Context, h host.Host, p Program) error {
	_, err := look(ctx, h, p)
	return err
}

// look returns the sum of what lies in the program's place, "" where nothing does.
func look(ctx context.Context, h host.Host, p Program) (sum string, err error) {
	cmd := host.Script("look for the provider's program", script, "look", p.Path())
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return "", err
	}
	machine, sum, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if machines[platform] != machine {
		return "", &UnfitError{Host: h.String(), Machine: machine, Program: platform}
	}
	return sum, nil
}

// Collect removes the programs from a machine that no unit names any more.
func Collect(ctx context.Context, h host.Host) error {
	cmd := host.Script("remove programs that no unit names", script, "collect", Directory)
	cmd.Repeatable = true
	_, err := h.Run(ctx, cmd)
	return err
}
