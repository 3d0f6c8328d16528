package hostnet

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// changeScript is what runs on the machine of a change, at each of its steps.
//
//go:embed change.sh
var changeText string

var changeScript = failpoint.Arm(changeText)

// stepsScript are the functions that what a change does, and what undoes it, may call.
//
//go:embed steps.sh
var stepsScript string

// undoTime is what a machine is given to go back, so that it has done so when the timeout is over. Who makes the change gives up before.
func undoTime(timeout time.Duration) time.Duration { return min(timeout/4, 5*time.Second) }

// scriptStep is one of changeScript's, by the name that messages have for it.
func scriptStep(name, verb, dir string, arguments ...string) host.Cmd {
	return host.Script(name, changeScript, append([]string{verb, dir}, arguments...)...)
}

// stagedFiles is a change as files of its directory.
func (c Change) stagedFiles() []host.File {
	functions := functionsScript()
	files := []host.File{{Path: "/change.sh", Content: []byte(changeScript)}, {Path: "/do", Content: []byte(functions + c.Do)}, {Path: "/undo", Content: []byte(functions + c.Undo)}}
	var paths strings.Builder
	for i, f := range c.Files {
		paths.WriteString(f.Path + "\n")
		if !f.Absent {
			files = append(files, host.File{Path: fmt.Sprintf("/new/%d", i), Content: []byte(f.Content), Mode: f.Mode, Owner: f.Owner, Group: f.Group})
		}
	}
	return append(files, host.File{Path: "/files", Content: []byte(paths.String())})
}

// armChange writes a change into a directory of its own, where nothing reads it, arms what undoes it, and returns the directory.
func (s Site) armChange(ctx context.Context, c Change) (dir string, err error) {
	// A name of this change alone: what sleeps on after an earlier change must find nothing.
	dir = stateDir + "/" + strings.ToLower(rand.Text()[:16])
	if err := host.WriteAll(ctx, s.Host, dir, c.stagedFiles()); err != nil {
		return dir, fmt.Errorf("write the change of the network of %s: %w", s.Host, err)
	}
	seconds := int((c.Timeout - undoTime(c.Timeout)) / time.Second)
	if _, err := s.Host.Run(ctx, scriptStep("arm the rollback", "arm", dir, fmt.Sprint(seconds))); err != nil {
		return dir, fmt.Errorf("arm the rollback on %s: %w", s.Host, err)
	}
	return dir, nil
}

// How long a machine is asked at most what became of a change, on one connection and in all.
const (
	askOnce = 15 * time.Second
	askAll  = 30 * time.Second
)

// settleFailed ends a change that failed by cause: it goes back at once, unless it was proven and only the answer was lost, which is no error.
// The machine is asked on the connection that there is, then on new ones, until it has gone back by itself, as it does by the time given.
func (s Site) settleFailed(ctx context.Context, dir string, by time.Time, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askAll)
	defer cancel()
	became, err := goBack(ctx, s.Host, dir)
	for err != nil {
		if exit, failed := errors.AsType[*host.ExitError](err); failed {
			return fmt.Errorf("%w; %s goes back to what it had by itself when rollback_timeout is over, as it could not at once: %w", cause, s.Host, exit)
		}
		wait, stop := context.WithTimeout(ctx, 500*time.Millisecond)
		<-wait.Done()
		stop()
		if ctx.Err() != nil || time.Now().After(by) {
			return fmt.Errorf("%w; %s does not say what became of the change: unless that is proven already, it goes back to what it had by itself when rollback_timeout is over", cause, s.Host)
		}
		err = s.withFreshConnection(ctx, func(fresh host.Host) (err error) {
			became, err = goBack(ctx, fresh, dir)
			return err
		})
	}
	switch became {
	case proven:
		return nil
	case wentBack:
		return fmt.Errorf("%w; %s has what it had before", cause, s.Host)
	}
	return fmt.Errorf("%w; %s is going back to what it had before, which takes long", cause, s.Host)
}

// withFreshConnection does something over a new connection.
func (s Site) withFreshConnection(ctx context.Context, do func(fresh host.Host) error) error {
	fresh, err := s.Fresh(ctx)
	if err != nil {
		return fmt.Errorf("reach %s over a new connection: %w", s.Host, err)
	}
	if c, ok := fresh.(io.Closer); ok {
		defer func() { _ = c.Close() }()
	}
	return do(fresh)
}

// What became of a change, as changeScript says it.
const (
	proven   = "proven"
	wentBack = "back"
)

// goBack has a machine go back, and returns what became of the change.
func goBack(ctx context.Context, h host.Host, dir string) (became string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askOnce)
	defer cancel()
	cmd := scriptStep("go back", "back", dir)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	return strings.TrimSpace(string(out)), err
}

// DeviceSnapshot is a device as it was before this provider configured it.
type DeviceSnapshot struct {
	Name     string    `json:"name"`
	MTU      int       `json:"mtu"`
	Settings []Setting `json:"settings"`
	// Addressing is the same as configuration, and Manager what managed the device.
	Addressing Addressing `json:"addressing"`
	Manager    Manager    `json:"manager"`
	// MAC is the hardware address.
	MAC        string      `json:"mac"`
	Neighbours []Neighbour `json:"neighbours,omitempty"`
}

// SnapshotDevice returns what a device has now.
func (m Machine) SnapshotDevice(device string) DeviceSnapshot {
	link, _ := m.Link(device)
	return DeviceSnapshot{Name: device, MTU: link.MTU, Settings: m.Own(device), Addressing: m.Addressing(device), MAC: link.Address, Neighbours: m.NeighboursOf(device)}
}

// TakeSnapshot returns what a device has now, with what manages it and the name servers that come with it.
func TakeSnapshot(ctx context.Context, h host.Host, m Machine, manager Manager, device string) (DeviceSnapshot, error) {
	b := m.SnapshotDevice(device)
	b.Manager = manager
	return b, LookAtNames(ctx, h, device, manager, &b.Addressing)
}

// WarnOfMove says that a change takes from a device the address by which the machine is reached; want is what the device has then.
func (m Machine) WarnOfMove(device string, want Addressing, rollback time.Duration) []service.Problem {
	if !m.Reaches(device) {
		return nil
	}
	for _, p := range want.Addresses {
		if p.Addr() == m.Reached {
			return nil
		}
	}
	at := []any{"addresses"}
	if want.DHCP {
		return []service.Problem{service.Warningf(at, "The address that Terraform comes through may change",
			"the machine is reached by %s, which is on %s: unless DHCP gives the same address, the machine goes back after %s", m.Reached, device, rollback)}
	}
	return []service.Problem{service.Warningf(at, "The address that Terraform comes through goes",
		"the machine is reached by %s, which is on %s, and shall not have it any more: unless it answers at its endpoint within %s all the same, it goes back by itself", m.Reached, device, rollback)}
}

// WarnOfTaking says that a change moves the address by which the machine is reached to another device.
func (m Machine) WarnOfTaking(devices []string, to string, rollback time.Duration) []service.Problem {
	for _, device := range devices {
		if m.Reaches(device) {
			return []service.Problem{service.Warningf([]any{"interfaces"}, "The address that Terraform comes through moves",
				"%s", fmt.Sprintf("the machine is reached by %s, which is on %s and goes to %s: where the machine does not answer within %s, it goes back by itself", m.Reached, device, to, rollback))}
		}
	}
	return nil
}
