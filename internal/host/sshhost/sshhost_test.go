package sshhost

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

func TestMain(m *testing.M) {
	// The tests' SSH configuration is empty unless they write one.
	dir, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOME", dir)
	os.Unsetenv("SSH_AUTH_SOCK")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// reach returns a server and a Host that is let in.
func reach(t *testing.T) (*server, *Host) {
	t.Helper()
	file, public := keyFile(t)
	s := serve(t, public)
	h := New(s.target(), Options{PrivateKeyFile: file, KnownHostsFile: knownHosts(t, s), ConnectTimeout: 3 * time.Second})
	t.Cleanup(func() { h.Close() })
	return s, h
}

func sh(script string) host.Cmd { return host.Cmd{Argv: []string{"sh", "-c", script}} }

func TestRunPassesInputAndArgumentsUnchanged(t *testing.T) {
	_, h := reach(t)
	every := make([]byte, 255) // but NUL, which no argument can have
	for i := range every {
		every[i] = byte(i + 1)
	}
	args := []string{"", "a b", "it's", `"$HOME" \ *`, "line\nline", "!x", "Zürich\r\n", string(every), strings.Repeat("long ", 20_000)}
	cmd := host.Script("echo", `cat; printf '%s|' "$@"`, args...)
	cmd.Stdin = []byte(strings.Repeat("0123456789", 100_000) + "\x00\xff")
	out, err := h.Run(t.Context(), cmd)
	if want := string(cmd.Stdin) + strings.Join(args, "|") + "|"; err != nil || string(out) != want {
		t.Fatalf("got %d bytes of %d, %v", len(out), len(want), err)
	}
}

func TestFailedCommandCarriesStatusAndWordsAndHidesSecrets(t *testing.T) {
	_, h := reach(t)
	cmd := sh("echo out hunter2; echo bad hunter2 >&2; exit 7")
	cmd.Secrets = []string{"hunter2"}
	_, err := h.Run(t.Context(), cmd)
	exit, ok := errors.AsType[*host.ExitError](err)
	if !ok || exit.Code != 7 || exit.Stdout != "out ***\n" || exit.Stderr != "bad ***\n" || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("got %v", err)
	}
}

func TestCommandThatDoesNotReadItsInputSucceeds(t *testing.T) {
	_, h := reach(t)
	cmd := sh("exit 0")
	cmd.Stdin = make([]byte, 8<<20)
	if _, err := h.Run(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}
}

func TestFiftyCommandsShareOneConnectionAndStayBelowMaxSessions(t *testing.T) {
	s, h := reach(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			out, err := h.Run(t.Context(), sh(fmt.Sprintf("sleep 0.05; echo %d", i)))
			if err != nil || string(out) != fmt.Sprintln(i) {
				t.Errorf("%d: %q, %v", i, out, err)
			}
		})
	}
	wg.Wait()
	if s.accepted.Load() != 1 || s.peak.Load() > maxRuns || s.peak.Load() < 2 {
		t.Errorf("%d connections, %d sessions at once", s.accepted.Load(), s.peak.Load())
	}
}

func TestServerThatAllowsFewSessionsIsStillServed(t *testing.T) {
	s, h := reach(t)
	s.maxSessions = 1
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := h.Run(t.Context(), sh("sleep 0.02")); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestServerThatAllowsNoSessionIsAnError(t *testing.T) {
	s, h := reach(t)
	s.maxSessions = 0
	_, err := h.Run(t.Context(), sh("true"))
	if err == nil || !strings.Contains(err.Error(), "refuses to open a session") {
		t.Errorf("got %v", err)
	}
}

func TestConnectionCutInMidCommandIsUnknownOutcomeAndTheNextCommandReconnects(t *testing.T) {
	s, h := reach(t)
	mark := filepath.Join(t.TempDir(), "mark")
	go s.cutWhen(mark)
	_, err := h.Run(t.Context(), host.Script("wait", `: >"$1"; sleep 30`, mark))
	var exit *host.ExitError
	if !errors.Is(err, host.ErrCut) || errors.As(err, &exit) {
		t.Fatalf("got %v", err)
	}
	if out, err := h.Run(t.Context(), sh("echo again")); err != nil || string(out) != "again\n" {
		t.Fatalf("got %q, %v", out, err)
	}
}

func TestRepeatableCommandOutlivesACutConnection(t *testing.T) {
	s, h := reach(t)
	mark := filepath.Join(t.TempDir(), "mark")
	go s.cutWhen(mark)
	cmd := host.Script("twice", `[ -e "$1" ] && { echo second; exit; }; : >"$1"; sleep 30`, mark)
	cmd.Repeatable = true
	if out, err := h.Run(t.Context(), cmd); err != nil || string(out) != "second\n" {
		t.Fatalf("got %q, %v", out, err)
	}
}

func TestRestartOfTheServerIsBridged(t *testing.T) {
	s, h := reach(t)
	if _, err := h.Run(t.Context(), sh("true")); err != nil {
		t.Fatal(err)
	}
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		s.restart(500 * time.Millisecond)
	}()
	time.Sleep(100 * time.Millisecond)
	if _, err := h.Run(t.Context(), sh("true")); err != nil {
		t.Errorf("during the restart: %v", err)
	}
	<-restarted
}

