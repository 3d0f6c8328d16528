package bridge_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// The scripts leave svc-1's eth1 to a network manager.
var managedBy = map[string]string{
	hostnet.Networkd: ":",
	hostnet.NetworkManager: `rm /etc/systemd/network/10-eth1.network; networkctl reload
printf '[connection]\nid=lan\nuuid=0ba2d1c0-6f0c-4d4e-a05f-8b7b8f6e1d11\ntype=ethernet\ninterface-name=eth1\n[ipv4]\nmethod=manual\naddress1=10.19.41.101/24\n[ipv6]\nmethod=disabled\n' >/etc/NetworkManager/system-connections/lan.nmconnection
chmod 600 /etc/NetworkManager/system-connections/lan.nmconnection
systemctl enable --now NetworkManager 2>/dev/null
until ip -br address show dev eth1 | grep -q 10.19.41.101; do sleep 0.1; done`,
	hostnet.Ifupdown: `rm /etc/systemd/network/10-eth1.network; networkctl reload; ip addr flush dev eth1
printf 'auto eth1\niface eth1 inet static\n  address 10.19.41.101/24\n' >/etc/network/interfaces.d/lan
systemctl enable networking 2>/dev/null
ifup eth1`,
}

// givenBack makes the machine what the sandbox made it.
const givenBack = `systemctl disable --now NetworkManager networking 2>/dev/null; rm -f /etc/NetworkManager/system-connections/lan.nmconnection /etc/network/interfaces.d/lan
cp /root/10-eth1.network /etc/systemd/network/; ip addr flush dev eth1; networkctl reload; networkctl reconfigure eth1`

// cutOff is a machine whose connection is lost, for good, as soon as its network was changed: as one of a provider that is killed.
type cutOff struct {
	host.Host
	gone bool
}

func (c *cutOff) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if c.gone {
		return nil, errors.New("killed")
	}
	out, err := c.Host.Run(ctx, cmd)
	c.gone = cmd.Name == "change the network"
	return out, err
}

func TestAccCutOffMachineGoesBackWhateverKeepsItsNetwork(t *testing.T) {
	acctest.InSandbox(t)
	endpoint := "ssh://root@" + acctest.ServiceNodes(t, 1)[0]
	acctest.On(t, "hypervisor", "sh", "-c", "ssh-keyscan -t ed25519 "+acctest.ServiceNodes(t, 1)[0]+" >>/root/.ssh/known_hosts")
	acctest.On(t, "svc-1", "cp", "/etc/systemd/network/10-eth1.network", "/root")
	f := fleet.New(fleet.Config{SSH: sshhost.Options{PrivateKeyFile: os.Getenv("SANDBOX_SSH_KEY")}})
	t.Cleanup(func() { _ = f.Close() })
	fresh := func(ctx context.Context) (host.Host, error) { return f.FreshHost(ctx, endpoint) }
	machine := func() host.Host {
		h, err := f.Host(t.Context(), endpoint)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	look := func() string {
		return acctest.On(t, "svc-1", "sh", "-c", `ip -br -4 address | sed 's/@if[0-9]*//' | awk '{ $1 = $1 } 1'; ip route; bridge link | sed 's/^[0-9]*: //; s/@if[0-9]*//'
find /etc/systemd/network /etc/NetworkManager/system-connections /etc/network -type f | sort | xargs md5sum; find /etc/systemd/system -name 'virtcluster*'; find /var/lib/virtcluster 2>/dev/null -type f || :`)
	}
	settles := func(t *testing.T, before string, within time.Duration) {
		t.Helper()
		deadline := time.Now().Add(within)
		for look() != before {
			if time.Now().After(deadline) {
				t.Fatalf("after %s the machine has\n%s\nbefore:\n%s", within, look(), before)
			}
			time.Sleep(300 * time.Millisecond)
		}
	}
	inherited := bridge.Bridge{Name: "accbr0", Interfaces: []string{"eth1"}, Inherit: true, Backend: hostnet.Auto, RollbackTimeout: 10 * time.Second}
	listed := inherited
	listed.Inherit, listed.Addresses = false, []netip.Prefix{netip.MustParsePrefix("10.19.41.181/24")}
	for backend, script := range managedBy {
		t.Run(backend, func(t *testing.T) {
			acctest.On(t, "svc-1", "sh", "-c", script)
			claim := owner.New()
			open := func(h host.Host, fresh func(context.Context) (host.Host, error)) *bridge.Store {
				return bridge.Open(hostnet.Site{Host: h, Fresh: fresh}, "accbr0", "accbr0", claim)
			}
			changes := []struct {
				name string
				run  func(s *bridge.Store) error
			}{
				{"create", func(s *bridge.Store) error { _, err := s.Create(t.Context(), inherited); return err }},
				{"update", func(s *bridge.Store) error { _, err := s.Update(t.Context(), inherited, listed); return err }},
				{"delete", func(s *bridge.Store) error { return s.Delete(t.Context()) }},
			}
			for _, change := range changes {
				t.Run(change.name, func(t *testing.T) {
					before := look()
					refused := func(context.Context) (host.Host, error) { return nil, errors.New("connection refused") }
					if err := change.run(open(machine(), refused)); err == nil || !strings.Contains(err.Error(), "what it had before") {
						t.Fatalf("without a new connection: %v", err)
					}
					settles(t, before, 3*time.Second)
					lost := &cutOff{Host: machine()}
					if err := change.run(open(lost, func(context.Context) (host.Host, error) { return lost, nil })); err == nil || !strings.Contains(err.Error(), "by itself") {
						t.Fatalf("killed: %v", err)
					}
					settles(t, before, 20*time.Second)
					lost = &cutOff{Host: machine()}
					restarts := func(context.Context) (host.Host, error) {
						acctest.Reboot(t, "svc-1")
						return nil, errors.New("connection reset")
					}
					if err := change.run(open(lost, restarts)); err == nil {
						t.Fatal("a machine that starts again in between is taken for changed")
					}
					settles(t, before, 5*time.Second)
					if err := change.run(open(machine(), fresh)); err != nil {
						t.Fatalf("and then: %v", err)
					}
				})
			}
			acctest.On(t, "svc-1", "sh", "-c", givenBack)
		})
	}
}
