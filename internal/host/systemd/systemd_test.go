package systemd

import (
	"errors"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestOnlyAProvenAnswerSaysThatADaemonIsDown(t *testing.T) {
	for _, c := range []struct {
		answer string
		status int
		up     bool
		fails  bool
	}{
		{answer: "active\n", up: true},
		{answer: "reloading\n", up: true},
		{answer: "activating\n", up: true},
		{answer: "deactivating\n", up: true},
		{answer: "inactive\n"}, // what a unit that is not found is, too
		{answer: "failed\n"},
		{answer: "", fails: true},
		{answer: "sleeping\n", fails: true},
		{answer: "Failed to get properties: Connection timed out\n", status: 1, fails: true},
		{answer: "systemctl: not found\n", status: 127, fails: true},
		{answer: "", status: 137, fails: true},
	} {
		t.Run(c.answer, func(t *testing.T) {
			h := hosttest.New()
			h.On(hosttest.Answer(c.answer, c.status, ""), "systemctl", "show")
			up, err := Running(t.Context(), h, "named.service")
			if up != c.up || (err != nil) != c.fails {
				t.Errorf("%q, status %d: up %t, %v", c.answer, c.status, up, err)
			}
		})
	}
	h := hosttest.New()
	h.Fail(hosttest.Run, 1, host.ErrCut)
	if _, err := Running(t.Context(), h, "named.service"); !errors.Is(err, host.ErrCut) {
		t.Errorf("a connection that broke: %v", err)
	}
}