func TestCancelledCommandEndsAtOnceHereAndThere(t *testing.T) {
	_, h := reach(t)
	mark := filepath.Join(t.TempDir(), "mark")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := h.Run(ctx, host.Script("wait", `trap 'echo ended >"$1"; exit' TERM HUP; sleep 5 & wait`, mark))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
		t.Fatalf("after %s: %v", time.Since(start), err)
	}
	for range 40 {
		if _, err := os.Stat(mark); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the command goes on on the machine")
}

func TestNothingListensIsToldAtOnceWithTheAddress(t *testing.T) {
	s, h := reach(t)
	s.listener.Close()
	start := time.Now()
	_, err := h.Run(t.Context(), sh("true"))
	unreachable, ok := errors.AsType[*ConnectError](err)
	if !ok || !strings.Contains(err.Error(), s.address) || !strings.Contains(err.Error(), "refused") || len(unreachable.Addresses) != 1 {
		t.Errorf("got %v", err)
	}
	if time.Since(start) > time.Second {
		t.Errorf("took %s", time.Since(start))
	}
}

func TestEveryAddressThatWasTriedIsNamed(t *testing.T) {
	_, err := dialFirst(t.Context(), []string{"127.0.0.1:1", "127.0.0.2:1", "[::1]:1"}, (&net.Dialer{}).DialContext)
	for _, address := range []string{"127.0.0.1:1", "127.0.0.2:1", "[::1]:1"} {
		if err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("no %s in %v", address, err)
		}
	}
}

func TestMachineThatSaysNothingFailsWithinConnectTimeout(t *testing.T) {
	s, h := reach(t)
	s.mute.Store(true)
	h.opts.ConnectTimeout = 300 * time.Millisecond
	start := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := h.Run(t.Context(), sh("true"))
			if _, ok := errors.AsType[*ConnectError](err); !ok || !strings.Contains(err.Error(), s.address) || !strings.Contains(err.Error(), "300ms") {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(start); took > 2*time.Second || s.accepted.Load() > 2 {
		t.Errorf("%s, %d connections", took, s.accepted.Load())
	}
}

func TestRefusedLoginNamesUserAndKeys(t *testing.T) {
	s, h := reach(t)
	other, _ := keyFile(t)
	h = New(s.target(), Options{PrivateKeyFile: other, KnownHostsFile: h.opts.KnownHostsFile})
	defer h.Close()
	_, err := h.Run(t.Context(), sh("true"))
	if _, ok := errors.AsType[*AuthError](err); !ok || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), `"root"`) {
		t.Errorf("got %v", err)
	}
}

func TestNoKeyAtAllSaysWhatToDo(t *testing.T) {
	s, h := reach(t)
	h = New(s.target(), Options{KnownHostsFile: h.opts.KnownHostsFile})
	defer h.Close()
	_, err := h.Run(t.Context(), sh("true"))
	if _, ok := errors.AsType[*AuthError](err); !ok || !strings.Contains(err.Error(), "private_key_file") {
		t.Errorf("got %v", err)
	}
}

