package kea

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// unit runs one Kea on one interface. Its mounts let it write where Debian's profile of AppArmor expects it, beside others.
//
//go:embed virtcluster-dhcp@.service
var unit string

// checkScript has Kea look at a configuration.
//
//go:embed check.sh
var checkScript string

// configFile is the name that Kea makes its other files' names of, as AppArmor has them.
const configFile = "kea-dhcp4.conf"

// Daemon is Kea, to a transaction.
var Daemon = &ownunit.Daemon{
	Label: "kea", Program: "kea-dhcp4", Unit: "virtcluster-dhcp", Text: unit, Directory: "/etc/kea/virtcluster", Main: configFile,
	CheckInstance: checkInstance,
}

func checkInstance(ctx context.Context, h host.Host, staged, instance string) error {
	_, err := h.Run(ctx, host.Script("kea-dhcp4 -t", checkScript, staged+"/"+configFile))
	if exit, refused := errors.AsType[*host.ExitError](err); refused {
		return &transaction.RefusedError{Err: fmt.Errorf("kea on %s: %s", instance, strings.TrimSpace(exit.Stdout+exit.Stderr))}
	}
	return err
}

// NewPart returns what serves one interface.
func NewPart(of part.Identity) part.Part[Server] {
	put := func(t transaction.Tree, want Server) error {
		content, err := want.Render(of.Mark)
		if err == nil {
			Daemon.Put(t, of.Name, configFile, content, 0o644, "")
		}
		return err
	}
	return part.Part[Server]{
		Daemon: Daemon, Owner: fmt.Sprintf("DHCP server on %q", of.Name), Place: Daemon.Path(of.Name, configFile), ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return Daemon.Mark(t, of.Name, configFile) },
		Find: func(t transaction.Tree) (Server, error) { return findServer(t, of.Name) }, Serves: Daemon.Serves(of.Name),
		Add: put, Set: put,
		Drop: func(t transaction.Tree) error { Daemon.Drop(t, of.Name, configFile); return nil },
		Look: lookAtSegment,
	}
}

// findServer reads a server; transaction.ErrAbsent where there is none. One that says anything but what was written has nothing, and is written
// anew: no attribute would show it.
func findServer(t transaction.Tree, device string) (Server, error) {
	f, there := t[Daemon.Path(device, configFile)]
	if !there {
		return Server{}, fmt.Errorf("no DHCP server on %s: %w", device, transaction.ErrAbsent)
	}
	s, err := Parse(f.Content)
	if err == nil && s.Interface == device {
		mark, _ := Daemon.Mark(t, device, configFile)
		if again, err := s.Render(mark); err == nil && bytes.Equal(again, f.Content) {
			return s, nil
		}
	}
	return Server{Interface: device}, nil
}
