package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// runDir holds what undoes a bridge; like the bridge itself it does not outlive a reboot.
const runDir = "/run/virtcluster"

// Site is one machine's bridges.
type Site struct {
	Host host.Host
	// Fresh makes a new connection to the same machine: the proof that it can still be reached.
	Fresh func(ctx context.Context) (host.Host, error)
}

// Look reads the machine's network in one round trip.
func (s Site) Look(ctx context.Context) (Machine, error) {
	script := `ip -json -details address show && echo && ip -json -4 route show table main && echo && ip -json -6 route show table main`
	out, err := s.Host.Run(ctx, host.Script("look at the network", script))
	if err != nil {
		return Machine{}, fmt.Errorf("read the network of %s: %w", s.Host, err)
	}
	var parts [3][]byte
	i := 0
	for line := range bytes.Lines(out) {
		if line = bytes.TrimSpace(line); len(line) > 0 && i < len(parts) {
			parts[i] = line
			i++
		}
	}
	return ParseMachine(parts[0], parts[1], parts[2])
}

// Get reads a bridge back; transaction.ErrAbsent where there is none.
func (s Site) Get(ctx context.Context, name string) (Bridge, Machine, error) {
	m, err := s.Look(ctx)
	if err != nil {
		return Bridge{}, m, err
	}
	b, ok := m.Bridge(name)
	if !ok {
		return b, m, fmt.Errorf("bridge %q on %s: %w", name, s.Host, transaction.ErrAbsent)
	}
	return b, m, nil
}

// Create makes the bridge. One that is there with just these interfaces is taken over: an interrupted
// apply left it.
func (s Site) Create(ctx context.Context, b Bridge) error {
	unlock, err := s.Host.Lock(ctx, "bridge-"+b.Name)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := s.Look(ctx)
	if err != nil {
		return err
	}
	if link, there := m.Link(b.Name); there {
		got, isBridge := m.Bridge(b.Name)
		if !isBridge || strings.Join(got.Interfaces, " ") != strings.Join(b.Interfaces, " ") {
			return fmt.Errorf("device %q exists on %s already, with interfaces %q: import it, or choose another name", link.Name, s.Host, got.Interfaces)
		}
		do, undo := b.Update(m)
		return s.change(ctx, b, m, do, undo)
	}
	do, undo, err := b.Make(m)
	if err != nil {
		return fmt.Errorf("on %s: %w", s.Host, err)
	}
	return s.change(ctx, b, m, do, undo)
}

// Update changes a bridge in place.
func (s Site) Update(ctx context.Context, b Bridge) error {
	unlock, err := s.Host.Lock(ctx, "bridge-"+b.Name)
	if err != nil {
		return err
	}
	defer unlock()
	_, m, err := s.Get(ctx, b.Name)
	if err != nil {
		return err
	}
	do, undo := b.Update(m)
	return s.change(ctx, b, m, do, undo)
}

// Delete gives the interfaces back what the bridge took from them.
func (s Site) Delete(ctx context.Context, b Bridge) error {
	unlock, err := s.Host.Lock(ctx, "bridge-"+b.Name)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := s.Look(ctx)
	if err != nil {
		return err
	}
	if _, there := m.Bridge(b.Name); !there {
		return nil
	}
	if guests := m.Guests(b.Name); len(guests) > 0 {
		return fmt.Errorf("bridge %q on %s carries the virtual machines behind %q: remove them first", b.Name, s.Host, guests)
	}
	kept, err := s.kept(ctx, b.Name)
	if err != nil {
		return err
	}
	do, undo := b.Unmake(m, kept)
	if err := s.change(ctx, b, m, do, undo); err != nil {
		return err
	}
	return s.Host.Remove(ctx, undoPath(b.Name))
}

func undoPath(name string) string { return runDir + "/bridge-" + name + ".undo" }

// kept reads the commands that give the interfaces what they had; nil where nobody knows any more.
func (s Site) kept(ctx context.Context, name string) (Commands, error) {
	text, err := s.Host.Read(ctx, undoPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), nil
}

// armScript starts the rollback: a process of its own that undoes the change unless the token is gone by
// then, and ends as soon as it is. Arguments: token, undo file, seconds. Who removes the token decides, so
// only one side can win.
const armScript = `set -eu
: >"$1"
setsid sh -c '
	while [ "$3" -gt 0 ] && [ -e "$1" ]; do sleep 1; set -- "$1" "$2" $(($3 - 1)); done
	if rm "$1" 2>/dev/null; then ip -force -batch "$2"; rm -f "$2"; fi
' sh "$1" "$2" "$3" </dev/null >/dev/null 2>&1 &
`

