package ovn

import "testing"

func TestValuesOfDHCPOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		taken       bool
	}{
		{"domain_name", "okd.example", true}, {"domain_name", `okd"example`, false}, {"domain_name", `okd\`, false},
		{"ntp_server", "10.50.0.2", true}, {"ntp_server", "{10.50.0.2, 10.50.0.3}", true}, {"ntp_server", "{10.50.0.2", false}, {"ntp_server", "10.50.0.2, 10.50.0.3", false},
		{"ntp_server", "ntp.example", false}, {"ntp_server", "fd00::1", false}, {"ntp_server", "{}", false},
		{"ip_forward_enable", "1", true}, {"ip_forward_enable", "true", false}, {"default_ttl", "64", true}, {"default_ttl", "256", false}, {"T1", "1800", true}, {"T1", "-1", false},
		{"classless_static_route", "{10.1.0.0/16,10.50.0.2, 0.0.0.0/0,10.50.0.1}", true}, {"classless_static_route", "{10.1.0.0/16}", false}, {"classless_static_route", "{10.50.0.2, 10.1.0.0/16}", false},
		{"tftp_server", "10.50.0.2", true}, {"tftp_server", `"tftp.example"`, true}, {"tftp_server", "tftp.example", false}, {"tftp_server", `"a"b"`, false},
	} {
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			t.Parallel()
			n := nodes()
			n.DHCP.Options = map[string]string{c.name: c.value}
			if problems := n.Validate(); (len(problems) == 0) != c.taken {
				t.Errorf("%v", problems)
			}
		})
	}
}
