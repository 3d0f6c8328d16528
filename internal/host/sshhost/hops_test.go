package sshhost

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

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
		t.Run(c.fails, func(t *testing.T) {
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
		})
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
