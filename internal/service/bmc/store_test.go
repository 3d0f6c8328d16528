package bmc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// toyMachine is a machine whose bmc.sh is played: what there is of user, unit and program.
type toyMachine struct {
	*hosttest.Host
	user, running bool
	// there is what of a person's has one of its names.
	there   string
	starts  int
	refuses string
	// taken is where others listen.
	taken string
}

func newMachine() *toyMachine {
	m := &toyMachine{Host: hosttest.New()}
	disk := m.Another() // what the machine itself does fails never
	there := func(path string) bool {
		_, err := disk.Read(context.Background(), path)
		return err == nil
	}
	m.On(func(_ context.Context, h *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		args := cmd.Argv[4:] // sh -c SCRIPT sh VERB …
		switch args[0] {
		case "look":
			out := "system Linux x86_64\nstate " + map[bool]string{true: "active", false: "inactive"}[m.running] + "\n"
			if content, err := disk.Read(context.Background(), args[4]); err == nil {
				out += "program\nsum " + selfbinary.Sum(content) + "\n"
			}
			if there("/etc/systemd/system/" + args[2]) {
				out += "unit\n"
			}
			if m.user {
				out += "user virtcluster BMC rack\n"
			}
			return []byte(out + m.there + m.taken + "listen tcp 127.0.0.1%lo:53\naddress 10.0.0.1\n"), nil
		case "account":
			m.user = true
		case "start":
			m.starts++
			if m.running = m.refuses == ""; !m.running {
				return nil, h.Exit(cmd, 1, m.refuses)
			}
		case "remove":
			m.user, m.running = false, false
			for _, file := range []string{"/etc/systemd/system/" + args[1], args[3], path.Join(args[5], config.File), path.Join(args[5], config.CertFile), path.Join(args[5], config.KeyFile), path.Join(args[5], config.PasswordFile)} {
				_ = disk.Remove(context.Background(), file)
			}
		default:
			return nil, fmt.Errorf("unexpected %q", args)
		}
		return nil, nil
	}, "sh", "-c", script)
	m.On(func(_ context.Context, h *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		program, err := disk.Read(context.Background(), cmd.Argv[3])
		if err != nil {
			return nil, h.Exit(cmd, 1, "cp: cannot stat: No such file or directory")
		}
		return nil, disk.Write(context.Background(), host.File{Path: cmd.Argv[4], Content: program, Mode: 0o755})
	}, "cp", "-p", "--")
	return m
}

// open opens the store of a run.
func open(m *toyMachine, claim owner.Claim) *Store {
	s := Open(m.Host, "rack", "rack", claim)
	s.URI = "qemu:///system"
	s.Choose = func(context.Context, selfbinary.Machine) (selfbinary.Program, error) {
		content := []byte("program")
		return selfbinary.Program{Origin: selfbinary.Own, Sum: selfbinary.Sum(content), Fetch: func(context.Context) ([]byte, error) { return content, nil }}, nil
	}
	return s
}

