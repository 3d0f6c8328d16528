package bmc_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kdomanski/iso9660"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const (
	password = "correct-horse"
	// hypervisorAddress is the sandbox's hypervisor on the service nodes' network.
	hypervisorAddress = "10.0.100.254"
)

// stage is a hypervisor whose machine is a service node: libvirt's socket there is the sandbox's, by way of its network.
type stage struct {
	t *testing.T
	// machine is its name in the sandbox, and address where it is.
	machine, address string
	dir              string
}

// newStage makes svc-1 a hypervisor's machine, until the test ends.
func newStage(t *testing.T) *stage {
	t.Helper()
	acctest.InSandbox(t)
	s := &stage{t: t, machine: "svc-1", address: acctest.KnownServiceNodes(t, 1)[0], dir: t.TempDir()}
	acctest.StopDaemons(t, s.machine)
	acctest.OfferLibvirt(t, s.machine)
	return s
}

// left prints what controllers could leave on the machine.
func (s *stage) left() string {
	s.t.Helper()
	return acctest.On(s.t, s.machine, "sh", "-c", `ls -d /etc/virtcluster /var/lib/virtcluster-bmc* /usr/local/libexec/virtcluster* /etc/systemd/system/virtcluster-bmc* 2>/dev/null
getent passwd | grep vc-bmc; getent group | grep vc-bmc; systemctl list-units --all --no-legend 'virtcluster-bmc*'; ss -Hltun | awk '{ print $1, $5 }' | sort; exit 0`)
}

// pool makes the pool "default", until the test ends.
func (s *stage) pool() {
	s.t.Helper()
	if _, err := acctest.Try(s.t.Context(), "hypervisor", "virsh", "pool-info", "default"); err != nil {
		acctest.Virsh(s.t, "pool-define-as", "default", "dir", "--target", "/var/lib/libvirt/images")
		acctest.Virsh(s.t, "pool-start", "default")
		s.t.Cleanup(func() {
			_, _ = acctest.Try(context.Background(), "hypervisor", "sh", "-c", "virsh pool-destroy default; virsh pool-undefine default")
		})
	}
}

// domain defines a machine that boots from a small disk, and writes what its firmware says to a file; it has a drive for media and a
// network interface. It goes with the test.
func (s *stage) domain(name, more string) (log string) {
	s.t.Helper()
	disk := filepath.Join("/var/lib/libvirt/images", name+".qcow2")
	log = filepath.Join("/var/log/libvirt", name+".log")
	acctest.Run(s.t, "qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", os.Getenv("SANDBOX_TINY_IMAGE"), disk)
	s.pool()
	acctest.Virsh(s.t, "pool-refresh", "default")
	// SeaBIOS shows on the serial port what it shows on a screen: this file says which port.
	port := filepath.Join(s.dir, "sercon-port")
	if err := os.WriteFile(port, []byte{0xf8, 0x03}, 0o600); err != nil {
		s.t.Fatal(err)
	}
	xml := filepath.Join(s.dir, name+".xml")
	if err := os.WriteFile(xml, fmt.Appendf(nil, `<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>%[1]s</name><memory unit='GiB'>1</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type><boot dev='hd'/></os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%[2]s'/><target dev='vda' bus='virtio'/></disk>
    %[4]s
    <interface type='user'><mac address='52:54:00:77:00:01'/><model type='virtio'/></interface>
    <serial type='pty'><log file='%[3]s' append='off'/></serial><console type='pty'/>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
  </devices>
  <qemu:commandline><qemu:arg value='-fw_cfg'/><qemu:arg value='name=etc/sercon-port,file=%[5]s'/></qemu:commandline>
</domain>`, name, disk, log, more, port), 0o600); err != nil {
		s.t.Fatal(err)
	}
	acctest.Virsh(s.t, "define", xml)
	s.t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "hypervisor", "sh", "-c", "virsh destroy \"$1\"; virsh undefine \"$1\"; rm -f \"$2\" \"$3\"", "sh", name, disk, log)
	})
	return log
}

// drive is the XML of a drive for media.
const drive = "<disk type='file' device='cdrom'><target dev='sda' bus='sata'/><readonly/><alias name='ua-media'/></disk>"

// config is a configuration with controllers.
func (s *stage) config(more string) string {
	return fmt.Sprintf(`provider "virtcluster" {
  uri = "qemu+ssh://root@%[1]s/system"
  ssh = { private_key_file = %[2]q }
}

resource "virtcluster_bmc" "it" {
  name                = "rack"
  password_wo         = %[3]q
  password_wo_version = 1
  address             = %[1]q
%[4]s
}
`, s.address, os.Getenv("SANDBOX_SSH_KEY"), password, more)
}

// iso serves an image of a disc, and returns its URL.
func (s *stage) iso() string {
	s.t.Helper()
	w, err := iso9660.NewWriter()
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = w.Cleanup() }()
	if err := w.AddFile(strings.NewReader("hello\n"), "HELLO.TXT"); err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.dir, "disc.iso")
	f, err := os.Create(file)
	if err == nil {
		err = w.WriteTo(f, "DISC")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return s.serve() + "/disc.iso"
}

// serve serves the stage's directory by HTTP, and returns its URL.
func (s *stage) serve() string {
	s.t.Helper()
	l, err := net.Listen("tcp", hypervisorAddress+":0")
	if err != nil {
		s.t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.FileServer(http.Dir(s.dir))}}
	server.Start()
	s.t.Cleanup(server.Close)
	return server.URL
}
