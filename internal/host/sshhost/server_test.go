package sshhost

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

// server is an SSH server in this process that runs commands with sh, as sshd does.
type server struct {
	t        *testing.T
	config   *ssh.ServerConfig
	address  string
	listener net.Listener
	host     ssh.Signer

	maxSessions int
	accepted    atomic.Int32 // connections so far
	sessions    atomic.Int32 // open now
	started     atomic.Int32 // so far
	peak        atomic.Int32
	mute        atomic.Bool // take connections and say nothing

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

func signer(t *testing.T, kind string) ssh.Signer {
	t.Helper()
	var key any
	var err error
	if kind == ssh.KeyAlgoECDSA256 {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		_, key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keyFile writes a fresh private key and returns its path and public half.
func keyFile(t *testing.T) (string, ssh.PublicKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return name, s.PublicKey()
}

// serve starts a server that lets one key in; hostKeys are its host keys, the first of which is s.host.
func serve(t *testing.T, allowed ssh.PublicKey, hostKeys ...ssh.Signer) *server {
	t.Helper()
	s := &server{t: t, maxSessions: 10}
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(allowed.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	if len(hostKeys) == 0 {
		hostKeys = []ssh.Signer{signer(t, ssh.KeyAlgoED25519)}
	}
	s.host = hostKeys[0]
	for _, k := range hostKeys {
		s.config.AddHostKey(k)
	}
	s.listen("127.0.0.1:0")
	t.Cleanup(s.stop)
	return s
}

func (s *server) listen(address string) {
	var err error
	for range 50 {
		if s.listener, err = net.Listen("tcp", address); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = s.listener.Addr().String()
	listener := s.listener
	s.wg.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			s.wg.Go(func() { s.handle(c) })
		}
	})
}

// cut breaks every connection.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

// cutWhen breaks every connection once a command has made a file.
func (s *server) cutWhen(file string) {
	for range 500 {
		if _, err := os.Stat(file); err == nil {
			s.cut()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *server) stop() {
	s.listener.Close()
	s.cut()
	s.wg.Wait()
}

// restart is what a restart of sshd looks like: nothing listens for a while.
func (s *server) restart(pause time.Duration) {
	s.stop()
	time.Sleep(pause)
	s.listen(s.address)
}

func (s *server) handle(c net.Conn) {
	defer c.Close()
	if s.mute.Load() {
		io.Copy(io.Discard, c)
		return
	}
	conn, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return
	}
	defer conn.Close()
	go func() {
		for r := range requests {
			r.Reply(false, nil)
		}
	}()
	var open atomic.Int32
	for nc := range channels {
		switch nc.ChannelType() {
		case "session":
			if int(open.Add(1)) > s.maxSessions {
				open.Add(-1)
				nc.Reject(ssh.ConnectionFailed, "open failed")
				continue
			}
			s.started.Add(1)
			n := s.sessions.Add(1)
			for p := s.peak.Load(); n > p && !s.peak.CompareAndSwap(p, n); p = s.peak.Load() {
			}
			s.wg.Go(func() {
				s.session(nc, func() {
					open.Add(-1)
					s.sessions.Add(-1)
				})
			})
		case "direct-tcpip":
			var to struct {
				Host       string
				Port       uint32
				Origin     string
				OriginPort uint32
			}
			ssh.Unmarshal(nc.ExtraData(), &to)
			s.forward(nc, "tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
		case "direct-streamlocal@openssh.com":
			var to struct {
				Path     string
				Reserved string
				Port     uint32
			}
			ssh.Unmarshal(nc.ExtraData(), &to)
			s.forward(nc, "unix", to.Path)
		default:
			nc.Reject(ssh.UnknownChannelType, "")
		}
	}
}

func (s *server) forward(nc ssh.NewChannel, network, address string) {
	c, err := net.Dial(network, address)
	if err != nil {
		nc.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, requests, err := nc.Accept()
	if err != nil {
		c.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	s.wg.Go(func() { io.Copy(ch, c); ch.Close() })
	s.wg.Go(func() { io.Copy(c, ch); c.Close() })
}

// session runs one command. It is no longer counted when the client hears of its end, as with sshd.
func (s *server) session(nc ssh.NewChannel, uncount func()) {
	ch, requests, err := nc.Accept()
	if err != nil {
		uncount()
		return
	}
	defer ch.Close()
	defer uncount()
	for r := range requests {
		if r.Type != "exec" {
			r.Reply(false, nil)
			continue
		}
		var exe struct{ Line string }
		ssh.Unmarshal(r.Payload, &exe)
		cmd := exec.Command("sh", "-c", exe.Line)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = ch, ch.Stderr(), time.Second
		stdin, _ := cmd.StdinPipe()
		if err := cmd.Start(); err != nil {
			r.Reply(false, nil)
			return
		}
		r.Reply(true, nil)
		go func() { io.Copy(stdin, ch); stdin.Close() }()
		go func() {
			// The client's end of the session, or a signal from it, ends the command.
			for sig := range requests {
				if sig.Type == "signal" {
					syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
				}
			}
			syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)
		}()
		cmd.Wait()
		status := cmd.ProcessState.ExitCode()
		if status < 0 {
			return
		}
		ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
		return
	}
}

// knownHosts writes a known_hosts file that knows the servers.
func knownHosts(t *testing.T, servers ...*server) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "known_hosts")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range servers {
		io.WriteString(f, knownhosts.Line([]string{s.address}, s.host.PublicKey())+"\n")
	}
	return name
}

// target is the server as an endpoint names it.
func (s *server) target() Target {
	name, port, _ := net.SplitHostPort(s.address)
	n, _ := strconv.Atoi(port)
	return Target{User: "root", Host: name, Port: n}
}
