package bmc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// toy is a machine in memory.
type toy struct {
	Description
	starts   []Start
	actions  []Action
	inserted []Medium
	ejected  []Medium
	// discarded are those whose volume alone was removed.
	discarded []Medium
	refuse    error
	// fetched is told of each image when it is to have been fetched; nil does not wait for anybody.
	fetched chan string
	console io.ReadWriteCloser
	keys    int
	// switching is how long an action takes.
	switching time.Duration
}

func (m *toy) Describe(context.Context) (Description, error) { return m.Description, nil }

func (m *toy) Switch(_ context.Context, action Action, start Start) (bool, error) {
	m.actions = append(m.actions, action)
	time.Sleep(m.switching)
	if m.refuse != nil {
		return false, m.refuse
	}
	starts := !m.On && (action == On || action == ForceOn || action == PushPowerButton) || m.On && action == PowerCycle
	if !m.On && !starts && action != ForceOff && action != GracefulShutdown {
		return false, ErrOff
	}
	if starts {
		m.starts = append(m.starts, start)
		m.BootID = start.ID
	}
	m.On = starts || m.On && action != ForceOff && action != GracefulShutdown && action != PushPowerButton
	return starts, nil
}

func (m *toy) Fetch(ctx context.Context, _ *slot, medium Medium) error {
	if m.refuse != nil {
		return m.refuse
	}
	if m.fetched != nil {
		select {
		case m.fetched <- medium.Volume:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (m *toy) Insert(_ context.Context, in *slot, medium Medium) error {
	if m.refuse != nil {
		return m.refuse
	}
	m.inserted = append(m.inserted, medium)
	m.put(in, "/pool/"+medium.Volume)
	return nil
}

func (m *toy) Eject(_ context.Context, from *slot, medium Medium) error {
	m.ejected = append(m.ejected, medium)
	m.put(from, "")
	return nil
}

func (m *toy) Discard(_ context.Context, medium Medium) error {
	m.discarded = append(m.discarded, medium)
	return m.refuse
}

func (m *toy) put(in *slot, path string) {
	if m.Inserted == nil {
		m.Inserted = map[string]string{}
	}
	m.Inserted[in.id] = path
}

func (m *toy) ResetKeys(context.Context) error {
	m.keys++
	return m.refuse
}

func (m *toy) OpenConsole(context.Context) (io.ReadWriteCloser, error) { return m.console, nil }

// newToy returns a machine, and the system of it.
func newToy(t *testing.T) (*toy, *System) {
	t.Helper()
	m := &toy{Description: Description{
		Name: "w1", UUID: "5d0a2c1e-0000-4000-8000-000000000001", Chipset: "pc-q35-7.2", Architecture: "x86_64", MemoryMiB: 2560, VCPUs: 2,
		MACs: []string{"52:54:00:00:00:01"}, Disks: []Disk{{Name: "vda", Bus: "virtio", Bytes: 1 << 30}}, MediaPool: "default",
	}}
	return m, NewSystem("w1", m, t.TempDir(), slog.New(slog.DiscardHandler))
}

func bootOf(t *testing.T, s *System) Boot {
	t.Helper()
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v.Boot
}

func TestABootOverrideIsSpentByAColdStartAlone(t *testing.T) {
	m, s := newToy(t)
	m.On = true
	if err := s.SetBoot(t.Context(), Once, Pxe); err != nil {
		t.Fatal(err)
	}
	for _, warm := range []Action{ForceRestart, GracefulRestart, On, GracefulShutdown, ForceOff} {
		if err := s.Reset(t.Context(), warm); err != nil && !errors.Is(err, ErrOff) {
			t.Fatal(err)
		}
		if got := bootOf(t, s); got.Enabled != Once || got.Target != Pxe {
			t.Fatalf("after %s it is %+v", warm, got)
		}
	}
	// Another controller of the same machine remembers.
	again := NewSystem(s.ID, m, filepath.Dir(s.file), s.log)
	if err := again.Reset(t.Context(), On); err != nil {
		t.Fatal(err)
	}
	if got := bootOf(t, again); got.Enabled != Disabled || got.Target != None {
		t.Errorf("after the start it is %+v", got)
	}
	if len(m.starts) != 1 || m.starts[0].Target != Pxe || !m.starts[0].Once {
		t.Errorf("it was started as %+v", m.starts)
	}
	if err := s.Reset(t.Context(), PowerCycle); err != nil || m.starts[1] != (Start{}) {
		t.Errorf("the next start is %+v: %v", m.starts, err)
	}
}

func TestAStartThatFailsSpendsNothing(t *testing.T) {
	m, s := newToy(t)
	m.refuse = errors.New("no memory")
	_ = s.SetBoot(t.Context(), Once, Cd)
	if err := s.Reset(t.Context(), On); !errors.Is(err, m.refuse) {
		t.Fatal(err)
	}
	if got := bootOf(t, s); got.Enabled != Once || got.Target != Cd {
		t.Errorf("it is %+v", got)
	}
}

func TestAControllerThatEndedWhileItStartedKnowsThatItDid(t *testing.T) {
	m, s := newToy(t)
	_ = s.SetBoot(t.Context(), Once, Pxe)
	m.On, m.BootID = true, bootOf(t, s).ID // what libvirt has when the controller is killed before it writes
	if got := bootOf(t, s); got.Enabled != Disabled {
		t.Errorf("it is %+v", got)
	}
}

func TestAContinuousOverrideStays(t *testing.T) {
	m, s := newToy(t)
	_ = s.SetBoot(t.Context(), Continuous, Hdd)
	for range 2 {
		_ = s.Reset(t.Context(), On)
		_ = s.Reset(t.Context(), ForceOff)
	}
	if got := bootOf(t, s); got.Enabled != Continuous || len(m.starts) != 2 || m.starts[1].Target != Hdd || m.starts[1].Once {
		t.Errorf("it is %+v, starts %+v", got, m.starts)
	}
	if err := s.SetBoot(t.Context(), Continuous, None); err != nil || bootOf(t, s).Enabled != Disabled {
		t.Errorf("None does not end it: %v", err)
	}
}

func TestAnotherMachineOfTheNameBeginsAnew(t *testing.T) {
	m, s := newToy(t)
	_ = s.SetBoot(t.Context(), Once, Pxe)
	m.UUID = "5d0a2c1e-0000-4000-8000-000000000002"
	if got := bootOf(t, s); got.Enabled != Disabled {
		t.Errorf("it is %+v", got)
	}
}

func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	m, s := newToy(t)
	for name, err := range map[string]error{
		"an unknown action": s.Reset(t.Context(), "Explode"),
		"an unknown target": s.SetBoot(t.Context(), Once, "Tape"),
		"an unknown time":   s.SetBoot(t.Context(), "Twice", Pxe),
		"HTTP on a BIOS":    s.SetBoot(t.Context(), Once, UefiHTTP),
		"a file":            s.Insert(t.Context(), slots[0], Medium{URL: "file:///etc/passwd"}),
		"a colour":          s.SetLED(t.Context(), "Green"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := errors.AsType[*InputError](err); !ok {
				t.Error(err)
			}
		})
	}
	if len(m.actions)+len(m.inserted) > 0 {
		t.Errorf("it was done: %v %v", m.actions, m.inserted)
	}
	if err := s.Reset(t.Context(), ForceRestart); !errors.Is(err, ErrOff) {
		t.Errorf("a machine that is off was reset: %v", err)
	}
}

func TestKeysOfSecureBootAreResetWhileTheMachineIsOff(t *testing.T) {
	m, s := newToy(t)
	reset := func(kind, says string) {
		t.Helper()
		if err := s.ResetKeys(t.Context(), kind); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", kind, err, says)
		}
	}
	reset(AllKeysToDefault, "has a BIOS")
	m.UEFI = true
	reset("DeletePK", "can be done here")
	m.On = true
	reset(AllKeysToDefault, "switch it off first")
	m.On = false
	if m.keys != 0 {
		t.Errorf("what was refused was done %d times", m.keys)
	}
	if reset(AllKeysToDefault, ""); m.keys != 1 {
		t.Errorf("it was done %d times", m.keys)
	}
	v, err := s.View(t.Context())
	if err != nil || v.CheckSecureBoot(false) != nil || v.CheckSecureBoot(true) == nil {
		t.Errorf("%v: without Secure Boot its state is %v and %v", err, v.CheckSecureBoot(false), v.CheckSecureBoot(true))
	}
}

