package netboot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAnotherProfileOfAMachineInstallsItAgain has a peer know of a machine's installation by the profile before, which was removed here.
func TestAnotherProfileOfAMachineInstallsItAgain(t *testing.T) {
	t.Parallel()
	s, server, _ := newService(t, func(p *Profile) { p.ID = "first" })
	known, c := machine(1), *s.config.Load()
	known.ID = "first"
	old, err := s.states.changeRecord(known, markInstalled)
	if err != nil {
		t.Fatal(err)
	}
	without := c
	without.Profiles = map[string]Profile{}
	s.useConfiguration(&without)
	s.mergeAll(s.config.Load(), []Record{old})
	if all := s.states.listRecords(); len(all) != 0 {
		t.Errorf("of a machine without a profile it knows %+v", all)
	}
	p := c.Profiles[mac]
	p.ID = "second"
	c.Profiles = map[string]Profile{mac: p}
	s.useConfiguration(&c)
	old.Seen = time.Now().Add(time.Hour)
	s.mergeAll(s.config.Load(), []Record{old})
	if script, _ := get(t, server.URL+here+"/script.ipxe"); !strings.Contains(script, "/kernel") {
		t.Errorf("by another profile it boots\n%s", script)
	}
}

// TestAProfileThatReplacesAnotherUnseenInstallsAgain has both come and go between two reloads.
func TestAProfileThatReplacesAnotherUnseenInstallsAgain(t *testing.T) {
	t.Parallel()
	first, second, imported := machine(1), machine(1), machine(1)
	first.ID, second.ID = "first", "second"
	s, err := openStates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.changeRecord(first, markInstalled); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p     Profile
		spent bool
	}{"the same one": {first, true}, "another one": {second, false}, "one that lost its id": {imported, true}} {
		t.Run(name, func(t *testing.T) {
			if spent := s.getRecord(c.p).Spent != nil; spent != c.spent {
				t.Errorf("installed %t", spent)
			}
		})
	}
}

// TestWhatIsKnownGoesWithItsProfile starts on the records of machines that have none any more, also where a profile cannot be read.
func TestWhatIsKnownGoesWithItsProfile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unread []error
		left   int
	}{"gone": {nil, 1}, "perhaps not gone": {[]error{errors.New("broken")}, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := newService(t, nil)
			for _, p := range []Profile{machine(1), {MAC: "52:54:00:00:00:99"}} {
				if _, err := s.states.changeRecord(p, markInstalled); err != nil {
					t.Fatal(err)
				}
			}
			start := *s.config.Load()
			start.Unread = c.unread
			s.useConfiguration(&start)
			if files, _ := os.ReadDir(s.states.directory); len(s.states.listRecords()) != c.left || len(files) != c.left || s.states.getRecord(machine(1)).Spent == nil {
				t.Errorf("it knows %+v, in %v", s.states.listRecords(), files)
			}
			if _, err := os.Stat(filepath.Join(s.states.directory, RecordFile(mac))); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWhatCountsHereIsNotForgottenForAnotherGeneration has one of two servers be told of the next generation later, or earlier, than the other one.
func TestWhatCountsHereIsNotForgottenForAnotherGeneration(t *testing.T) {
	t.Parallel()
	spent := time.Now().UTC()
	for name, c := range map[string]struct {
		profile      int64
		ours, theirs Record
	}{
		"the next one is not told here yet": {1, Record{MAC: mac, Generation: 1, Spent: &spent, Seen: spent}, Record{MAC: mac, Generation: 2, Spent: &spent, Seen: spent.Add(time.Hour)}},
		"the one before is told there yet":  {2, Record{MAC: mac, Generation: 2, Spent: &spent, Seen: spent}, Record{MAC: mac, Generation: 1, Seen: spent.Add(time.Hour)}},
		"only the one before is known here": {2, Record{MAC: mac, Generation: 1, Seen: spent.Add(time.Hour)}, Record{MAC: mac, Generation: 2, Spent: &spent, Seen: spent}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := openStates(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.mergeRecord(machine(c.profile), c.ours), s.mergeRecord(machine(c.profile), c.theirs)); err != nil {
				t.Fatal(err)
			}
			if s.getRecord(machine(c.profile)).Spent == nil {
				t.Errorf("the machine is installed again: it knows %+v", s.listRecords())
			}
		})
	}
}
