package machine

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"reflect"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

const uuidOfTest = "6b0f5b0e-1111-4222-8333-444455556666"

// An interface on a network of OVN is bound to a port of the machine's own, and read as such; one that a person bound is not the machine's.
func TestAnInterfaceOnOVNIsBoundToItsPort(t *testing.T) {
	t.Parallel()
	const mac = "52:54:00:50:00:01"
	m := &Machine{Name: "a", UUID: uuidOfTest, Hardware: Hardware{Type: "qemu", Chipset: "q35"}}
	m.Interfaces = []Interface{{MAC: mac, Bridge: "br-int", Port: portName(uuidOfTest, mac), UserSpace: true, Model: "virtio"}}
	d, err := Render(m)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<virtualport type="openvswitch">`, `interfaceid="` + portName(uuidOfTest, mac) + `"`, `<host csum="off"`, `<source bridge="br-int"`} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(text, want) {
				t.Errorf("it is not in\n%s", text)
			}
		})
	}
	if got := Read(d).Interfaces[0]; !reflect.DeepEqual(got, m.Interfaces[0]) {
		t.Errorf("read is %+v", got)
	}
	byHand := &libvirtxml.Domain{}
	if err := byHand.Unmarshal(strings.Replace(text, portName(uuidOfTest, mac), "09b11c53-8b5c-4eeb-8f00-d84eaa0aaa4f", 1)); err != nil {
		t.Fatal(err)
	}
	if got := Read(byHand).Interfaces[0]; got.Port != "" || got.Bridge != "br-int" {
		t.Errorf("a person's is read as %+v", got)
	}
	// What a person bound stays so while the interface stays in its bridge.
	same := Read(byHand).Interfaces[0]
	if x := ChangeInterface(&byHand.Devices.Interfaces[0], &same); x.VirtualPort.Params.OpenVSwitch.InterfaceID != "09b11c53-8b5c-4eeb-8f00-d84eaa0aaa4f" {
		t.Errorf("a person's port became %+v", x.VirtualPort.Params.OpenVSwitch)
	}
}

func TestAPortHasWhatItsInterfaceHas(t *testing.T) {
	t.Parallel()
	i := InterfaceSpec{OVNNetwork: "ssh://root@10.0.0.1#network/nodes", MAC: "52:54:00:50:00:01", Hostname: "a", PortSecurity: true, AllowedAddresses: []string{"10.50.0.5"}}
	p, ok := i.networkPort(uuidOfTest, nil)
	if !ok || p.At != "ssh://root@10.0.0.1" || p.Network != "nodes" || p.Machine != uuidOfTest || !p.DHCP || !p.Secure || len(p.Addresses) != 0 {
		t.Errorf("the port is %+v, %v", p, ok)
	}
	if other, _ := i.networkPort("6b0f5b0e-1111-4222-8333-444455556667", nil); other.Name == p.Name {
		t.Error("two machines have one port")
	}
	if _, ok := (&InterfaceSpec{Network: "nodes"}).networkPort(uuidOfTest, nil); ok {
		t.Error("an interface of libvirt's has a port")
	}
}

// stoppedCentral is a machine whose databases are stopped.
type stoppedCentral struct{}

func (stoppedCentral) String() string { return "root@10.0.0.1" }
func (stoppedCentral) DialUnix(context.Context, string) (net.Conn, error) {
	return nil, fs.ErrNotExist
}
func (stoppedCentral) Read(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }

func TestAPortOfStoppedDatabasesProvesNothing(t *testing.T) {
	t.Parallel()
	find := func(context.Context, string) (*ovn.Northbound, error) {
		return ovn.NewNorthbound(stoppedCentral{}, nil), nil
	}
	was := InterfaceSpec{OVNNetwork: "ssh://root@10.0.0.1#network/nodes", MAC: "52:54:00:50:00:01"}
	i := was
	err := i.readPort(t.Context(), find, &was, MarkedInterface{}, portName(uuidOfTest, was.MAC))
	if unseen, is := errors.AsType[*service.UnseenError](err); !is || !strings.Contains(unseen.Why, "systemctl start ovn-central") {
		t.Errorf("%v", err)
	}
}
