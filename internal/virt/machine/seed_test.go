package machine

import "testing"

func TestASeedThatFollowsFromTheMachineSaysNothing(t *testing.T) {
	s := &Spec{Name: "n", Interfaces: []InterfaceSpec{{Bridge: "b", MAC: "52:54:00:00:00:01", Name: "eth0", Addresses: Prefixes("10.0.0.1/24")}}}
	for told, want := range map[string]CloudInit{"": {}, "#cloud-config\n{}\n# more\n": {UserData: "#cloud-config\n{}\n# more\n"}} {
		t.Run(told, func(t *testing.T) {
			if s.CloudInit = nil; told != "" {
				s.CloudInit = &CloudInit{UserData: told}
			}
			seed, err := buildSeed(s, someUUID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := recoverCloudInit(s, seed, someUUID)
			if err != nil || *got != want {
				t.Errorf("the seed is read as %+v, %v", got, err)
			}
		})
	}
}