func TestMediaAreReplacedAndLeaveNothing(t *testing.T) {
	for _, in := range slots {
		t.Run(in.id, func(t *testing.T) {
			m, s := newToy(t)
			if err := errors.Join(s.Insert(t.Context(), in, Medium{URL: "http://a/1"}), s.Insert(t.Context(), in, Medium{URL: "https://a/2"})); err != nil {
				t.Fatal(err)
			}
			if len(m.ejected) != 1 || m.ejected[0].Volume != m.inserted[0].Volume || !strings.HasPrefix(m.ejected[0].Volume, "bmc-w1-") || m.On {
				t.Errorf("ejected %+v, on %v", m.ejected, m.On)
			}
			m.refuse = errors.New("no room")
			if err := s.Insert(t.Context(), in, Medium{URL: "http://a/3"}); !errors.Is(err, m.refuse) {
				t.Error(err)
			}
			m.refuse = nil
			if v, _ := s.View(t.Context()); v.Media[in.id].URL != "https://a/2" || len(m.ejected) != 1 || len(m.discarded) == 0 || m.discarded[0].URL != "http://a/3" {
				t.Errorf("what failed left %+v, ejected %+v, discarded %+v", v.Media, m.ejected, m.discarded)
			}
			_ = s.Insert(t.Context(), in, Medium{URL: "http://a/4"})
			if err := s.forget(t.Context()); err != nil || m.Inserted[in.id] != "" {
				t.Errorf("clean left %q: %v", m.Inserted, err)
			}
		})
	}
}