// create makes the controllers and finishes their mark, as crud does.
func create(t *testing.T, m *toyMachine, want Controllers) (*Store, Controllers) {
	t.Helper()
	s := open(m, owner.BeginRun().New())
	got, err := s.Create(t.Context(), want)
	if err == nil {
		err = s.FinishMark(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, got
}

func TestControllersAreInstalledReadBackAndRemoved(t *testing.T) {
	m := newMachine()
	s, got := create(t, m, rack())
	if !s.Serving() || got.Version != 1 || got.Program != selfbinary.Own || got.Fingerprint == "" || got.Nodes["w1"].SystemID != "w1" || !got.HasPassword("correct-horse") {
		t.Errorf("it serves: %v; it is %+v", s.Serving(), got)
	}
	text, err := m.Read(t.Context(), "/etc/virtcluster/bmc/rack/config.json")
	if err != nil || strings.Contains(string(text), "correct-horse") || strings.Contains(string(text), "creating=") {
		t.Errorf("%v: %s", err, text)
	}
	if plain, _ := m.Read(t.Context(), "/etc/virtcluster/bmc/rack/ipmi-password"); string(plain) != "correct-horse" {
		t.Errorf("IPMI is told %q", plain)
	}
	unit, _ := m.Read(t.Context(), "/etc/systemd/system/virtcluster-bmc-rack.service")
	for _, line := range []string{"User=vc-bmc-rack\n", "ExecStart=/usr/local/libexec/virtcluster-bmc-rack bmc\n", "LoadCredential=tls.key:/etc/virtcluster/bmc/rack/tls.key\n", "StateDirectory=virtcluster-bmc-rack\n"} {
		t.Run(line, func(t *testing.T) {
			if !strings.Contains(string(unit), line) || strings.Contains(string(unit), "@") {
				t.Errorf("the unit is\n%s", unit)
			}
		})
	}
	if err := s.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context()); !errors.Is(err, service.ErrAbsent) {
		t.Errorf("after the end: %v", err)
	}
}

// Who comes to listen between a plan and its apply has the port, and nothing is installed beside it.
func TestAPortThatIsTakenSinceThePlanIsRefused(t *testing.T) {
	m := newMachine()
	m.taken = "listen udp 10.0.0.1:6231\n"
	s := open(m, owner.BeginRun().New())
	_, err := s.Create(t.Context(), rack())
	if unfinished, is := errors.AsType[*service.Unfinished](err); err == nil || is || !strings.Contains(err.Error(), "udp 10.0.0.1:6231") {
		t.Errorf("%v, %v", err, unfinished)
	}
	if _, err := s.Get(t.Context()); !errors.Is(err, service.ErrAbsent) || m.user || m.starts > 0 {
		t.Errorf("%v, user %t, started %d times", err, m.user, m.starts)
	}
}

func TestAPasswordIsWrittenWithItsVersionAlone(t *testing.T) {
	m := newMachine()
	s, first := create(t, m, rack())
	want := rack()
	want.Password = "another"
	second, err := s.Update(t.Context(), first, want)
	if err != nil || second.PasswordHash != first.PasswordHash {
		t.Errorf("without a new version it is written: %v", err)
	}
	want.Version = 2
	third, err := s.Update(t.Context(), second, want)
	if err != nil || !third.HasPassword("another") || third.Version != 2 {
		t.Errorf("a new version is not written: %+v, %v", third, err)
	}
	// Without IPMI the machine does not keep it.
	want.Nodes = map[string]config.Node{"w1": {Port: 8001}}
	if _, err := s.Update(t.Context(), third, want); err != nil {
		t.Fatal(err)
	}
	if plain, _ := m.Read(t.Context(), "/etc/virtcluster/bmc/rack/ipmi-password"); string(plain) != "" {
		t.Errorf("it keeps %q", plain)
	}
	// And gets it again with IPMI.
	want.Nodes = rack().Nodes
	if got, err := s.Update(t.Context(), third, want); err != nil || got.Version != 2 {
		t.Errorf("%+v: %v", got, err)
	}
}

func TestDriftIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*toyMachine)
		seen  func(*Store, Controllers) bool
	}{
		"a stopped program": {func(m *toyMachine) { m.running = false }, func(s *Store, _ Controllers) bool { return !s.Serving() }},
		"no user":           {func(m *toyMachine) { m.user = false }, func(s *Store, _ Controllers) bool { return !s.Serving() }},
		"another program":   {func(m *toyMachine) { put(m, "/usr/local/libexec/virtcluster-bmc-rack", "x") }, func(s *Store, _ Controllers) bool { return !s.Serving() }},
		"another unit":      {func(m *toyMachine) { put(m, "/etc/systemd/system/virtcluster-bmc-rack.service", "x") }, func(s *Store, _ Controllers) bool { return !s.Serving() }},
		"another hash": {func(m *toyMachine) {
			hash, _ := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost)
			edit(m, func(c *config.Config) { c.PasswordHash = string(hash) })
		}, func(_ *Store, got Controllers) bool { return got.Version == 0 }},
		"another password": {func(m *toyMachine) { put(m, "/etc/virtcluster/bmc/rack/ipmi-password", "x") }, func(_ *Store, got Controllers) bool { return got.Version == 0 }},
		"another port": {func(m *toyMachine) {
			edit(m, func(c *config.Config) { c.Nodes["w1"] = config.Node{Address: "10.0.0.1", Port: 1} })
		}, func(_ *Store, got Controllers) bool { return got.Nodes["w1"].Port == 1 }},
		"no certificate": {func(m *toyMachine) { _ = m.Remove(context.Background(), "/etc/virtcluster/bmc/rack/tls.crt") }, func(_ *Store, got Controllers) bool { return got.Fingerprint == "" }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			s, _ := create(t, m, rack())
			c.spoil(m)
			got, err := s.Get(t.Context())
			if err != nil || !c.seen(s, got) {
				t.Errorf("it serves: %v; it is %+v: %v", s.Serving(), got, err)
			}
			got, err = s.Update(t.Context(), got, rack())
			if err != nil || !s.Serving() || got.Version != 1 || got.Nodes["w1"].Port != 8001 || got.Fingerprint == "" {
				t.Errorf("it is not mended: %+v, serving %v: %v", got, s.Serving(), err)
			}
		})
	}
}