func TestHostKeys(t *testing.T) {
	file, public := keyFile(t)
	first, second := signer(t, ssh.KeyAlgoED25519), signer(t, ssh.KeyAlgoECDSA256)
	s := serve(t, public, first, second)
	other := serve(t, public)
	other.address, s.address = s.address, other.address // known_hosts that knows s by the other's key
	wrongKnown := knownHosts(t, other)
	other.address, s.address = s.address, other.address
	known, empty := knownHosts(t, s), filepath.Join(t.TempDir(), "none")
	print := func(k ssh.Signer) string { return ssh.FingerprintSHA256(k.PublicKey()) }

	for name, c := range map[string]struct {
		known, key string
		firstUse   bool
		refused    []string // what the refusal names; nil is accepted
	}{
		"known":                        {known: known},
		"unknown":                      {known: empty, refused: []string{print(first), "not known"}},
		"unknown, first use":           {known: empty, firstUse: true},
		"changed":                      {known: wrongKnown, refused: []string{print(first), print(other.host), "ssh-keygen -f " + wrongKnown + " -R"}},
		"changed, first use":           {known: wrongKnown, firstUse: true, refused: []string{print(other.host)}},
		"fingerprint of the preferred": {known: empty, key: print(first)},
		"fingerprint of another type":  {known: empty, key: print(second)},
		"public key":                   {known: empty, key: string(ssh.MarshalAuthorizedKey(second.PublicKey()))},
		"line of ssh-keyscan":          {known: empty, key: "10.0.0.1 " + string(ssh.MarshalAuthorizedKey(first.PublicKey()))},
		"wrong fingerprint":            {known: known, key: print(other.host), refused: []string{print(other.host), "state rm"}},
		"wrong fingerprint, first use": {known: known, key: print(other.host), firstUse: true, refused: []string{print(other.host)}},
	} {
		t.Run(name, func(t *testing.T) {
			target := s.target()
			target.HostKey, target.FirstUse = c.key, c.firstUse
			h := New(target, Options{PrivateKeyFile: file, KnownHostsFile: c.known})
			defer h.Close()
			_, err := h.Run(t.Context(), sh("true"))
			if c.refused == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if _, ok := errors.AsType[*HostKeyError](err); !ok {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.refused {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %q", part, err)
				}
			}
		})
	}
}

func TestPinnedKeyIsTheOnlyOneAcceptedAfterwards(t *testing.T) {
	file, public := keyFile(t)
	s := serve(t, public)
	target := s.target()
	target.FirstUse = true
	h := New(target, Options{PrivateKeyFile: file, KnownHostsFile: "/nonexistent", ConnectTimeout: time.Second})
	defer h.Close()
	pinned, err := h.Pin(t.Context())
	if err != nil || pinned != ssh.FingerprintSHA256(s.host.PublicKey()) {
		t.Fatalf("%q, %v", pinned, err)
	}
	s.stop()
	impostor := serve(t, public)
	impostor.listener.Close()
	impostor.listen(s.address)
	_, err = h.Run(t.Context(), sh("true"))
	if _, ok := errors.AsType[*HostKeyError](err); !ok || !strings.Contains(err.Error(), pinned) || !strings.Contains(err.Error(), ssh.FingerprintSHA256(impostor.host.PublicKey())) {
		t.Errorf("got %v", err)
	}
}

