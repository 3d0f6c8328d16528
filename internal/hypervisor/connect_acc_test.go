package hypervisor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

func TestAccTheTestDriver(t *testing.T) {
	sandbox(t)
	c, err := New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if n, err := c.Network(t.Context(), "default"); err != nil || !n.Active() {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestAccALibvirtdThatIsKilledAndStartedAgainIsWaitedFor(t *testing.T) {
	c := sandbox(t)
	if _, err := c.Networks(t.Context()); err != nil {
		t.Fatal(err)
	}
	shell(t, "sh", "-c", "kill -9 $(cat /run/sandbox/libvirtd.pid)")
	go func() {
		time.Sleep(2 * time.Second) // the client finds nobody for so long
		_ = exec.Command("sh", "-c", "setsid libvirtd >/dev/null 2>&1 </dev/null & echo $! >/run/sandbox/libvirtd.pid").Run()
	}()
	if _, err := c.Networks(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAccOverSSH goes to a service node whose socket /tmp/libvirt.sock leads back to the sandbox's libvirtd.
func TestAccOverSSH(t *testing.T) {
	sandbox(t)
	node, _, _ := strings.Cut(os.Getenv("SANDBOX_SERVICE_NODES"), " ")
	if node == "" {
		t.Skip("needs --service-nodes 1")
	}
	known := filepath.Join(t.TempDir(), "known_hosts")
	shell(t, "sh", "-c", "ssh-keyscan -t ed25519 "+node+" >"+known+" 2>/dev/null")
	back := exec.Command("ssh", "-N", "-o", "UserKnownHostsFile="+known, "-o", "StreamLocalBindUnlink=yes", "-R", "/tmp/libvirt.sock:/run/libvirt/libvirt-sock", "root@"+node)
	if err := back.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = back.Process.Kill(); _ = back.Wait() })
	shell(t, "sh", "-c", "for try in $(seq 300); do ssh -o UserKnownHostsFile="+known+" root@"+node+" test -S /tmp/libvirt.sock && exit; sleep 0.1; done; exit 1")

	options := sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY"), KnownHostsFile: known}
	c, err := New("qemu+ssh://root@"+node+"/system?socket=/tmp/libvirt.sock", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Networks(t.Context()); err != nil {
		t.Error(err)
	}
	if routes, err := c.HostRoutes(t.Context()); err != nil || len(routes) == 0 {
		t.Errorf("%v, %v", routes, err)
	}

	nobody, err := New("qemu+ssh://root@"+node+"/system", options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = nobody.Networks(t.Context())
	if _, unreachable := errors.AsType[*UnreachableError](err); !unreachable || !strings.Contains(err.Error(), "/var/run/libvirt/libvirt-sock") || !strings.Contains(err.Error(), node) || !strings.Contains(err.Error(), "Start libvirt there") {
		t.Errorf("%v does not name the machine, the sockets and the way out", err)
	}
	options.KnownHostsFile = filepath.Join(t.TempDir(), "empty")
	stranger, err := New("qemu+ssh://root@"+node+"/system?socket=/tmp/libvirt.sock", options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Networks(t.Context()); err == nil || !strings.Contains(err.Error(), "host key") || strings.Contains(err.Error(), "set host_key") {
		t.Errorf("an unknown host key was taken: %v", err)
	}
}
