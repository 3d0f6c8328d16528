package machine

import "testing"

func TestWhetherAnExternalMachineRunsIsWhatTheHypervisorSays(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		runs bool
	}{
		"managed and running":              {Spec{Running: true, State: "running", Settings: Settings{Power: Managed}}, true},
		"managed and off":                  {Spec{State: "shutoff", Settings: Settings{Power: Managed}}, false},
		"managed and paused":               {Spec{State: "paused", Settings: Settings{Power: Managed}}, true},
		"external, made running and off":   {Spec{Running: true, State: "shutoff", Settings: Settings{Power: External}}, false},
		"external, made off and switched":  {Spec{State: "running", Settings: Settings{Power: External}}, true},
		"external, made off and paused":    {Spec{State: "paused", Settings: Settings{Power: External}}, true},
		"external, made running and stays": {Spec{Running: true, State: "running", Settings: Settings{Power: External}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.spec.Runs(); got != c.runs {
				t.Errorf("it runs: %v", got)
			}
		})
	}
}
