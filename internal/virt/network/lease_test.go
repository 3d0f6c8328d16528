package network

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

const reserved = `<network><name>n</name><bridge name='br0'/><ip address='10.0.0.1' prefix='24'><dhcp>
<host mac='52:54:00:00:00:01' name='one' ip='10.0.0.11'/>
<host mac='52:54:00:00:00:02' name='own' ip='10.0.0.12'><lease expiry='5' unit='minutes'/></host>
<host mac='52:54:00:00:00:03' name='twin' ip='10.0.0.13'/><host mac='52:54:00:00:00:04' name='twin' ip='10.0.0.14'/></dhcp></ip>
<ip family='ipv6' address='fd00::1' prefix='64'><dhcp><host name='one' ip='fd00::11'/></dhcp></ip></network>`

var hostLease = regexp.MustCompile(`(?s)ip="([^"]*)"(?:/|>\s*<lease expiry="(\d+)" unit="(\w+)"/>)`)

// leases lists the reservations with their lease times.
func leases(xml string) string {
	var all []string
	for _, m := range hostLease.FindAllStringSubmatch(xml, -1) {
		all = append(all, strings.TrimSuffix(m[1]+" "+m[2]+m[3][:min(1, len(m[3]))], " "))
	}
	return strings.Join(all, ", ")
}

func TestReservationsFollowTheLeaseTimeWhereNoRangeHasIt(t *testing.T) {
	v4 := []Range{span("10.0.0.200", "10.0.0.210")}
	definition, was := reserved, Definition{}
	for _, c := range []struct {
		dhcp  *DHCP
		want  string
		edits int
	}{
		{&DHCP{LeaseSeconds: seconds(600)}, "10.0.0.11 600s, 10.0.0.12 5m, 10.0.0.13 600s, 10.0.0.14 600s, fd00::11 600s", 2},
		{&DHCP{LeaseSeconds: seconds(700)}, "10.0.0.11 700s, 10.0.0.12 5m, 10.0.0.13 700s, 10.0.0.14 700s, fd00::11 700s", 2},
		{&DHCP{LeaseSeconds: seconds(700), Options: map[string]string{"42": "10.0.0.1"}}, "10.0.0.11 700s, 10.0.0.12 5m, 10.0.0.13 700s, 10.0.0.14 700s, fd00::11 700s", 0},
		{&DHCP{LeaseSeconds: seconds(700), Ranges: v4}, "10.0.0.11, 10.0.0.12 5m, 10.0.0.13, 10.0.0.14, fd00::11 700s", 1 + 1},
		{&DHCP{LeaseSeconds: seconds(0)}, "10.0.0.11 0s, 10.0.0.12 5m, 10.0.0.13 0s, 10.0.0.14 0s, fd00::11 0s", 1 + 2},
		{&DHCP{}, "10.0.0.11, 10.0.0.12 5m, 10.0.0.13, 10.0.0.14, fd00::11", 2},
		{&DHCP{LeaseSeconds: seconds(600)}, "10.0.0.11 600s, 10.0.0.12 5m, 10.0.0.13 600s, 10.0.0.14 600s, fd00::11 600s", 2},
		{nil, "10.0.0.11, 10.0.0.12 5m, 10.0.0.13, 10.0.0.14, fd00::11", 2},
	} {
		t.Run(c.want, func(t *testing.T) {
			want := Definition{Name: "n", Mode: Isolated, Bridge: "br0", Subnet: cidr("10.0.0.0/24"), Subnet6: cidr("fd00::/64"), DHCP: c.dhcp}
			edits, err := ListEdits(definition, nil, was, want)
			if err != nil || len(edits) != c.edits {
				t.Errorf("%+v: edits %+v, %v", c.dhcp, edits, err)
			}
			for _, e := range edits {
				if e.Section == hypervisor.SectionDHCPHost && e.Command != hypervisor.EditModify {
					t.Errorf("%+v", e)
				}
			}
			if definition, err = want.Render(definition); err != nil {
				t.Fatal(err)
			}
			if got := leases(definition); got != c.want {
				t.Errorf("%+v: %s instead of %s", c.dhcp, got, c.want)
			}
			got, err := Parse(definition)
			if err != nil || !Equal(got, want) {
				t.Errorf("%+v is read back as %+v, %v from\n%s", want.DHCP, got.DHCP, err, definition)
			}
			if read := ReadLeaseSeconds(definition); !sameLease(read, c.dhcp.leaseSeconds()) {
				t.Errorf("the lease time of %+v is read as %v", c.dhcp, read)
			}
			if again, err := ListEdits(definition, nil, want, want); err != nil || len(again) != 0 {
				t.Errorf("%+v: %+v, %v once it is so", c.dhcp, again, err)
			}
			was = want
		})
	}
}

// What runs cannot be given the note, which is no drift.
func TestALeaseTimeWithoutRangesIsTheConfigurations(t *testing.T) {
	options := map[string]string{"42": "10.0.0.1"}
	for _, dhcp := range []*DHCP{nil, {}, {LeaseSeconds: seconds(600)}, {LeaseSeconds: seconds(600), Options: options}, {Options: options}} {
		t.Run(fmt.Sprint(dhcp), func(t *testing.T) {
			config := Definition{Name: "n", DHCP: dhcp}
			live := Definition{Name: "n"}
			if dhcp != nil && dhcp.Options != nil {
				live.DHCP = &DHCP{Options: options}
			}
			if got := AlignRunning(live, config); !Equal(got, config) {
				t.Errorf("%s is seen as %s", fmt.Sprint(config.DHCP), fmt.Sprint(got.DHCP))
			}
			if was := (Definition{Name: "n", DHCP: &DHCP{LeaseSeconds: seconds(7), Options: options}}); !NeedsDefinition(was, config) {
				t.Errorf("%+v needs no definition", dhcp)
			}
		})
	}
}

func TestARangeWithoutALeaseTimeGetsNoneWithAnotherChange(t *testing.T) {
	const byHand = `<network><name>n</name><bridge name='br0'/><ip address='10.0.0.1' prefix='24'><dhcp>
<range start='10.0.0.10' end='10.0.0.20'><lease expiry='10' unit='minutes'/></range><range start='10.0.0.30' end='10.0.0.40'/></dhcp></ip></network>`
	was, err := Parse(byHand)
	if err != nil {
		t.Fatal(err)
	}
	want := was
	want.Domain = "a.example"
	xml, err := want.Render(byHand)
	if err != nil || strings.Count(xml, "<lease") != 1 || !strings.Contains(xml, `unit="minutes"`) {
		t.Errorf("%v: the ranges' lease times changed:\n%s", err, xml)
	}
	if edits, err := ListEdits(byHand, nil, was, want); err != nil || len(edits) != 0 {
		t.Errorf("the ranges are edited: %v, %v", edits, err)
	}
	longer := was
	longer.DHCP = &DHCP{Ranges: was.DHCP.Ranges, LeaseSeconds: seconds(7200)}
	edits, err := ListEdits(byHand, nil, was, longer)
	if err != nil || len(edits) != 2 || !strings.Contains(edits[1].XML, "7200") || strings.Contains(edits[0].XML+edits[1].XML, "10.0.0.30") {
		t.Errorf("the network's lease time leads to %v, %v", edits, err)
	}
}
