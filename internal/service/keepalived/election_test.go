package keepalived

import "testing"

func TestAnElectionEndsWhereNobodyTakesTheAddressesAnyMore(t *testing.T) {
	master := func(priority int) Status { return Status{State: "MASTER", Effective: priority} }
	backup := func(priority int) Status { return Status{State: "BACKUP", Effective: priority} }
	patient, fault, starts := backup(250), backup(250), backup(100)
	patient.NoPreempt, fault.State, starts.State = true, "FAULT", "INIT"
	for name, c := range map[string]struct {
		holder string
		served map[string]Status
		want   bool
	}{
		"the first holds them":                   {"a", map[string]Status{"a": master(250), "b": backup(240)}, true},
		"two are alike":                          {"a", map[string]Status{"a": master(250), "b": backup(250)}, true},
		"a better one is about to":               {"b", map[string]Status{"a": backup(250), "b": master(240)}, false},
		"a better one does not preempt":          {"b", map[string]Status{"a": patient, "b": master(240)}, true},
		"a better one is unfit":                  {"b", map[string]Status{"a": fault, "b": master(240)}, true},
		"a better one hands over for now":        {"b", map[string]Status{"a": backup(50), "b": master(240)}, true},
		"another one has taken over":             {"a", map[string]Status{"a": backup(250), "b": master(240)}, false},
		"two think that they hold them":          {"a", map[string]Status{"a": master(250), "b": master(240)}, false},
		"one has not begun":                      {"a", map[string]Status{"a": master(250), "b": starts}, false},
		"nobody has them yet":                    {"", map[string]Status{"a": backup(250), "b": backup(240)}, false},
		"nobody can have them":                   {"", map[string]Status{"a": fault, "b": fault}, true},
		"nobody runs":                            {"", nil, true},
		"the holder's keepalived does not run":   {"a", map[string]Status{"b": master(240)}, false},
		"who holds them cannot be asked, and is": {"a", map[string]Status{"b": backup(240)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Elected(c.holder, c.served); got != c.want {
				t.Errorf("%s: %t", name, got)
			}
		})
	}
}
