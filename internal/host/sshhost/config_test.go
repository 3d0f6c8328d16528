package sshhost

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// withConfig gives the test a home directory with an SSH configuration.
func withConfig(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("SSH_AUTH_SOCK", "")
	if err := os.MkdirAll(filepath.Join(dir, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".ssh/config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEndpointThenProviderThenSSHConfigThenDefaults(t *testing.T) {
	dir := withConfig(t, `
Host svc
  HostName 10.0.0.100
  User ops
  Port 2200
  ProxyJump gate.example,ops@inner:2201
  IdentityFile ~/.ssh/svc_%r
  UserKnownHostsFile ~/.ssh/known_svc
Match host lab
  User lab
Host *
  User everyone
  IdentitiesOnly yes
`)
	type want struct {
		User, Name, Dial string
		Port             int
		Jump             []host.Hop
		Identity, Known  string
	}
	jump := []host.Hop{{Host: "gate.example"}, {User: "ops", Host: "inner", Port: 2201}}
	for name, c := range map[string]struct {
		target Target
		opts   Options
		want   want
	}{
		"all from ssh config": {Target{Host: "svc"}, Options{},
			want{"ops", "10.0.0.100", "10.0.0.100", 2200, jump, dir + "/.ssh/svc_ops", dir + "/.ssh/known_svc"}},
		"provider goes before it": {Target{Host: "svc"}, Options{User: "root", KnownHostsFile: "~/k", ProxyJump: "none"},
			want{"root", "10.0.0.100", "10.0.0.100", 2200, nil, dir + "/.ssh/svc_root", dir + "/k"}},
		"endpoint goes before both": {Target{Host: "svc", User: "me", Port: 22, ProxyJump: "x"}, Options{User: "root", ProxyJump: "y"},
			want{"me", "10.0.0.100", "10.0.0.100", 22, []host.Hop{{Host: "x"}}, dir + "/.ssh/svc_me", dir + "/.ssh/known_svc"}},
		"defaults": {Target{Host: "10.0.0.7"}, Options{},
			want{"everyone", "10.0.0.7", "10.0.0.7", 22, nil, dir + "/.ssh/id_ed25519", dir + "/.ssh/known_hosts"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := c.target.resolveSettings(c.opts)
			if err != nil {
				t.Fatal(err)
			}
			got := want{s.user, s.name, s.dialHost, s.port, s.jump, s.identities[0], s.knownHosts[0]}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProxyCommandIsRefusedAndAJumpGoesBeforeIt(t *testing.T) {
	withConfig(t, "Host svc\n  ProxyCommand nc %h %p\n")
	if _, err := (Target{Host: "svc"}).resolveSettings(Options{}); err == nil || !strings.Contains(err.Error(), "ProxyJump") {
		t.Errorf("got %v", err)
	}
	if _, err := (Target{Host: "svc", ProxyJump: "gate"}).resolveSettings(Options{}); err != nil {
		t.Error(err)
	}
}

func TestBrokenSSHConfigIsAnErrorThatNamesTheFile(t *testing.T) {
	dir := withConfig(t, "Match nonsense x\n  Port 1\n")
	_, err := (Target{Host: "svc"}).resolveSettings(Options{})
	if err == nil || !strings.Contains(err.Error(), dir+"/.ssh/config") {
		t.Errorf("got %v", err)
	}
}

// Fedora includes a file with such a block for everybody.
func TestUnknownMatchBlocksAreLeftOutAndIncludedFilesCount(t *testing.T) {
	dir := withConfig(t, `Include conf.d/*
User last
Match exec "true"
  User never
Host svc
  Port 2222
`)
	if err := os.Mkdir(filepath.Join(dir, ".ssh/conf.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	const crypto = "Match final all\n  User never\nHost other\n  User other\n"
	if err := os.WriteFile(filepath.Join(dir, ".ssh/conf.d/50-crypto.conf"), []byte(crypto), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"svc": "last 2222", "other": "other 22"} {
		t.Run(name, func(t *testing.T) {
			s, err := (Target{Host: name}).resolveSettings(Options{})
			if got := fmt.Sprint(s.user, " ", s.port); err != nil || got != want {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		})
	}
}

func TestLoginByAgentAndByTheDefaultKey(t *testing.T) {
	dir := withConfig(t, "")
	file, public := keyFile(t)
	s := serve(t, public)
	opts := Options{KnownHostsFile: knownHosts(t, s), ConnectTimeout: 3 * time.Second}
	login := func(opts Options) error {
		h := New(s.target(), opts)
		defer h.Close()
		_, err := h.Run(t.Context(), sh("true"))
		return err
	}
	if err := login(opts); err == nil {
		t.Error("let in without a key")
	}

	private, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParseRawPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "agent"))
	serveAgent(t, filepath.Join(dir, "agent"), ring)
	if err := login(opts); err != nil {
		t.Errorf("by agent: %v", err)
	}
	no := false
	opts.Agent = &no
	if err := login(opts); err == nil {
		t.Error("the agent is asked although it must not be")
	}
	if err := os.WriteFile(filepath.Join(dir, ".ssh/id_ed25519"), private, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := login(opts); err != nil {
		t.Errorf("by the default key: %v", err)
	}
}

// serveAgent has an agent listen on a socket.
func serveAgent(t *testing.T, socket string, keys agent.Agent) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go agent.ServeAgent(keys, c)
		}
	}()
}

// muteAgent answers nothing until it is told to, or nothing but which keys it has.
type muteAgent struct {
	agent.Agent
	lists   bool
	answers chan struct{}
}

func (a muteAgent) List() ([]*agent.Key, error) {
	if !a.lists {
		<-a.answers
	}
	return a.Agent.List()
}

func (a muteAgent) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	<-a.answers
	return a.Agent.Sign(key, data)
}

func TestAgentThatSaysNothingIsGivenUpWithinConnectTimeout(t *testing.T) {
	for name, lists := range map[string]bool{"its keys": false, "a signature": true} {
		t.Run(name, func(t *testing.T) {
			dir := withConfig(t, "")
			file, public := keyFile(t)
			s := serve(t, public)
			private, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			key, err := ssh.ParseRawPrivateKey(private)
			if err != nil {
				t.Fatal(err)
			}
			mute := muteAgent{agent.NewKeyring(), lists, make(chan struct{})}
			defer close(mute.answers)
			if err := mute.Add(agent.AddedKey{PrivateKey: key}); err != nil {
				t.Fatal(err)
			}
			serveAgent(t, filepath.Join(dir, "agent"), mute)
			t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "agent"))
			h := New(s.target(), Options{KnownHostsFile: knownHosts(t, s), ConnectTimeout: 300 * time.Millisecond})
			defer h.Close()
			failed := make(chan error, 1)
			go func() {
				_, err := h.Run(t.Context(), sh("true"))
				failed <- err
			}()
			select {
			case err := <-failed:
				if err == nil || !strings.Contains(err.Error(), "connect_timeout") || !lists && !strings.Contains(err.Error(), dir) {
					t.Errorf("%v", err)
				}
			case <-time.After(5 * time.Second):
				t.Error("it is waited for still")
			}
		})
	}
}

func TestPathsAreReadAsOpenSSHReadsThem(t *testing.T) {
	for text, want := range map[string]string{
		"~/agent":                              "/agent",
		`"~/Library/Group Containers/t/agent"`: "/Library/Group Containers/t/agent",
		`"%d/agent of %r"`:                     "/agent of root",
		"none":                                 "-",
		`"none"`:                               "-",
		"SSH_AUTH_SOCK":                        "/of the environment",
		`"SSH_AUTH_SOCK"`:                      "/of the environment",
	} {
		t.Run(text, func(t *testing.T) {
			dir := withConfig(t, "Host svc\n  IdentityAgent "+text+"\n  IdentityFile \"~/my keys/%r\"\n")
			t.Setenv("SSH_AUTH_SOCK", dir+"/of the environment")
			want := strings.TrimSuffix(dir+want, dir+"-")
			s, err := Target{User: "root", Host: "svc"}.resolveSettings(Options{})
			if err != nil || s.agent != want || !slices.Equal(s.identities, []string{dir + "/my keys/root"}) {
				t.Errorf("got %q and %q, %v", s.agent, s.identities, err)
			}
		})
	}
}

func TestKeysThatCannotBeUsedSayWhy(t *testing.T) {
	withConfig(t, "")
	_, public := keyFile(t)
	s := serve(t, public)
	for text, opts := range map[string]Options{
		"private_key_file": {PrivateKeyFile: "/nonexistent/key"},
		"private_key":      {PrivateKey: "not a key"},
	} {
		t.Run(text, func(t *testing.T) {
			opts.KnownHostsFile = knownHosts(t, s)
			h := New(s.target(), opts)
			_, err := h.Run(t.Context(), sh("true"))
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v", text, err)
			}
			h.Close()
		})
	}
}