// TestMediaOfAMachineThatIsGoneGo has another machine of the name be there, with a disc of its own in the drive.
func TestMediaOfAMachineThatIsGoneGo(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		m, s := newToy(t)
		if err := s.Insert(t.Context(), slots[0], Medium{URL: "http://a/1"}); err != nil {
			t.Fatal(err)
		}
		m.UUID = "5d0a2c1e-0000-4000-8000-000000000002"
		m.put(slots[0], "/pool/own.iso")
		m.refuse = errors.New("no libvirt")
		if v, err := s.View(t.Context()); err != nil || v.UUID != m.UUID || len(m.discarded) != 1 {
			t.Errorf("beside what cannot be removed the machine is %+v: %v", v, err)
		}
		if err := s.forget(t.Context()); !errors.Is(err, m.refuse) {
			t.Errorf("what cannot be removed is forgotten: %v", err)
		}
		m.refuse, m.discarded = nil, nil
		var err error
		if forgotten {
			err = s.forget(t.Context())
		} else {
			_, err = s.View(t.Context())
			_, again := s.View(t.Context())
			err = errors.Join(err, again)
		}
		if err != nil || len(m.discarded) != 1 || m.discarded[0].Volume != m.inserted[0].Volume || len(m.ejected) > 0 || m.Inserted["Cd"] != "/pool/own.iso" {
			t.Errorf("%v: discarded %+v, ejected %+v, and it has %q", err, m.discarded, m.ejected, m.Inserted)
		}
	}
}

// TestAMachineIsSwitchedWhileAnImageIsFetched has an image come slowly, and one that never comes: its client goes away.
func TestAMachineIsSwitchedWhileAnImageIsFetched(t *testing.T) {
	m, s := newToy(t)
	if err := s.Insert(t.Context(), slots[0], Medium{URL: "http://a/1"}); err != nil {
		t.Fatal(err)
	}
	m.fetched = make(chan string)
	for _, comes := range []bool{true, false} {
		ctx, leave := context.WithCancel(t.Context())
		inserted := make(chan error)
		go func() { inserted <- s.Insert(ctx, slots[0], Medium{URL: "http://a/2"}) }()
		for begun := false; !begun; time.Sleep(time.Millisecond) {
			s.mu.Lock()
			begun = len(s.fetching) > 0
			s.mu.Unlock()
		}
		if err := errors.Join(s.Reset(t.Context(), On), s.Reset(t.Context(), ForceOff)); err != nil {
			t.Error(err)
		}
		if v, err := s.View(t.Context()); err != nil || v.Media["Cd"].URL == "" || len(m.discarded) > 0 {
			t.Errorf("%v: meanwhile it has %+v, discarded %+v", err, v.Media, m.discarded)
		}
		if comes {
			<-m.fetched
		} else {
			leave()
		}
		if err := <-inserted; (err == nil) != comes {
			t.Errorf("it comes: %t; %v", comes, err)
		}
		leave()
		v, err := s.View(t.Context())
		if err != nil || v.Media["Cd"].URL != "http://a/2" || len(m.inserted) != 2 || len(m.ejected) != 1 || (len(m.discarded) == 0) != comes || len(s.fetching) > 0 {
			t.Errorf("%v: it has %+v, discarded %+v", err, v.Media, m.discarded)
		}
	}
}

// TestWhatAPersonPutInPlaceOfAMediumStays has a person take out what a client inserted, and put something else there.
func TestWhatAPersonPutInPlaceOfAMediumStays(t *testing.T) {
	for name, look := range map[string]func(*System) error{
		"seen": func(s *System) error {
			v, err := s.View(t.Context())
			if v.Media["Cd"] != (Medium{}) {
				t.Errorf("what is in the drive is shown as %+v", v.Media)
			}
			return err
		},
		"forgotten": func(s *System) error { return s.forget(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			m, s := newToy(t)
			if err := s.Insert(t.Context(), slots[0], Medium{URL: "http://a/1"}); err != nil {
				t.Fatal(err)
			}
			m.put(slots[0], "/pool/theirs.iso")
			if err := look(s); err != nil || len(m.ejected) > 0 || len(m.discarded) != 1 || m.discarded[0].Volume != m.inserted[0].Volume || m.Inserted["Cd"] != "/pool/theirs.iso" {
				t.Errorf("%v: ejected %+v, discarded %+v, and it has %q", err, m.ejected, m.discarded, m.Inserted)
			}
		})
	}
}

