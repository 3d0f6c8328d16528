package engine

import (
	"maps"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestWhatAMachineHadBeforeIsNoted(t *testing.T) {
	t.Parallel()
	seen := chassisSeen{host: hosttest.New(), settings: map[string]string{mappingsKey: `other:br-ex`, idKey: "97cd", "persons": "key"}, bridges: []string{"br-ex", "br-int"}}
	seen.settings[beforeKey] = seen.formatBefore()
	before, err := seen.parseBefore()
	if err != nil || !maps.Equal(before.Settings, map[string]string{mappingsKey: "other:br-ex"}) || !before.Integrated {
		t.Errorf("%+v, %v", before, err)
	}
	if got := (chassisSeen{settings: map[string]string{idKey: "97cd"}}).formatBefore(); got != "" {
		t.Errorf("of a machine without settings is noted %q", got)
	}
	seen.settings[beforeKey] = "{"
	if _, err := seen.parseBefore(); err == nil || !strings.Contains(err.Error(), beforeKey) {
		t.Errorf("half a note: %v", err)
	}
	if before, err := (chassisSeen{}).parseBefore(); err != nil || len(before.Settings) > 0 || before.Integrated {
		t.Errorf("no note: %+v, %v", before, err)
	}
}

func TestGuestsOfAChassisAreNamed(t *testing.T) {
	t.Parallel()
	err := &GuestsError{"kvm1", []string{`g1 of network "nodes"`, "g2"}}
	if got := err.Error(); !strings.Contains(got, `chassis "kvm1" has guests on these ports: g1 of network "nodes", g2.`) {
		t.Error(got)
	}
}
