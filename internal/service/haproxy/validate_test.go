package haproxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

func TestWhatIsWrongIsFoundAtItsAttribute(t *testing.T) {
	server := func(s Server) Backend {
		if s.State == "" {
			s.State = Ready
		}
		return Backend{Name: "b", Servers: map[string]Server{"s": s}}
	}
	good := Server{Address: "10.0.0.1", Port: 80}
	listening := []Bind{{Address: "*", Port: 80}}
	bind := func(b Bind) Frontend { return Frontend{Name: "f", Binds: []Bind{b}} }
	for name, c := range map[string]struct {
		value interface{ Validate() []service.Problem }
		path  string // "" is nothing wrong
		says  string
	}{
		"nothing":                       {server(good), "", ""},
		"a host name":                   {server(Server{Address: "api.okd.example", Port: 80}), "", ""},
		"no name":                       {Backend{}, "name", "no name"},
		"a name of two lines":           {Frontend{Name: "a\nb"}, "name", "no name"},
		"a name of the base's":          {Backend{Name: "virtcluster-stats"}, "name", "listener of virtcluster_haproxy"},
		"a mode":                        {Frontend{Name: "f", Mode: "udp"}, "mode", `"tcp" or "http"`},
		"a port":                        {bind(Bind{Address: "*", Port: 0}), "binds 0 port", "1 to 65535"},
		"an address":                    {bind(Bind{Address: "10.0.0", Port: 80}), "binds 0 address", "IPv4 or IPv6"},
		"transparent as an option":      {bind(Bind{Address: "*", Port: 80, Options: "ssl transparent"}), "binds 0 options", "transparent = true"},
		"a bind twice":                  {Frontend{Name: "f", Binds: []Bind{{Address: "*", Port: 80}, {Address: "*", Port: 80}}}, "binds 1", "binds[0]"},
		"a time":                        {Frontend{Name: "f", Timeouts: map[string]string{"http-request": "5 s"}}, "timeouts http_request", "unit"},
		"an option with its word":       {Frontend{Name: "f", Options: []string{"option tcplog"}}, "options", "without the word"},
		"no option at all":              {Frontend{Name: "f", Options: []string{"no"}}, "options", `name after "no"`},
		"an option of two lines":        {Frontend{Name: "f", Options: []string{"tcplog\nuse_backend x"}}, "options", "line break"},
		"a check as an option":          {Backend{Name: "b", Options: []string{"httpchk GET /"}}, "options", "as http_check"},
		"a comment in a condition":      {Frontend{Name: "f", Rules: []Rule{{Backend: "b", If: "x # y"}}}, "rules 0 if", "quote it"},
		"a quoted hash":                 {Frontend{Name: "f", Binds: listening, Rules: []Rule{{Backend: "b", If: `{ path "/#" }`}}}, "", ""},
		"two conditions":                {Frontend{Name: "f", Rules: []Rule{{Backend: "b", If: "x", Unless: "y"}}}, "rules 0", "not both"},
		"a rule for two backends":       {Frontend{Name: "f", Rules: []Rule{{Backend: "b c"}}}, "rules 0 backend", "one word"},
		"an empty ACL":                  {Frontend{Name: "f", ACLs: map[string][]string{"a": nil}}, "acls a", "what has to match"},
		"an attribute's line":           {Frontend{Name: "f", Extra: []string{"acl x src 10.0.0.1"}}, "extra_config", "as acls"},
		"a section in the extra lines":  {Backend{Name: "b", Extra: []string{"frontend x"}}, "extra_config", "section of its own"},
		"unknown extra lines":           {Backend{Name: "b", Extra: []string{"stick-table type ip size 1m"}}, "", ""},
		"a server's port":               {server(Server{Address: "10.0.0.1", Port: 65536}), "servers s port", "1 to 65535"},
		"a server's address":            {server(Server{Address: "10.0.0.1 check", Port: 1}), "servers s address", "host name"},
		"a server's short address":      {server(Server{Address: "10.0.1", Port: 1}), "servers s address", "host name"},
		"a server's weight":             {server(Server{Address: "10.0.0.1", Port: 1, Params: Params{Weight: pointer(int64(257))}}), "servers s weight", "0 to 256"},
		"a server's verify":             {server(Server{Address: "10.0.0.1", Port: 1, Params: Params{Verify: "off"}}), "servers s verify", `"none"`},
		"a server's state":              {server(Server{Address: "10.0.0.1", Port: 1, State: "down"}), "servers s state", "maint"},
		"a server's option":             {server(Server{Address: "10.0.0.1", Port: 1, Params: Params{Options: "ssl check"}}), "servers s options", "attributes of their own"},
		"disabled as an option":         {server(Server{Address: "10.0.0.1", Port: 1, Params: Params{Options: "disabled"}}), "servers s options", "maint"},
		"HAProxy's own name":            {Backend{Name: "b", Servers: map[string]Server{"BACKEND": {Address: "10.0.0.1", Port: 1, State: Ready}}}, "servers BACKEND", "itself"},
		"one address twice":             {Backend{Name: "b", Servers: map[string]Server{"a": {Address: "10.0.0.1", Port: 1, State: Ready}, "b": {Address: "10.0.0.1", Port: 1, State: Ready}}}, "servers b address", `"a" has`},
		"sticky API":                    {Backend{Name: "okd-api", Balance: "source"}, "balance", "NAT"},
		"sticky API by its port":        {Backend{Name: "okd_6443", Balance: "source"}, "balance", "NAT"},
		"sticky ingress":                {Backend{Name: "ingress", Balance: "source"}, "", ""},
		"sticky capital":                {Backend{Name: "capital", Balance: "source"}, "", ""},
		"both listeners at one address": {Base{Health: &Health{Bind: Bind{Address: "*", Port: 1}, URI: "/"}, Stats: &Stats{Bind: Bind{Address: "*", Port: 1}, URI: "/"}}, "stats port", "health"},
		"a URI":                         {Base{Health: &Health{Bind: Bind{Address: "*", Port: 1}, URI: "up"}}, "health uri", `begins with "/"`},
		"a password of two lines":       {Base{Stats: &Stats{Bind: Bind{Address: "*", Port: 1}, URI: "/", User: "u", Password: "a\nb"}}, "stats password", "printable"},
		"a server's zone":               {server(Server{Address: "fe80::1%1 check\n server x", Port: 1}), "servers s address", "host name"},
		"a bind's zone":                 {bind(Bind{Address: "fe80::1%1\nglobal", Port: 80}), "binds 0 address", "IPv4 or IPv6"},
		"a health listener's zone":      {Base{Health: &Health{Bind: Bind{Address: "fe80::1%eth0", Port: 1}, URI: "/"}}, "health address", "IPv4 or IPv6"},
		"a time HAProxy cannot hold":    {Frontend{Name: "f", Timeouts: map[string]string{"client": "25d"}}, "timeouts client", "24 days"},
		"the longest time":              {Frontend{Name: "f", Binds: listening, Timeouts: map[string]string{"client": "2147483647ms"}}, "", ""},
		"a server's time":               {server(Server{Address: "10.0.0.1", Port: 1, Params: Params{Inter: "3000000s"}}), "servers s inter", "24 days"},
		"a condition":                   {Backend{Name: "b", Extra: []string{".if defined(X)"}}, "extra_config", "condition"},
		"an expectation in the extras":  {Backend{Name: "b", HTTPCheck: &HTTPCheck{Method: "GET", URI: "/"}, Extra: []string{"http-check send hdr Host x", "http-check expect status 200"}}, "extra_config", "as http_check.expect"},
		"two expectations":              {Backend{Name: "b", HTTPCheck: &HTTPCheck{Method: "GET", URI: "/", Expect: "status 200"}, Extra: []string{"http-check expect string ok"}}, "http_check expect", "all steps"},
		"steps of a check":              {Backend{Name: "b", HTTPCheck: &HTTPCheck{Method: "GET", URI: "/"}, Extra: []string{"http-check expect string ok", "http-check connect port 81", "http-check send uri /b", "http-check expect status 200"}}, "", ""},
		"one default-server":            {Backend{Name: "b", Extra: []string{"default-server check"}}, "extra_config", "as default_server"},
		"a second default-server":       {Backend{Name: "b", DefaultServer: &Params{Check: pointer(true)}, Extra: []string{"default-server inter 1s"}}, "default_server", "one or the other"},
		"two default-server lines":      {Backend{Name: "b", Extra: []string{"default-server check", "default-server inter 1s"}}, "", ""},
		"a range of ports":              {Frontend{Name: "f", Extra: []string{"bind :8000-8010"}}, "", ""},
		"a bind in the extras":          {Frontend{Name: "f", Extra: []string{"bind :8000"}}, "extra_config", "as binds"},
		"no bind":                       {Frontend{Name: "f", Extra: []string{"# bind :80"}}, "binds", "where it listens"},
		"a global setting":              {Base{Extra: []string{"maxconn 1"}}, "extra_config", "as maxconn"},
		"a default":                     {Base{DefaultsExtra: []string{"timeout connect 1s"}}, "defaults_extra_config", "as timeouts"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := c.value.Validate()
			if c.path == "" {
				if len(problems) > 0 {
					t.Errorf("%+v", problems)
				}
				return
			}
			if len(problems) == 0 {
				t.Fatal("nothing was found")
			}
			p := problems[0]
			if got := strings.TrimSpace(strings.ReplaceAll(fmt.Sprintln(p.Path...), `"`, "")); got != c.path || !strings.Contains(p.Detail, c.says) {
				t.Errorf("at %q: %s: %s", got, p.Summary, p.Detail)
			}
			if strings.Contains(p.Detail, "a\nb") && strings.Contains(c.path, "password") {
				t.Errorf("the password is shown: %s", p.Detail)
			}
		})
	}
}

func TestWhatIsValidReadsBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Any text at all in one of the places that are HAProxy's own language.
		texts := []string{"http", "tcplog", "stick-table x", "/up", "b", "c", "is_x", "is_x", "src 10.0.0.1"}
		texts[rapid.IntRange(0, len(texts)-1).Draw(t, "place")] = rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[ a-z"'\\#{}]{0,12}`), rapid.StringMatching(`[a-z]{1,5} "[ -~]{0,9}" ('#'|\\#|[a-z])`),
		).Draw(t, "text")
		f := Frontend{
			Name: "f", Mode: texts[0], Binds: []Bind{{Address: "*", Port: 80}}, Options: []string{OneLine(texts[1])}, Extra: Lines(texts[2]), MonitorURI: texts[3], DefaultBackend: texts[4],
			Rules: []Rule{{Backend: texts[5], If: OneLine(texts[6])}}, ACLs: map[string][]string{texts[7]: {OneLine(texts[8])}},
		}
		if f.Options[0] == "" || f.ACLs[texts[7]][0] == "" || len(f.Validate()) > 0 {
			t.Skip("not valid")
		}
		same(t, f, ParseFrontend("f", f.Body()))
	})
}

func TestBlanksAroundALineMakeNoDifference(t *testing.T) {
	for text, want := range map[string]string{"status\t 200": "status 200", "status  200\n": "status 200", "\rA\tA": "A A", " a\nb  c ": "a\nb  c", "a  # b ": "a  # b"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := OneLine(text); got != want || OneLine(got) != got {
				t.Errorf("%q is %q, want %q", text, got, want)
			}
		})
	}
}

func TestTimesOfOneLengthAreEqual(t *testing.T) {
	for text, want := range map[string]time.Duration{"60s": time.Minute, "1m": time.Minute, "5000": 5 * time.Second, "1d": 24 * time.Hour, "10us": 10 * time.Microsecond} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got, ok := Duration(text); !ok || got != want {
				t.Errorf("%s is %v, %v", text, got, ok)
			}
		})
	}
	for _, text := range []string{"", "s", "1w", "-1s", "1.5s", "1 s", "99999999999999999999s", "999999999999d"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got, ok := Duration(text); ok {
				t.Errorf("%q is %v", text, got)
			}
		})
	}
}
