package ownunit

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestAPortThatIsTakenIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ seen, says string }{
		"nobody":            {"", ""},
		"another address":   {"LISTEN 0 9 127.0.0.1:5000 0.0.0.0:* users:((\"x\",pid=1,fd=2))\n", ""},
		"every address":     {"LISTEN 0 9 *:5000 *:* users:((\"nginx\",pid=1,fd=2))\n", "nginx on"},
		"the same address":  {"LISTEN 0 9 10.0.0.1:5000 0.0.0.0:* users:((\"nginx\",pid=1,fd=2))\n", "listens at 10.0.0.1:5000"},
		"every one of IPv6": {"LISTEN 0 9 [::]:5000 [::]:* users:((\"nginx\",pid=1,fd=2))\n", "nginx on"},
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
	if end.Status != 0 || !strings.Contains(end.Stdout, "other") || strings.Contains(end.Stdout, "own") {
		t.Errorf("%+v", end)
	}
}
