package hypervisor

import "testing"

func TestADeviceIsLackingForSureWhereBothWitnessesSaySo(t *testing.T) {
	refuse := func(code uint32) func(uint32) (uint32, []byte, bool) {
		return func(uint32) (uint32, []byte, bool) { return 1, refusal(code, "no"), true }
	}
	has := func(uint32) (uint32, []byte, bool) { return 0, appendText(appendText(nil, "nosuchbr0"), ""), true }
	for name, c := range map[string]struct {
		device      string
		answer      func(uint32) (uint32, []byte, bool)
		lacks, sure bool
	}{
		"libvirt has none either":                       {"nosuchbr0", refuse(57), true, true},
		"libvirt cannot tell":                           {"nosuchbr0", refuse(3), true, false},
		"libvirt has it, as from inside of a container": {"nosuchbr0", has, false, true},
		"this machine has it":                           {"lo", refuse(57), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &daemon{answer: c.answer}
			lacks, sure, err := newClient(t, d.serve(t)).LacksDevice(t.Context(), c.device)
			if err != nil || lacks != c.lacks || sure != c.sure {
				t.Errorf("%s: lacks %t, sure %t, %v", name, lacks, sure, err)
			}
		})
	}
}
