package hostnet

import (
	"strings"
	"testing"
)

func TestNeighboursThatAreWrittenDownMove(t *testing.T) {
	all, are := parseNeighbours(`neighbours [{"dst":"10.19.41.7","dev":"eth1","lladdr":"02:00:00:00:00:07","state":["PERMANENT"]},{"dst":"fd00::7","dev":"eth0","lladdr":"02:00:00:00:00:08","state":["PERMANENT"]},{"dst":"10.9.9.9","dev":"eth1","state":["PERMANENT"]}]` + "\n")
	if !are || len(all) != 3 {
		t.Fatalf("read %v", all)
	}
	if none, are := parseNeighbours("neighbours \n"); !are || len(none) != 0 {
		t.Errorf("of an ip that knows no JSON: %v", none)
	}
	do, undo := Machine{Neighbours: all}.moveNeighbours("eth1", "br0")
	if do != "ip neigh replace 10.19.41.7 lladdr 02:00:00:00:00:07 nud permanent dev br0 || :\nip neigh del 10.19.41.7 dev eth1 2>/dev/null || :\n" ||
		undo != "ip neigh replace 10.19.41.7 lladdr 02:00:00:00:00:07 nud permanent dev eth1 || :\n" {
		t.Errorf("do:\n%sundo:\n%s", do, undo)
	}
	if do, _ := (Machine{Neighbours: all}).moveNeighbours("eth1", "eth1"); strings.Contains(do, "del") || !strings.Contains(do, "dev eth1") {
		t.Errorf("of one that stays:\n%s", do)
	}
}

// A further address has a stanza of its own, by a name of its own.
func TestStanzasOfFurtherAddressesGoWithTheDevice(t *testing.T) {
	const text = "auto eth1 eth1:1 eth10\nauto eth1:2\niface eth1 inet static\n  address 10.0.0.1/24\niface eth1:1 inet static\n  address 10.0.0.2/24\niface eth1:2 inet static\n  address 10.0.0.3/24\niface eth10 inet dhcp\n"
	out := commentOut(text, "eth1")
	var counts []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "#") {
			counts = append(counts, line)
		}
	}
	if got := strings.Join(counts, ""); got != "auto eth10\niface eth10 inet dhcp\n" {
		t.Errorf("what still counts is\n%s", got)
	}
	if back := bringBack(out, "eth1"); back != text {
		t.Errorf("came back as\n%s", back)
	}
	if script := (ifupdown{}).Switch(Desired{Devices: []Device{{Name: "eth1", Before: DeviceSnapshot{Manager: Manager{Backend: Ifupdown}}}}}, Desired{}); !strings.Contains(script, "bring_up_again eth1\n") {
		t.Errorf("they are not brought up again:\n%s", script)
	}
}
