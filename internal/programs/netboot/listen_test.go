package netboot

import (
	"net"
	"strings"
	"testing"
	"time"
)

// TestOnlyANamedInterfaceIsAnswered has each interface of this machine be the only one to listen at: what comes in by the loopback interface is
// answered by that alone.
func TestOnlyANamedInterfaceIsAnswered(t *testing.T) {
	t.Parallel()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range all {
		t.Run(device.Name, func(t *testing.T) {
			t.Parallel()
			by := net.ListenConfig{Control: bindTo(device.Name)}
			l, err := by.Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", l.Addr().String())
			if answers := err == nil; answers != (device.Flags&net.FlagLoopback != 0) {
				t.Errorf("it answers: %t, %v", answers, err)
			}
			if conn != nil {
				_ = conn.Close()
			}
		})
	}
	if _, err := (&net.ListenConfig{Control: bindTo("none-0")}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "none-0") {
		t.Errorf("an interface that is not there: %v", err)
	}
}

// TestAMachineIsInstalledByTFTPToo has all of its files come that way, as GRUB fetches them.
func TestAMachineIsInstalledByTFTPToo(t *testing.T) {
	t.Parallel()
	s, _, upstream := newService(t, nil)
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() { _ = s.serveTFTP(socket) }()
	ask := func(name string) string {
		all, _ := fetch(t, socket.LocalAddr(), "/boot/"+mac+"/"+name, "blksize\x008\x00tsize\x000\x00", 8)
		return all
	}
	for name, want := range map[string]string{"kernel": "content of /kernel", "initrd0": "content of /initrd", "none": "refused 1", "initrd7": "refused 1"} {
		t.Run(name, func(t *testing.T) {
			if got := ask(name); got != want {
				t.Errorf("it is %q, want %q", got, want)
			}
		})
	}
	if s.states.getRecord(machine(1)).Spent != nil {
		t.Error("it is installed before it has its configuration")
	}
	ask("config.ign")
	for began := time.Now(); s.states.getRecord(machine(1)).Spent == nil; time.Sleep(time.Millisecond) { // it is noted once the last block was acknowledged
		if time.Since(began) > 10*time.Second {
			t.Fatalf("it is not installed: %+v", s.states.getRecord(machine(1)))
		}
	}
	spentAt := func(at *time.Time) {
		if _, err := s.states.changeRecord(machine(1), func(r *Record) { r.Spent = at }); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * grace)
	spentAt(&long)
	if got := ask("kernel"); got != "refused 2" {
		t.Errorf("long afterwards it is %q", got)
	}
	spentAt(nil)
	upstream.Close()
	if got := ask("kernel"); got != "refused 2" {
		t.Errorf("without its server it is %q", got)
	}
}