func TestALookWritesNothingWhereNothingChanged(t *testing.T) {
	m, s := newToy(t)
	if err := s.Insert(t.Context(), slots[0], Medium{URL: "http://a/1"}); err != nil {
		t.Fatal(err)
	}
	isWritten := func() bool { // which replaces the file
		t.Helper()
		before, err := os.Stat(s.file)
		_, viewed := s.View(t.Context())
		after, looked := os.Stat(s.file)
		if err := errors.Join(err, viewed, looked); err != nil {
			t.Fatal(err)
		}
		return !os.SameFile(before, after)
	}
	if isWritten() {
		t.Error("written with a medium in its slot")
	}
	if _, err := s.beginFetch(t.Context(), slots[1], Medium{URL: "http://a/2"}); err != nil {
		t.Fatal(err)
	}
	if isWritten() {
		t.Error("written while an image is fetched")
	}
	m.put(slots[0], "/pool/theirs.iso")
	m.refuse = errors.New("no libvirt")
	if !isWritten() {
		t.Error("that a person took a medium out is not written")
	}
	if isWritten() {
		t.Error("written while the medium cannot be removed")
	}
	m.refuse = nil
	if !isWritten() || isWritten() {
		t.Error("that the medium is gone is not written once")
	}
}

// TestSystemsThatAreServedNoMoreAreForgotten has a node leave, one get another id, and two get each other's.
func TestSystemsThatAreServedNoMoreAreForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		stay    map[string]string
		ejected string
	}{
		"all stay":          {map[string]string{"one": "w1", "two": "w2"}, ""},
		"one leaves":        {map[string]string{"one": "w1"}, "w2"},
		"another id":        {map[string]string{"one": "w1", "three": "w2"}, "w2"},
		"each other's":      {map[string]string{"one": "w2", "two": "w1"}, "w1 w2"},
		"nothing is served": {nil, "w1 w2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, machines, log := t.TempDir(), map[string]*toy{}, slog.New(slog.DiscardHandler)
			for id, name := range map[string]string{"one": "w1", "two": "w2"} {
				machines[name] = &toy{Description: Description{Name: name, UUID: name, MediaPool: "default"}}
				if err := NewSystem(id, machines[name], dir, log).Insert(t.Context(), slots[0], Medium{URL: "http://a/1"}); err != nil {
					t.Fatal(err)
				}
			}
			err := forgetSystems(t.Context(), dir, c.stay, func(name string) Machine { return machines[name] }, log)
			var ejected []string
			for _, name := range []string{"w1", "w2"} {
				if len(machines[name].ejected) == 1 && machines[name].Inserted["Cd"] == "" {
					ejected = append(ejected, name)
				}
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
			if err != nil || strings.Join(ejected, " ") != c.ejected || len(files) != 2-len(ejected) {
				t.Errorf("%v: ejected of %q, not %q; left %q", err, ejected, c.ejected, files)
			}
		})
	}
}

func TestADiscAndAStickLeaveEachOtherAlone(t *testing.T) {
	m, s := newToy(t)
	disc, stick := slots[0], slots[1]
	if err := errors.Join(s.Insert(t.Context(), disc, Medium{URL: "http://a/disc.iso"}), s.Insert(t.Context(), stick, Medium{URL: "http://a/stick.img"})); err != nil {
		t.Fatal(err)
	}
	// Another controller of the same machine remembers both.
	again := NewSystem(s.ID, m, filepath.Dir(s.file), s.log)
	if v, err := again.View(t.Context()); err != nil || v.Media[disc.id].URL != "http://a/disc.iso" || v.Media[stick.id].URL != "http://a/stick.img" || len(m.ejected) > 0 {
		t.Errorf("%v: it has %+v, ejected %+v", err, v.Media, m.ejected)
	}
	if err := again.Eject(t.Context(), disc); err != nil || len(m.ejected) != 1 || m.ejected[0].URL != "http://a/disc.iso" || m.Inserted[stick.id] == "" {
		t.Errorf("%v: ejected %+v, left %v", err, m.ejected, m.Inserted)
	}
	_ = s.Insert(t.Context(), disc, Medium{URL: "http://a/disc.iso"})
	if err := again.forget(t.Context()); err != nil || len(m.ejected) != 3 || m.Inserted[disc.id]+m.Inserted[stick.id] != "" {
		t.Errorf("%v: clean ejected %+v, left %v", err, m.ejected, m.Inserted)
	}
}
