package haproxy

import "testing"

func TestTLSWithoutACAIsRefused(t *testing.T) {
	server := func(p Params) Backend {
		return Backend{Servers: map[string]Server{"a": {Address: "10.0.0.1", Port: 443, State: Ready, Params: p}}}
	}
	with := func(b Backend, defaults *Params, extra ...string) Backend {
		b.DefaultServer, b.Extra = defaults, extra
		return b
	}
	yes := new(bool)
	*yes = true
	for name, c := range map[string]struct {
		of      Backend
		refused bool
	}{
		"no TLS":                   {server(Params{Check: yes}), false},
		"a check by TLS":           {server(Params{CheckSSL: yes}), true},
		"and of the default":       {with(server(Params{}), &Params{CheckSSL: yes}), true},
		"it is not verified":       {server(Params{CheckSSL: yes, Verify: "none"}), false},
		"nor by default":           {with(server(Params{CheckSSL: yes}), &Params{Verify: "none"}), false},
		"verified by a CA":         {server(Params{CheckSSL: yes, Verify: "required", Options: "ca-file /ca.pem"}), false},
		"by the default's":         {with(server(Params{Options: "ssl"}), &Params{Options: "ca-file /ca.pem"}), false},
		"by that of a line":        {with(server(Params{CheckSSL: yes}), nil, "default-server ca-file /ca.pem"), false},
		"traffic by TLS":           {server(Params{Options: "ssl"}), true},
		"required, and by nothing": {server(Params{Options: "ssl", Verify: "required"}), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := len(c.of.ValidateTLS()) > 0; got != c.refused {
				t.Errorf("%s: refused is %v", name, got)
			}
		})
	}
}
