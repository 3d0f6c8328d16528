package bmc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// How long a boot override counts, in Redfish's words.
const (
	Disabled   = "Disabled"
	Once       = "Once"
	Continuous = "Continuous"
)

// Boot is an override of where a machine boots from.
type Boot struct {
	Enabled string `json:"enabled"`
	Target  Target `json:"target"`
	// ID tells this override from an earlier one.
	ID string `json:"id"`
}

// memory is what a controller remembers of a machine.
type memory struct {
	// Machine is its name, and UUID its own: another one of the name begins anew.
	Machine string `json:"machine"`
	UUID    string `json:"uuid"`
	Boot    Boot   `json:"boot"`
	// Media are what clients inserted, by the slots' ids.
	Media map[string]Medium `json:"media"`
	LED   string            `json:"led"`
	// Left are media that are in no slot, and to be removed: those of the machine before it, those that somebody else took out, and those whose
	// insertion did not come to its end.
	Left []Medium `json:"left,omitempty"`
}

// System is one machine with what its controller remembers.
type System struct {
	ID      string
	machine Machine
	// file has the memory.
	file string
	log  *slog.Logger

	mu sync.Mutex
	// fetching are the volumes into which images are fetched at this moment.
	fetching map[string]bool
	// switching has what IPMI asks for done in turn.
	switching turns
}

// View is a machine as its controller shows it.
type View struct {
	Description
	Boot  Boot
	Media map[string]Medium
	LED   string
}

// NewSystem returns the system of an id, whose memory is a file of a directory.
func NewSystem(id string, m Machine, dir string, log *slog.Logger) *System {
	return &System{
		ID: id, machine: m, file: filepath.Join(dir, id+".json"), log: log.With("system", id),
		fetching: map[string]bool{}, switching: turns{taken: make(chan struct{}, 1)},
	}
}

// View reads the machine.
func (s *System) View(ctx context.Context) (View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readView(ctx)
}

// readView is View with the lock held. It writes what is remembered where that is something else since: clients look every few seconds, also while
// an image is fetched or cannot be removed.
func (s *System) readView(ctx context.Context) (View, error) {
	d, err := s.machine.Describe(ctx)
	if err != nil {
		return View{}, err
	}
	kept, err := s.readMemory(d)
	if err != nil {
		return View{}, err
	}
	changed := kept.leaveMissing(d)
	left := len(kept.Left)
	if err := s.discardLeft(ctx, &kept); err != nil {
		s.log.Warn("media that are in no slot any more stay until they can be removed", "error", err)
	}
	changed = changed || len(kept.Left) < left
	if kept.Boot.Enabled == Once && kept.Boot.ID == d.BootID {
		// The controller ended between the start and writing down that it had been.
		kept.Boot, changed = Boot{Enabled: Disabled, Target: None}, true
	}
	if changed {
		if err := s.writeMemory(kept); err != nil {
			return View{}, err
		}
	}
	return View{Description: d, Boot: kept.Boot, Media: kept.Media, LED: kept.LED}, nil
}