// put writes a file as a person does.
func put(m *toyMachine, path, content string) {
	_ = m.Write(context.Background(), host.File{Path: path, Content: []byte(content)})
}

// edit changes the configuration as a person does.
func edit(m *toyMachine, change func(*config.Config)) {
	const path = "/etc/virtcluster/bmc/rack/config.json"
	text, _ := m.Read(context.Background(), path)
	var c config.Config
	_ = json.Unmarshal(text, &c)
	change(&c)
	text, _ = json.Marshal(c)
	put(m, path, string(text))
}

func TestAnUpdateThatDoesNotRunPutsBackWhatDid(t *testing.T) {
	m := newMachine()
	s, first := create(t, m, rack())
	want := rack()
	want.Nodes["w1"] = config.Node{Port: 22}
	m.On(func(_ context.Context, h *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		if text, _ := m.Read(context.Background(), "/etc/virtcluster/bmc/rack/config.json"); cmd.Argv[4] == "start" && strings.Contains(string(text), `"port": 22,`) {
			return nil, h.Exit(cmd, 1, "listen tcp 10.0.0.1:22: bind: address already in use")
		}
		return nil, hosttest.ErrPass
	}, "sh", "-c", script)
	if _, err := s.Update(t.Context(), first, want); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context())
	if err != nil || !s.Serving() || got.Nodes["w1"].Port != 8001 {
		t.Errorf("it is %+v, serving %v: %v", got, s.Serving(), err)
	}
}

func TestAnUpdateWhoseProgramDoesNotRunPutsBackTheOneThatDid(t *testing.T) {
	const program, unit = "/usr/local/libexec/virtcluster-bmc-rack", "/etc/systemd/system/virtcluster-bmc-rack.service"
	m := newMachine()
	s, first := create(t, m, rack())
	put(m, unit, "as a version before wrote it")
	s.Choose = func(context.Context, selfbinary.Machine) (selfbinary.Program, error) {
		content := []byte("another program")
		return selfbinary.Program{Origin: selfbinary.Own, Sum: selfbinary.Sum(content), Fetch: func(context.Context) ([]byte, error) { return content, nil }}, nil
	}
	refuses := true
	m.On(func(_ context.Context, h *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		if cmd.Argv[4] == "start" && refuses && m.Content(program) == "another program" {
			return nil, h.Exit(cmd, 1, "Illegal instruction")
		}
		return nil, hosttest.ErrPass
	}, "sh", "-c", script)
	if _, err := s.Update(t.Context(), first, rack()); err == nil || !strings.Contains(err.Error(), "Illegal instruction") || strings.Contains(err.Error(), "put back") {
		t.Fatal(err)
	}
	if m.Content(program) != "program" || m.Content(unit) != "as a version before wrote it" || !m.running {
		t.Errorf("it has %q with %q, and runs: %t", m.Content(program), m.Content(unit), m.running)
	}
	refuses = false
	if _, err := s.Update(t.Context(), first, rack()); err != nil || m.Content(program) != "another program" || !s.Serving() {
		t.Errorf("%v: it has %q, serving %t", err, m.Content(program), s.Serving())
	}
	if _, left := m.Files()[program+".before"]; left {
		t.Error("the program before is left beside the one that runs")
	}
}

