package hunt

import (
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// fixtureIDs stand for the fixtures where no machine has them.
func fixtureIDs() map[string]object {
	made := map[string]object{}
	for _, f := range fixtures() {
		made[f.name] = object{"id": "fixture"}
	}
	for _, number := range []string{"1", "2", "3", "4", "5"} {
		made["node"+number] = object{"id": "ssh://root@10.0.100.10" + number}
	}
	made["hv1"], made["hv2"], made["ovn"] = object{"id": "ssh://root@10.0.100.11"}, object{"id": "ssh://root@10.0.100.12"}, object{"id": "ssh://root@10.0.100.11"}
	made["ovn network"] = object{"id": "ssh://root@10.0.100.11#network/fixture"}
	made["image"], made["volume"] = object{"id": "fixture/fixture"}, object{"id": "fixture/fixture.qcow2"}
	made["disc"] = object{"id": "/run/hunt/fixture/disc.iso"}
	made["bootserver"], made["bootserver2"] = object{"id": "ssh://root@10.0.100.101#boot"}, object{"id": "ssh://root@10.0.100.102#boot"}
	made["addresses"], made["ovn network"] = object{"id": "ssh://root@10.0.100.103#fixture"}, object{"id": "ssh://root@10.0.100.11#network/fixture"}
	return made
}

// planOffline plans the trials that are asked for without any machine, and says how each ended.
func planOffline(t *testing.T, asked func(mutation) bool, ended func(trial, outcome)) {
	t.Helper()
	c, err := newCore(object{})
	if err != nil {
		t.Fatal(err)
	}
	made := fixtureIDs()
	var all errgroup.Group
	all.SetLimit(planners)
	for _, s := range subjects() {
		for _, m := range s.mutations(c.types[s.kind]) {
			if !asked(m) {
				continue
			}
			all.Go(func() error {
				of := trial{s, []mutation{m}}
				ended(of, c.planned(t.Context(), of, made))
				return nil
			})
		}
	}
	_ = all.Wait() // none of them returns an error
}

// A sample that a plan refuses would make every trial of its attribute one of nothing.
func TestEverySampleIsPlanned(t *testing.T) {
	planOffline(t, func(m mutation) bool { return m.class == "written" }, func(of trial, o outcome) {
		if o.atPlan != nil || o.broken != nil {
			t.Errorf("%s: %v%v", of, o.atPlan, o.broken)
		}
	})
}

// What is known later is planned as that, or refused: whole attributes, elements, and what is in them.
func TestWhatIsKnownLaterIsPlannedSo(t *testing.T) {
	planOffline(t, func(m mutation) bool { return strings.Contains(m.class, "unknown") }, func(of trial, o outcome) {
		if o.broken != nil {
			t.Errorf("%s: %v", of, o.broken)
		}
	})
}
