package bmc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccBMCPlanRefusesWhatCannotBe has the plan say what only the hypervisors and their machines know.
func TestAccBMCPlanRefusesWhatCannotBe(t *testing.T) {
	s := newStage(t)
	s.domain("w1", drive)
	before := s.left()
	state := acctest.NewState(t)
	refused := func(config string, words ...string) {
		t.Helper()
		state.Write(config)
		state.Refused(words, "plan")
	}
	// libvirt's test driver is a hypervisor of its own, which has one machine.
	elsewhere := strings.Replace(s.config("nodes = { test = { port = 8001 } }"), "\n  ssh ", "\n  hypervisors = { other = { uri = \"test:///default\" } }\n  ssh ", 1)
	refused(elsewhere, "Node of another hypervisor", `node "test" is on hypervisor "other"`)
	refused(s.config("nodes = { w1 = { port = 22 } }"), "22")
	acctest.On(t, s.machine, "sh", "-ec", `printf '#!/bin/sh\n[ "$1" = -m ] && echo riscv64 || echo Linux\n' >/usr/local/bin/uname && chmod +x /usr/local/bin/uname`)
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), s.machine, "rm", "-f", "/usr/local/bin/uname") })
	refused(s.config("nodes = { w1 = { port = 8001 } }"), "No program for the hypervisor's machine", "riscv64", "binary = { source, checksum }")
	if after := s.left(); after != before {
		t.Errorf("a plan left\n%s\nbefore\n%s", after, before)
	}
}