// change runs the commands with the rollback armed, and disarms it over a new connection.
func (s Site) change(ctx context.Context, b Bridge, before Machine, do, undo Commands) error {
	// Names of this change alone: a timer that sleeps on after an earlier change must find nothing.
	prefix := runDir + "/bridge-" + b.Name + "." + rand.Text()
	token, pending, batchFile := prefix+".armed", prefix+".rollback", prefix+".do"
	for path, batch := range map[string]Commands{pending: undo, batchFile: do} {
		if err := s.Host.Write(ctx, host.File{Path: path, Content: []byte(strings.Join(batch, "\n") + "\n"), Mode: 0o600}); err != nil {
			return fmt.Errorf("write %s on %s: %w", path, s.Host, err)
		}
	}
	gateways := s.answering(ctx, before)
	seconds := fmt.Sprint(int(b.RollbackTimeout / time.Second))
	if _, err := s.Host.Run(ctx, host.Script("arm the rollback", armScript, token, pending, seconds)); err != nil {
		return fmt.Errorf("arm the rollback on %s: %w", s.Host, err)
	}
	_, err := s.Host.Run(ctx, host.Cmd{Argv: []string{"ip", "-batch", batchFile}})
	if err == nil {
		err = s.confirm(ctx, token, gateways, b.RollbackTimeout)
	}
	if err != nil {
		return s.rollBack(ctx, prefix, err)
	}
	return s.settle(ctx, b, prefix)
}

// confirm proves that the machine and what answered before can still be reached, then disarms.
func (s Site) confirm(ctx context.Context, token string, gateways []netip.Addr, limit time.Duration) error {
	// The machine must have been disarmed before it goes back by itself.
	ctx, cancel := context.WithTimeout(ctx, limit-2*time.Second)
	defer cancel()
	fresh, err := s.Fresh(ctx)
	if err != nil {
		return fmt.Errorf("reach %s over a new connection: %w", s.Host, err)
	}
	if c, ok := fresh.(io.Closer); ok {
		defer func() { _ = c.Close() }()
	}
	for _, gateway := range gateways {
		if err := ping(ctx, fresh, gateway, 5); err != nil {
			return fmt.Errorf("gateway %s answered before the change and does not any more: %w", gateway, err)
		}
	}
	if _, err := fresh.Run(ctx, host.Cmd{Argv: []string{"rm", token}}); err != nil {
		return fmt.Errorf("disarm the rollback: %w", err)
	}
	return nil
}

// rollBack undoes at once what the armed rollback would undo later. Where the machine cannot be reached it
// goes back by itself.
func (s Site) rollBack(ctx context.Context, prefix string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	script := `if rm "$1.armed" 2>/dev/null; then ip -force -batch "$1.rollback"; fi; rm -f "$1.rollback" "$1.do"`
	_, err := s.Host.Run(ctx, host.Script("go back", script, prefix))
	var exit *host.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("%w; %s goes back to what it had by itself when rollback_timeout is over", cause, s.Host)
	}
	return fmt.Errorf("%w; %s has what it had before", cause, s.Host)
}

// settle keeps the first undo for the day the bridge is destroyed and removes the rest.
func (s Site) settle(ctx context.Context, b Bridge, prefix string) error {
	script := `[ -e "$2" ] || mv "$1.rollback" "$2"; rm -f "$1.rollback" "$1.do"`
	if _, err := s.Host.Run(ctx, host.Script("end the change", script, prefix, undoPath(b.Name))); err != nil {
		return fmt.Errorf("end the change of bridge %q on %s: %w", b.Name, s.Host, err)
	}
	return nil
}

// answering are the machine's gateways that answer now: a change must not lose them.
func (s Site) answering(ctx context.Context, m Machine) []netip.Addr {
	var gateways []netip.Addr
	for _, r := range m.Routes {
		if gateway, err := netip.ParseAddr(r.Gateway); err == nil && r.Dst == "default" && !gateway.IsLinkLocalUnicast() {
			if ping(ctx, s.Host, gateway, 1) == nil {
				gateways = append(gateways, gateway)
			}
		}
	}
	return gateways
}

func ping(ctx context.Context, h host.Host, a netip.Addr, tries int) error {
	_, err := h.Run(ctx, host.Cmd{Argv: []string{"ping", "-n", "-c", fmt.Sprint(tries), "-i", "0.3", "-W", "2", a.String()}})
	return err
}
