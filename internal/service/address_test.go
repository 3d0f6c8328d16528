package service

import "testing"

func TestAnAddressHasNoZone(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1": "10.0.0.1", "2001:DB8:0::1": "2001:db8::1", "fe80::1": "fe80::1",
		"fe80::1%eth0": "", "fe80::1%1; };\n include \"/tmp/evil\"": "", "fe80::1% \nglobal": "", "": "", "10.0.1": "", "host": "", "10.0.0.1/8": "",
	} {
		t.Run(text, func(t *testing.T) {
			a, err := ParseAddress(text)
			if want == "" != (err != nil) || err == nil && a.String() != want {
				t.Errorf("%q: %v, %v", text, a, err)
			}
		})
	}
}
