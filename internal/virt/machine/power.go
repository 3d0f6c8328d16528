package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// What can be done to the power of a machine.
const (
	PowerOn    = "on"
	PowerOff   = "off"
	PowerCycle = "cycle"
	PowerReset = "reset"
)

// errOff says that a machine would have to run for what was asked.
var errOff = errors.New("it is off: switch it on first")

// FindOwn reads the domain of a node of this state, by its UUID or its name. The error is hypervisor.ErrNotFound where there is none.
// One that another state or a person made is an error too.
func FindOwn(ctx context.Context, c *hypervisor.Client, node string) (*hypervisor.Domain, error) {
	find := c.DomainByName
	if hypervisor.IsUUID(node) {
		find = c.Domain
	}
	d, err := find(ctx, node)
	if err != nil {
		return nil, err
	}
	if mark := Read(d.Config).Mark.ownerMark(); !mark.IsHere() {
		return nil, fmt.Errorf("hypervisor %s has a domain %q (%s) %s: only a node of this state is switched. Switch it from where its state is, by its controller, or by virsh", c.URI(), d.Name, d.UUID, mark.Whose())
	}
	return d, nil
}

// SwitchPower does an action to the power of a node of this state, and reports what it does. What is so already is reported, and
// success. Where the machine is to be off, its guest may take grace to shut down; then its power is cut.
func SwitchPower(ctx context.Context, c *hypervisor.Client, node, action string, grace time.Duration, report func(message string)) error {
	d, err := FindOwn(ctx, c, node)
	if err != nil {
		return err
	}
	s := powerSwitch{c: c, d: d, grace: grace, report: func(format string, args ...any) {
		report(fmt.Sprintf("node %s: ", d.Name) + fmt.Sprintf(format, args...))
	}}
	switch action {
	case PowerOn:
		return s.switchOn(ctx)
	case PowerOff:
		return s.switchOff(ctx)
	case PowerCycle:
		if !d.Active() {
			return errOff
		}
		if err := s.switchOff(ctx); err != nil {
			return err
		}
		s.d.State, s.d.Live = "shutoff", nil
		return s.switchOn(ctx)
	case PowerReset:
		if !d.Active() {
			return errOff
		}
		if err := c.ResetDomain(ctx, d.UUID); err != nil {
			return err
		}
		s.report("reset")
		return nil
	}
	return fmt.Errorf("%q is nothing that can be done to a node's power", action)
}

// powerSwitch is one action on one machine, as it was when the action began.
type powerSwitch struct {
	c      *hypervisor.Client
	d      *hypervisor.Domain
	grace  time.Duration
	report func(format string, args ...any)
}

func (s *powerSwitch) switchOn(ctx context.Context) error {
	if s.d.State == "running" {
		s.report("runs already")
		return nil
	}
	if err := s.c.StartDomain(ctx, s.d.UUID); err != nil {
		return err
	}
	if s.d.Active() {
		s.report("was %s, and runs again", s.d.State)
		return nil
	}
	s.report("started")
	return nil
}

// reportEvery is how often a wait says that it goes on.
const reportEvery = 5 * time.Second

func (s *powerSwitch) switchOff(ctx context.Context) error {
	if !s.d.Active() {
		s.report("is off already")
		return nil
	}
	stopped := false
	if s.grace > 0 {
		s.report("its guest is asked to shut down, and has %s for it", s.grace)
		var err error
		if stopped, err = s.awaitShutdown(ctx); err != nil {
			return err
		}
	}
	if stopped {
		s.report("has shut down")
		return nil
	}
	if err := s.c.StopDomain(ctx, s.d.UUID, 0); err != nil {
		return err
	}
	if s.grace > 0 {
		s.report("did not shut down in %s: its power is cut", s.grace)
	} else {
		s.report("its power is cut")
	}
	return nil
}

// awaitShutdown asks the guest to shut down and reports, every few seconds, that it takes its time. It says whether the guest did.
func (s *powerSwitch) awaitShutdown(ctx context.Context) (stopped bool, err error) {
	began, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		stopped, err = s.c.ShutDownDomain(ctx, s.d.UUID, s.grace)
	}()
	every := time.NewTicker(reportEvery)
	defer every.Stop()
	for {
		select {
		case <-done:
			return stopped, err
		case <-every.C:
			s.report("shuts down since %s", time.Since(began).Round(time.Second))
		}
	}
}
