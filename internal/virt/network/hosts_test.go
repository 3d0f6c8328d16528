package network

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// listing is a network with two reservations of its own, one that a resource made and one that a person did.
func listing(t *testing.T) (xml string, was Definition) {
	t.Helper()
	was = full()
	was.DHCP.Hosts = map[string]Host{"52:54:00:00:00:01": {IP: ip("10.0.0.11"), Name: "one"}, "52:54:00:00:00:02": {IP: ip("10.0.0.12")}}
	xml, err := was.Render("")
	if err != nil {
		t.Fatal(err)
	}
	xml = strings.Replace(xml, "<bootp", `<host mac="52:54:00:00:00:08" ip="10.0.0.18"/><host mac="52:54:00:00:00:09" ip="10.0.0.19"/><bootp`, 1)
	root, err := parseXML(xml)
	if err != nil {
		t.Fatal(err)
	}
	marks := readHostMarks(root)
	marks["mac 52:54:00:00:00:08"] = hostMark{Mark: owner.Mark{ID: "resource", Workspace: "here"}}
	writeHostMarks(root, marks)
	return renderXML(root), was
}

func TestListedReservationsAreReadWithoutThoseOfOthers(t *testing.T) {
	xml, was := listing(t)
	got, err := Parse(xml)
	if err != nil || !Equal(got, was) {
		t.Errorf("%+v, %v", got.DHCP, err)
	}
	once, err := got.Render(xml)
	if err != nil || strings.Count(once, "<host mac=") != 4 {
		t.Errorf("%v: reservations are lost:\n%s", err, once)
	}
	if again, err := got.Render(once); err != nil || again != once {
		t.Errorf("%v: rendering what is there changes\n%s\nto\n%s", err, once, again)
	}
}

func TestChangesOfTheListLeaveOthersReservationsAlone(t *testing.T) {
	xml, was := listing(t)
	marks, err := parseHostMarks(xml)
	if err != nil {
		t.Fatal(err)
	}
	host := func(last, name string) Host { return Host{IP: ip("10.0.0." + last), Name: name} }
	const one, two, theirs, persons, fresh = "52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:08", "52:54:00:00:00:09", "52:54:00:00:00:0a"
	for name, c := range map[string]struct {
		hosts map[string]Host
		edits string // command and last byte of the address, in order
		err   string
	}{
		"nothing":                      {was.DHCP.Hosts, "", ""},
		"one goes":                     {map[string]Host{two: host("12", "")}, "delete 11", ""},
		"one comes":                    {map[string]Host{one: host("11", "one"), two: host("12", ""), fresh: host("13", "")}, "add 13", ""},
		"one gets another address":     {map[string]Host{one: host("13", "one"), two: host("12", "")}, "modify 13", ""},
		"two change places":            {map[string]Host{one: host("12", "one"), two: host("11", "")}, "delete 11, delete 12, add 12, add 11", ""},
		"what others have is listed":   {map[string]Host{one: host("11", "one"), two: host("12", ""), theirs: host("18", ""), persons: host("19", "")}, "", ""},
		"a resource's elsewhere":       {map[string]Host{one: host("11", "one"), two: host("12", ""), theirs: host("13", "")}, "", "keeps 10.0.0.18 for " + theirs},
		"a person's address":           {map[string]Host{one: host("11", "one"), two: host("12", ""), fresh: host("19", "")}, "", "keeps 10.0.0.19 for " + persons},
		"an address that another left": {map[string]Host{two: host("11", "")}, "delete 11, delete 12, add 11", ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := full()
			want.DHCP.Hosts = c.hosts
			edits, err := ListEdits(xml, marks, was, want)
			if c.err != "" {
				if _, rendered := want.Render(xml); err == nil || !strings.Contains(err.Error(), c.err) || rendered == nil {
					t.Errorf("%s: %v, %v", name, err, rendered)
				}
				return
			}
			var got []string
			for _, e := range edits {
				_, address, _ := strings.Cut(e.XML, `ip="10.0.0.`)
				got = append(got, string(e.Command)+" "+address[:2])
			}
			if err != nil || strings.Join(got, ", ") != c.edits {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			rendered, err := want.Render(xml)
			if err != nil || !strings.Contains(rendered, `mac="`+theirs+`" ip="10.0.0.18"`) || !strings.Contains(rendered, `mac="`+persons+`" ip="10.0.0.19"`) {
				t.Errorf("%s: others' reservations are gone, %v:\n%s", name, err, rendered)
			}
			if back, err := Parse(rendered); err != nil || !Equal(back, want) {
				t.Errorf("%s: parsed %+v, %v", name, back.DHCP, err)
			}
		})
	}
}

func TestWhatOthersHadBeforeTheListStaysWhenItIsStruckOut(t *testing.T) {
	xml, was := listing(t)
	listed := full()
	listed.DHCP.Hosts = map[string]Host{"52:54:00:00:00:08": {IP: ip("10.0.0.18")}, "52:54:00:00:00:09": {IP: ip("10.0.0.19")}}
	for mac, h := range was.DHCP.Hosts {
		listed.DHCP.Hosts[mac] = h
	}
	with, err := listed.Render(xml)
	if err != nil {
		t.Fatal(err)
	}
	marks, err := parseHostMarks(with)
	if err != nil || !marks["mac 52:54:00:00:00:09"].Before || marks["mac 52:54:00:00:00:08"].ID != "resource" {
		t.Errorf("%v, %v", marks, err)
	}
	without := full()
	edits, err := ListEdits(with, marks, listed, without)
	if err != nil || len(edits) != 2 || edits[0].Command != hypervisor.EditDelete || strings.Contains(edits[0].XML+edits[1].XML, "10.0.0.18") || strings.Contains(edits[0].XML+edits[1].XML, "10.0.0.19") {
		t.Errorf("%+v, %v", edits, err)
	}
	again, err := without.Render(with)
	if marks, e := parseHostMarks(again); err != nil || e != nil || len(marks) != 1 || marks["mac 52:54:00:00:00:08"].Listed {
		t.Errorf("%v, %v, %v", marks, err, e)
	}
}

func TestAPersonsReservationMakesNoRoomForTheList(t *testing.T) {
	const left, fresh = "52:54:00:00:00:01", "52:54:00:00:00:02"
	present := []hypervisor.DHCPHost{{MAC: left, IP: ip("10.0.0.11")}}
	for name, c := range map[string]struct {
		want map[string]Host
	}{
		"a person's address for another machine": {map[string]Host{fresh: {IP: ip("10.0.0.11")}}},
		"another address for a person's machine": {map[string]Host{left: {IP: ip("10.0.0.12")}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := compareHosts(present, hostMarks{}, nil, c.want); err == nil {
				t.Errorf("it is not refused: %+v", got)
			}
		})
	}
}