func TestWhatIsNotItsOwnStays(t *testing.T) {
	for name, spoil := range map[string]func(*toyMachine){
		"a person's user":      func(m *toyMachine) { m.user = true },
		"a person's group":     func(m *toyMachine) { m.there = "group\n" },
		"a person's directory": func(m *toyMachine) { m.there = "memory\n" },
		"a person's program":   func(m *toyMachine) { put(m, "/usr/local/libexec/virtcluster-bmc-rack", "x") },
		"a person's unit":      func(m *toyMachine) { put(m, "/etc/systemd/system/virtcluster-bmc-rack.service", "x") },
		"another state's": func(m *toyMachine) {
			put(m, "/etc/virtcluster/bmc/rack/config.json", `{"owner":"owner=somebody workspace=elsewhere"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			spoil(m)
			s := open(m, owner.BeginRun().New())
			_, err := s.Create(t.Context(), rack())
			if _, ok := errors.AsType[*owner.ForeignError](err); !ok || m.starts > 0 {
				t.Errorf("created: %v", err)
			}
		})
	}
	m := newMachine()
	create(t, m, rack())
	other := open(m, owner.BeginRun().New())
	if err := other.Delete(t.Context()); err == nil {
		t.Error("another resource removed it")
	}
}

// A run that breaks off at any operation leaves what the next one finishes, or removes.
func TestARunThatBreaksOffAnywhereIsFinishedByTheNext(t *testing.T) {
	for n := 1; ; n++ {
		m := newMachine()
		claim := owner.BeginRun().New()
		s := open(m, claim)
		m.Fail(hosttest.Any, n, host.ErrCut)
		if _, err := s.Create(t.Context(), rack()); err == nil {
			if n < 10 {
				t.Fatalf("a create has %d operations only", n)
			}
			return
		}
		again := open(m, s.Claim())
		got, err := again.Create(t.Context(), rack())
		if err != nil || !again.Serving() || !got.HasPassword("correct-horse") {
			t.Fatalf("after the operation %d: %+v, serving %v: %v", n, got, again.Serving(), err)
		}
		if err := again.Delete(t.Context()); err != nil || m.user {
			t.Fatalf("after the operation %d it is not removed: %v", n, err)
		}
	}
}

func TestANodeThatIsNotThereIsSaidAtItsPlace(t *testing.T) {
	m := newMachine()
	s := open(m, owner.BeginRun().New())
	s.Exists = func(_ context.Context, node string) error {
		if node == "w2" {
			return errors.New("there is no node")
		}
		return nil
	}
	_, err := s.Create(t.Context(), rack())
	at, ok := errors.AsType[*service.AttributeError](err)
	if !ok || at.Path[1] != service.Key("w2") || m.user {
		t.Errorf("%v", err)
	}
}

func TestControllersAreListed(t *testing.T) {
	t.Parallel()
	h := hosttest.New(host.File{Path: "/etc/virtcluster/bmc/rack-2/config.json"}, host.File{Path: "/etc/virtcluster/bmc/rack-1/config.json"}, host.File{Path: "/etc/virtcluster/bmc/none/tls.crt"})
	if names, err := ListNames(t.Context(), h); err != nil || fmt.Sprint(names) != "[rack-1 rack-2]" {
		t.Errorf("listed are %v, %v", names, err)
	}
	h.Fail(hosttest.Any, 1, errors.New("cut"))
	if _, err := ListNames(t.Context(), h); err == nil {
		t.Error("a machine that does not answer has none")
	}
}
