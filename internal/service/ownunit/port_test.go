package ownunit

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestAPortThatIsTakenIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ seen, says string }{
		"nobody":            {"", ""},
		"another address":   {"tcp 127.0.0.1:5000 users:((\"x\",pid=1,fd=2))\n", ""},
		"every address":     {"tcp *:5000 users:((\"nginx\",pid=1,fd=2))\n", "nginx on"},
		"the same address":  {"tcp 10.0.0.1:5000 users:((\"nginx\",pid=1,fd=2))\n", "listens at 10.0.0.1:5000"},
		"every one of IPv6": {"tcp [::]:5000 users:((\"nginx\",pid=1,fd=2))\n", "nginx on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hosttest.New()
			h.On(hosttest.Answer(c.seen, 0, ""), "sh", "-c")
			err := toy.CheckPort(t.Context(), h, "a", []any{"port"}, netip.MustParseAddr("10.0.0.1"), 5000)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// TestTheUnitsOwnSocketIsNobodyElses runs units.sh.
func TestTheUnitsOwnSocketIsNobodyElses(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: script, Args: []string{"listeners", "t@a.service", "5000"}, Programs: map[string]string{
		"systemctl": "echo 7", "ss": `echo 'LISTEN 0 9 *:5000 *:* users:(("own",pid=7,fd=2))'; echo 'LISTEN 0 9 *:5000 *:* users:(("other",pid=77,fd=2))'`,
	}}.Run(t)
	if end.Status != 0 || end.Stdout != "tcp *:5000 users:((\"other\",pid=77,fd=2))\n" {
		t.Errorf("%+v", end)
	}
}

// TestWhatAScriptPrintedIsRead reads lines of several words.
func TestWhatAScriptPrintedIsRead(t *testing.T) {
	t.Parallel()
	look := ParseLook("address 10.0.0.1/24\naddress nonsense\ntcp 10.0.0.1%eth0:69 users:((\"a\",pid=1,fd=2))\ntcp *:69\naddress 127.0.0.1/8\ninterface eth0\ndeaf\n")
	if own := look.Addresses(); !slices.Equal(own, []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1")}) {
		t.Errorf("the addresses are %v", own)
	}
	if got := look.Listeners("tcp"); !slices.Equal(got, []Listener{{"a", "10.0.0.1%eth0:69"}, {"something", "*:69"}}) {
		t.Errorf("who listens is %+v", got)
	}
	if _, deaf := look["deaf"]; !deaf || !slices.Equal(look["interface"], []string{"eth0"}) {
		t.Errorf("it is %v", look)
	}
}

// TestWhatAListenerTakes compares addresses with sockets, as ss tells them.
func TestWhatAListenerTakes(t *testing.T) {
	t.Parallel()
	for socket, takes := range map[string]bool{
		"0.0.0.0:69": true, "*:69": true, "[::]:69": true, "10.0.0.1:69": true, "10.0.0.1%eth0:69": true, "10.0.0.2:69": false, "[::1]:69": false,
	} {
		t.Run(socket, func(t *testing.T) {
			t.Parallel()
			if (Listener{Socket: socket}).Takes(netip.MustParseAddr("10.0.0.1")) != takes {
				t.Errorf("want %t", takes)
			}
			if !(Listener{Socket: socket}).Takes(netip.Addr{}) {
				t.Error("it does not take what comes to every address")
			}
		})
	}
}