// certified returns a host key's signer that shows a certificate for it.
func certified(t *testing.T, host, authority ssh.Signer, name string) ssh.Signer {
	t.Helper()
	cert := &ssh.Certificate{Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{name}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewCertSigner(cert, host)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func marked(t *testing.T, marker string, key ssh.PublicKey) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(name, []byte(marker+" * "+string(ssh.MarshalAuthorizedKey(key))), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestHostOfACertificateAuthorityIsPinnedByItsKey(t *testing.T) {
	file, public := keyFile(t)
	authority, key := signer(t, ssh.KeyAlgoED25519), signer(t, ssh.KeyAlgoED25519)
	// As sshd does, it has the key with and without its certificate.
	s := serve(t, public, key, certified(t, key, authority, "127.0.0.1"))
	target := s.target()
	target.FirstUse = true
	opts := Options{PrivateKeyFile: file, KnownHostsFile: marked(t, "@cert-authority", authority.PublicKey()), ConnectTimeout: time.Second}
	h := New(target, opts)
	defer h.Close()
	pinned, err := h.Pin(t.Context())
	if err != nil || pinned != ssh.FingerprintSHA256(key.PublicKey()) {
		t.Fatalf("pinned %q, %v; want %s", pinned, err, ssh.FingerprintSHA256(key.PublicKey()))
	}
	target.FirstUse, target.HostKey = false, pinned
	later := New(target, opts)
	defer later.Close()
	if _, err := later.Run(t.Context(), sh("true")); err != nil {
		t.Errorf("by what was pinned: %v", err)
	}
}

func TestPinnedKeyThatIsRevokedIsRefused(t *testing.T) {
	file, public := keyFile(t)
	s := serve(t, public)
	target := s.target()
	target.HostKey = ssh.FingerprintSHA256(s.host.PublicKey())
	h := New(target, Options{PrivateKeyFile: file, KnownHostsFile: marked(t, "@revoked", s.host.PublicKey()), ConnectTimeout: time.Second})
	defer h.Close()
	if _, err := h.Run(t.Context(), sh("true")); err == nil || !strings.Contains(err.Error(), "revoked in "+h.opts.KnownHostsFile+":1") {
		t.Errorf("got %v", err)
	}
}

func TestJumpOverSeveralMachinesChecksEveryHostKey(t *testing.T) {
	file, public := keyFile(t)
	s, hop1, hop2 := serve(t, public), serve(t, public), serve(t, public)
	jump := "root@" + hop1.address + ",root@" + hop2.address
	for _, c := range []struct {
		known []*server
		fails string
	}{
		{known: []*server{s, hop1, hop2}},
		{known: []*server{s, hop2}, fails: ssh.FingerprintSHA256(hop1.host.PublicKey())},
		{known: []*server{s, hop1}, fails: ssh.FingerprintSHA256(hop2.host.PublicKey())},
		{known: []*server{hop1, hop2}, fails: ssh.FingerprintSHA256(s.host.PublicKey())},
	} {
		target := s.target()
		target.ProxyJump = jump
		h := New(target, Options{PrivateKeyFile: file, KnownHostsFile: knownHosts(t, c.known...)})
		_, err := h.Run(t.Context(), sh("true"))
		switch {
		case c.fails == "" && err != nil:
			t.Error(err)
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("no %s in %v", c.fails, err)
		}
		h.Close()
	}
}

func TestMachinesBehindOneJumpShareItsConnection(t *testing.T) {
	file, public := keyFile(t)
	a, b, hop := serve(t, public), serve(t, public), serve(t, public)
	p := NewPool(Options{PrivateKeyFile: file, KnownHostsFile: knownHosts(t, a, b, hop), ProxyJump: "root@" + hop.address})
	defer p.Close()
	for _, s := range []*server{a, b} {
		h := p.Host(s.target())
		defer h.Close()
		if _, err := h.Run(t.Context(), sh("true")); err != nil {
			t.Fatal(err)
		}
	}
	if hop.accepted.Load() != 1 {
		t.Errorf("%d connections to the jump", hop.accepted.Load())
	}
}

func TestUnixSocketsOfTheMachineAreReached(t *testing.T) {
	_, h := reach(t)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			io.WriteString(c, "hello")
			c.Close()
		}
	}()
	c, err := h.DialUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := h.DialUnix(t.Context(), path+"x"); err == nil {
		t.Error("no error for a socket that is not there")
	}
}

func TestAnswerThatIsTooLongEndsTheCommandWithAnError(t *testing.T) {
	_, h := reach(t)
	for _, output := range []string{"", " >&2"} {
		cmd := host.Script("flood", "cat /dev/zero"+output)
		cmd.Repeatable = true // but not for this reason
		start := time.Now()
		if _, err := h.Run(t.Context(), cmd); !errors.Is(err, host.ErrTooLong) || errors.Is(err, host.ErrCut) {
			t.Errorf("output%s: %v", output, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("output%s: ended after %s", output, took)
		}
	}
	if out, err := h.Run(t.Context(), host.Script("half", "head -c 40M /dev/zero")); err != nil || len(out) != 40<<20 {
		t.Errorf("an answer that is long: %d bytes, %v", len(out), err)
	}
}
