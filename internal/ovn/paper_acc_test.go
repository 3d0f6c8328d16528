package ovn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// many is how many ports there are in the database that nobody follows.
const many = 10_000

// portOf is one of many ports, as a machine's interface has it.
func portOf(number int) ovn.GuestPort {
	return ovn.GuestPort{
		Name: fmt.Sprintf("%08x-0000-4000-8000-000000000000", number), Machine: "ffffffff-0000-4000-8000-000000000000", Network: "big", MAC: macOf(number),
		Addresses: []netip.Addr{addressOf(number)}, DHCP: true, Secure: true, Groups: []string{"all"},
	}
}

func macOf(number int) string {
	return fmt.Sprintf("02:00:00:%02x:%02x:%02x", number>>16&255, number>>8&255, number&255)
}

// addressOf is the address of a port in 10.60.0.0/16; the first ones are the network's own.
func addressOf(number int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 60, byte((number + 256) >> 8), byte(number)})
}

// insertAll is one transaction that makes ports from one number on to another in a network, a group of their own beside them, by their UUIDs.
func insertAll(network, dhcp, group, mark string, from, to int) []any {
	operations, ports := []any{"OVN_Northbound"}, []any{}
	for number := from; number < to; number++ {
		p := portOf(number)
		name := fmt.Sprintf("row%d", number)
		ports = append(ports, []any{"named-uuid", name})
		operations = append(operations, map[string]any{"op": "insert", "table": "Logical_Switch_Port", "uuid-name": name, "row": map[string]any{
			"name": p.Name, "addresses": p.MAC + " " + p.Addresses[0].String(), "port_security": p.MAC + " " + p.Addresses[0].String(), "dhcpv4_options": []any{"uuid", dhcp},
			"external_ids": []any{"map", []any{[]any{"virtcluster", mark}, []any{"virtcluster-machine", p.Machine}, []any{"virtcluster-network", "big"}, []any{"virtcluster-dhcp", "yes"}}},
		}})
	}
	add := func(table, uuid string) {
		operations = append(operations, map[string]any{
			"op": "mutate", "table": table, "where": []any{[]any{"_uuid", "==", []any{"uuid", uuid}}}, "mutations": []any{[]any{"ports", "insert", []any{"set", ports}}},
		})
	}
	add("Logical_Switch", network)
	add("Port_Group", group)
	return operations
}

// transact has a machine's northbound database make a transaction (RFC 7047, 4.1.3), which none of the provider's own ways does so many rows by.
func transact(t *testing.T, at machine, operations []any) {
	t.Helper()
	c, err := at.DialUnix(t.Context(), ovn.NorthDB.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(map[string]any{"id": 1, "method": "transact", "params": operations}); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result []struct {
			Error   string `json:"error"`
			Details string `json:"details"`
		} `json:"result"`
		Error any `json:"error"`
	}
	if err := json.NewDecoder(c).Decode(&answer); err != nil || answer.Error != nil {
		t.Fatalf("%v: %v", err, answer.Error)
	}
	for _, r := range answer.Result {
		if r.Error != "" {
			t.Fatalf("%s: %s", r.Error, r.Details)
		}
	}
}

// TestAccOVNTenThousandPorts says what ports cost where there are many: each is read by itself, and one is changed and one made beside all the
// others. The limits are for what would grow with the square of their number; `make bench` shows the figures.
func TestAccOVNTenThousandPorts(t *testing.T) {
	acctest.InSandbox(t)
	at, n, _ := openCentral(t)
	acctest.On(t, "hv-1", "systemctl", "kill", "--signal=STOP", "ovn-northd") // nobody follows
	t.Cleanup(func() {
		if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-1", "systemctl", "kill", "--signal=CONT", "ovn-northd"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	measureTenThousandPorts(t, at, n)
}

func measureTenThousandPorts(t *testing.T, at machine, n *ovn.Northbound) {
	t.Helper()
	claim := owner.BeginRun().New().Finished()
	network := ovn.OpenStore(n, ovn.NewNetwork("big"), "big", claim)
	if _, err := network.Create(t.Context(), ovn.Network{Name: "big", Mode: ovn.Translated, CIDR: netip.MustParsePrefix("10.60.0.0/16"), DHCP: &ovn.DHCP{LeaseSeconds: 600}}); err != nil {
		t.Fatal(err)
	}
	group := ovn.OpenStore(n, ovn.NewSecurityGroup("all"), "all", claim)
	if _, err := group.Create(t.Context(), ovn.SecurityGroup{Name: "all"}); err != nil {
		t.Fatal(err)
	}
	on, err := ovn.Row(t.Context(), n.North, ovn.All[ovn.Switch])
	told, err2 := ovn.Row(t.Context(), n.North, ovn.All[ovn.DHCPOptions])
	in, err3 := ovn.Row(t.Context(), n.North, ovn.All[ovn.PortGroup])
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < many; from += 1000 {
		transact(t, at, insertAll(on.UUID, told.UUID, in.UUID, claim.Mark().String(), from, from+1000))
	}
	n.Close()
	measure := func(name string, limit time.Duration, what func() error) {
		t.Helper()
		start := time.Now()
		if err := what(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		took := time.Since(start)
		t.Logf("figure: %s: %.3f s", name, took.Seconds())
		if took > limit {
			t.Errorf("%s took %s, and %s at most are wanted", name, took, limit)
		}
	}
	port := func(number int) *ovn.Store[ovn.GuestPort] {
		return ovn.OpenStore(n, ovn.NewPort(portOf(number).Name), "port", claim)
	}
	measure("connect", 30*time.Second, func() error { _, err := port(0).Get(t.Context()); return err })
	measure("refresh", 15*time.Second, func() error {
		for number := range many {
			got, err := port(number).Get(t.Context())
			if err != nil {
				return err
			}
			if got.Addresses[0] != addressOf(number) || len(got.Groups) != 1 || !got.Secure {
				return fmt.Errorf("port %d reads as %+v", number, got)
			}
		}
		return nil
	})
	measure("change", 2*time.Second, func() error {
		want := portOf(7)
		want.Groups = nil
		_, err := port(7).Update(t.Context(), portOf(7), want)
		return err
	})
	measure("create", 2*time.Second, func() error { _, err := port(many).Create(t.Context(), portOf(many)); return err })
}