// Reset does an action. An override counts where the action starts the machine, and is spent by that where it is for one boot.
func (s *System) Reset(ctx context.Context, action Action) error {
	if !slices.Contains(Actions, action) {
		return &InputError{"ResetType", fmt.Sprintf("%q is no action: write one of %q", action, Actions)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.readView(ctx)
	if err != nil {
		return err
	}
	var start Start
	if v.Boot.Enabled != Disabled {
		start = Start{Target: v.Boot.Target, Once: v.Boot.Enabled == Once, ID: v.Boot.ID}
	}
	started, err := s.machine.Switch(ctx, action, start)
	s.log.Info("power", "action", action, "boot", start.Target, "error", err)
	if started && start.Once {
		err = errors.Join(err, s.changeMemory(v.Description, func(m *memory) { m.Boot = Boot{Enabled: Disabled, Target: None} }))
	}
	return err
}

// SetBoot overrides where the machine boots from.
func (s *System) SetBoot(ctx context.Context, enabled string, target Target) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.readView(ctx)
	if err != nil {
		return err
	}
	b := Boot{Enabled: enabled, Target: target, ID: rand.Text()}
	switch {
	case !slices.Contains([]string{Disabled, Once, Continuous}, enabled):
		return &InputError{"BootSourceOverrideEnabled", fmt.Sprintf("%q is none of %s, %s and %s", enabled, Disabled, Once, Continuous)}
	case !slices.Contains([]Target{None, Pxe, Hdd, Cd, UefiHTTP}, target):
		return &InputError{"BootSourceOverrideTarget", fmt.Sprintf("%q is none of %s, %s, %s, %s and %s", target, None, Pxe, Hdd, Cd, UefiHTTP)}
	case target == UefiHTTP && !v.UEFI:
		return &InputError{"BootSourceOverrideTarget", "the machine has a BIOS: UefiHttp is for UEFI"}
	case target == None || enabled == Disabled:
		b = Boot{Enabled: Disabled, Target: None}
	}
	s.log.Info("boot", "enabled", b.Enabled, "target", b.Target)
	return s.changeMemory(v.Description, func(m *memory) { m.Boot = b })
}

// SetLED has the indicator be "Lit", "Blinking" or "Off"; it is remembered and seen by clients alone.
func (s *System) SetLED(ctx context.Context, led string) error {
	if !slices.Contains([]string{"Lit", "Blinking", "Off"}, led) {
		return &InputError{"IndicatorLED", fmt.Sprintf("%q is none of Lit, Blinking and Off", led)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.readView(ctx)
	if err != nil {
		return err
	}
	return s.changeMemory(v.Description, func(m *memory) { m.LED = led })
}

// AllKeysToDefault is the one reset of Secure Boot's keys that there is, in Redfish's words (ResetKeysType).
const AllKeysToDefault = "ResetAllKeysToDefault"

// ResetKeys has the keys of Secure Boot be those that the firmware comes with.
func (s *System) ResetKeys(ctx context.Context, kind string) error {
	if kind != AllKeysToDefault {
		return &InputError{"ResetKeysType", fmt.Sprintf("%q is no reset that can be done here: write %s", kind, AllKeysToDefault)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.readView(ctx)
	switch {
	case err != nil:
		return err
	case !v.UEFI:
		return &InputError{"ResetKeysType", "the machine has a BIOS, which knows no keys"}
	case v.On:
		return ErrOn
	}
	err = s.machine.ResetKeys(ctx)
	s.log.Info("keys of Secure Boot", "error", err)
	return err
}

// CheckSecureBoot refuses another state of Secure Boot than the machine has: its firmware is either built for it or not.
func (v View) CheckSecureBoot(enable bool) error {
	if enable == v.SecureBoot {
		return nil
	}
	return &InputError{"SecureBootEnable", fmt.Sprintf("the machine's firmware has it %t for good: the node's firmware (uefi, or uefi-secure) decides", v.SecureBoot)}
}

// Insert puts an image into a slot, in place of what is in it. Until all of the image is there the slot stays as it is, and the machine does what
// else is asked for.
func (s *System) Insert(ctx context.Context, in *slot, want Medium) error {
	if !strings.HasPrefix(want.URL, "http://") && !strings.HasPrefix(want.URL, "https://") {
		return &InputError{"Image", fmt.Sprintf("%q is no URL of http or https", want.URL)}
	}
	want, err := s.beginFetch(ctx, in, want)
	if err == nil {
		err = s.machine.Fetch(ctx, in, want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.replaceMedium(ctx, in, want)
	}
	s.log.Info("insert", "slot", in.id, "url", want.URL, "error", err)
	delete(s.fetching, want.Volume)
	if err != nil {
		_, left := s.readView(context.WithoutCancel(ctx)) // which removes what is in no slot
		err = errors.Join(err, left)
	}
	return err
}

// beginFetch returns a medium with the volume that its image is to be fetched into, and remembers it as one that is in no slot: where this ends
// early, the next one removes it.
func (s *System) beginFetch(ctx context.Context, in *slot, want Medium) (Medium, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.readView(ctx)
	if err != nil {
		return want, err
	}
	want.Pool, want.Volume = v.MediaPool, "bmc-"+v.Name+"-"+strings.ToLower(rand.Text()[:8])+in.suffix
	if want.Pool == "" {
		return want, errors.New("no disk of the machine is in a storage pool, and there is no pool \"default\" to put media in")
	}
	s.fetching[want.Volume] = true
	return want, s.changeMemory(v.Description, func(m *memory) { m.Left = append(m.Left, want) })
}

// replaceMedium empties a slot and puts a medium into it that was fetched. The lock is held.
func (s *System) replaceMedium(ctx context.Context, in *slot, medium Medium) error {
	v, err := s.readView(ctx)
	if err != nil {
		return err
	}
	if err := s.emptySlot(ctx, in, v); err != nil {
		return err
	}
	// What is written down and in no slot is removed by the next one, however this ends.
	err = s.changeMemory(v.Description, func(m *memory) {
		m.setMedium(in, medium)
		m.Left = slices.DeleteFunc(m.Left, func(left Medium) bool { return left.Volume == medium.Volume })
	})
	if err != nil {
		return err
	}
	return s.machine.Insert(ctx, in, medium)
}

// Eject empties a slot.
func (s *System) Eject(ctx context.Context, from *slot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.readView(ctx)
	if err != nil {
		return err
	}
	s.log.Info("eject", "slot", from.id, "url", v.Media[from.id].URL)
	return s.emptySlot(ctx, from, v)
}

// emptySlot empties a slot of a machine that was read just now.
func (s *System) emptySlot(ctx context.Context, from *slot, v View) error {
	if v.Inserted[from.id] == "" && v.Media[from.id] == (Medium{}) {
		return nil
	}
	if err := s.machine.Eject(ctx, from, v.Media[from.id]); err != nil {
		return err
	}
	return s.changeMemory(v.Description, func(m *memory) { m.setMedium(from, Medium{}) })
}

// setMedium notes what is in a slot; the zero Medium is nothing.
func (m *memory) setMedium(in *slot, medium Medium) {
	if m.Media == nil {
		m.Media = map[string]Medium{}
	}
	m.Media[in.id] = medium
}

// leaveMissing notes that media are in no slot any more which were inserted and are not there: somebody else took them out. It says whether there are.
func (m *memory) leaveMissing(d Description) (missing bool) {
	for _, in := range slots {
		if medium := m.Media[in.id]; medium != (Medium{}) && path.Base(d.Inserted[in.id]) != medium.Volume {
			m.Left = append(m.Left, medium)
			m.setMedium(in, Medium{})
			missing = true
		}
	}
	return missing
}

// readMemory reads what is remembered of a machine.
func (s *System) readMemory(d Description) (memory, error) {
	m := memory{}
	text, err := os.ReadFile(s.file)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("read what is remembered of %s: %w", s.ID, err)
	}
	if m.UUID != d.UUID {
		m = memory{UUID: d.UUID, Boot: Boot{Enabled: Disabled, Target: None}, LED: "Off", Left: append(m.Left, slices.Collect(maps.Values(m.Media))...)}
	}
	m.Machine = d.Name
	return m, nil
}

// discardLeft removes media that are in no slot and are not being fetched. What cannot be removed is remembered on.
func (s *System) discardLeft(ctx context.Context, m *memory) error {
	var errs []error
	m.Left = slices.DeleteFunc(m.Left, func(left Medium) bool {
		if s.fetching[left.Volume] {
			return false
		}
		err := s.machine.Discard(ctx, left)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}

// changeMemory changes what is remembered of a machine.
func (s *System) changeMemory(d Description, change func(*memory)) error {
	m, err := s.readMemory(d)
	if err != nil {
		return err
	}
	change(&m)
	return s.writeMemory(m)
}

// writeMemory writes the memory, so that it outlives a power cut.
func (s *System) writeMemory(m memory) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.file), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.file)
	}
	return err
}
