package functions

import "testing"

func TestReverseZone(t *testing.T) {
	t.Parallel()
	for cidr, want := range map[string]string{
		"10.0.0.0/24":    "0.0.10.in-addr.arpa",
		"10.0.16.0/20":   "0.10.in-addr.arpa",
		"192.0.2.128/25": "128/25.2.0.192.in-addr.arpa",
		"fd00::/64":      "0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa",
	} {
		t.Run(cidr, func(t *testing.T) {
			t.Parallel()
			got, err := call(t, NewReverseZone(), str(cidr))
			if err != nil || !got.Equal(str(want)) {
				t.Errorf("%s: %s, error %v; want %s", cidr, got, err, want)
			}
		})
	}
	for _, cidr := range []string{"10.0.0.1/24", "10.0.0.0", ""} {
		t.Run(cidr, func(t *testing.T) {
			t.Parallel()
			if _, err := call(t, NewReverseZone(), str(cidr)); err == nil {
				t.Errorf("%q is taken", cidr)
			}
		})
	}
}
