package exposure

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the programs print: firewalld 1.3 and ufw 0.36 of Debian 12.
const (
	zonesOfFirewalld = `block
  target: %REJECT%
  interfaces: 
  ports: 

public (active)
  target: default
  icmp-block-inversion: no
  interfaces: eth1
  services: dhcpv6-client https
  ports: 80/tcp 30000-32767/tcp 8443/udp
  rich rules: 

internal
  target: default
  interfaces: eth3
  services: mine
  ports: 80/tcp

rich
  target: default
  interfaces: eth4
  rich rules: 
	rule family="ipv4" source address="10.0.0.0/8" port port="81" protocol="tcp" accept

trusted (active)
  target: ACCEPT
  interfaces: eth2
`
	statusOfUFW = `Status: active
Logging: on (low)
Default: deny (incoming), allow (outgoing), disabled (routed)
New profiles: skip

To                         Action      From
--                         ------      ----
22/tcp                     ALLOW IN    Anywhere
80,443/tcp                 ALLOW IN    Anywhere
10.19.41.220 8080/tcp      ALLOW IN    Anywhere
9000:9100/tcp              ALLOW IN    Anywhere
5000/tcp                   DENY IN     Anywhere
5001                       ALLOW IN    10.0.0.0/8
7000 on eth2               ALLOW IN    Anywhere
81,82/tcp (Nginx Full)     ALLOW IN    Anywhere
81,82/tcp (Nginx Full (v6)) ALLOW IN    Anywhere (v6)
22/tcp (v6)                ALLOW IN    Anywhere (v6)
`
)

// surveyBy surveys this machine with programs in the place of its own.
func surveyBy(t *testing.T, programs map[string]string) Survey {
	t.Helper()
	dir := t.TempDir()
	for program, answers := range programs {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+answers), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", surveyScript, "sh", ":")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseSurvey(string(out))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFirewallsAreNoticed has the survey's script ask programs that print what the real ones do: the sandbox has neither.
func TestFirewallsAreNoticed(t *testing.T) {
	survey := func(program, answers string) Survey { return surveyBy(t, map[string]string{program: answers}) }
	firewalld := "case $* in *--state) ;; *--get-default-zone) echo public ;; *--list-all-zones) cat <<'END'\n" + zonesOfFirewalld + "END\n;; *) exit 2 ;; esac\n"
	status := "[ \"$*\" = 'status verbose' ] || exit 2\ncat <<'END'\n" + statusOfUFW + "END\n"
	for _, c := range []struct {
		about  string
		s      Survey
		device string
		port   Port
		says   string
	}{
		{"no firewall", Survey{}, "eth1", Port{81, 81, TCP}, ""},
		{"firewalld that is stopped", survey("firewall-cmd", "exit 252\n"), "eth1", Port{81, 81, TCP}, ""},
		{"a port of the zone", survey("firewall-cmd", firewalld), "eth1", Port{80, 80, TCP}, ""},
		{"a service of the zone", survey("firewall-cmd", firewalld), "eth1", Port{443, 443, TCP}, ""},
		{"a range of the zone", survey("firewall-cmd", firewalld), "eth1", Port{30443, 443, TCP}, ""},
		{"a zone that takes all", survey("firewall-cmd", firewalld), "eth2", Port{81, 81, TCP}, ""},
		{"the other protocol", survey("firewall-cmd", firewalld), "eth1", Port{8443, 443, TCP}, "firewall-cmd --permanent --zone=public --add-port=8443/tcp && firewall-cmd --reload"},
		{"a device of no zone", survey("firewall-cmd", firewalld), "eth9", Port{81, 81, TCP}, "--zone=public --add-port=81/tcp"},
		{"what rules carry", survey("firewall-cmd", firewalld), "eth1", Port{81, 81, UDP}, ""},
		{"ufw that is off", survey("ufw", "echo 'Status: inactive'\n"), "eth1", Port{81, 81, TCP}, ""},
		{"one of ufw's ports", survey("ufw", status), "eth1", Port{443, 443, TCP}, ""},
		{"a port of the address", survey("ufw", status), "eth1", Port{8080, 80, TCP}, ""},
		{"one of ufw's ranges", survey("ufw", status), "eth1", Port{9050, 80, TCP}, ""},
		{"a port of another device", survey("ufw", status), "eth1", Port{7000, 80, TCP}, "ufw allow proto tcp to 10.19.41.220 port 7000"},
		{"what ufw denies", survey("ufw", status), "eth1", Port{5000, 80, TCP}, "port 5000"},
		{"what ufw lets in from some", survey("ufw", status), "eth1", Port{5001, 80, TCP}, "Unless a rule does so that is not understood here: ufw"},
		{"a port of an application", survey("ufw", status), "eth1", Port{82, 80, TCP}, ""},
		{"a port of no rule", survey("ufw", status), "eth1", Port{83, 80, TCP}, "ufw runs"},
		{"a service of somebody's", survey("firewall-cmd", firewalld), "eth3", Port{81, 81, TCP}, "Unless a rule"},
		{"a rich rule", survey("firewall-cmd", firewalld), "eth4", Port{81, 81, TCP}, "Unless a rule"},
		{"zones by who asks", survey("firewall-cmd", strings.Replace(firewalld, "target: ACCEPT\n", "target: ACCEPT\n  sources: 10.0.0.0/8\n", 1)), "eth1", Port{81, 81, TCP}, "Unless a rule"},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			want := Exposure{Name: "web", Kind: LoadBalancer, Address: netip.MustParseAddr("10.19.41.220"), Interface: c.device, Ports: map[string]Port{"p": c.port}, Targets: addresses("10.0.0.5")}
			got, warns := "", false
			for _, shut := range c.s.Blocked(want) {
				got, warns = shut.Detail, shut.Warning
			}
			if (got == "") != (c.says == "") || !strings.Contains(got, c.says) || warns != strings.HasPrefix(got, "Unless") {
				t.Errorf("%s: %q, want %q", c.about, got, c.says)
			}
		})
	}
}

func TestARuleOfUFWForThoseWhoMayConnectIsEnough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, sources string
		admits        bool
	}{
		"the same":           {"10.0.0.0/8", "10.0.0.0/8", true},
		"a part of them":     {"10.0.0.0/8", "10.1.0.0/16", true},
		"an address of them": {"10.0.0.5", "10.0.0.5/32", true},
		"more of them":       {"10.0.0.0/8", "10.0.0.0/7", false},
		"others too":         {"10.0.0.0/8", "10.1.0.0/16 192.168.0.0/16", false},
		"everybody":          {"10.0.0.0/8", "", false},
		"from a port":        {"10.0.0.0/8 1024/tcp", "10.0.0.0/8", false},
		"anywhere":           {"Anywhere (v6)", "10.0.0.0/8", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sources []netip.Prefix
			for text := range strings.FieldsSeq(c.sources) {
				sources = append(sources, netip.MustParsePrefix(text))
			}
			if got := (ufwRule{from: c.from}).admitsSources(sources); got != c.admits {
				t.Errorf("it admits them: %v", got)
			}
		})
	}
}

// TestRulesOfBothProgramsAreSurveyed has the survey's script print what programs keep, but for filters.
func TestRulesOfBothProgramsAreSurveyed(t *testing.T) {
	t.Parallel()
	show := func(file string) string {
		path, err := filepath.Abs("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return "cat " + path + "\n"
	}
	s := surveyBy(t, map[string]string{
		"iptables-nft-save": show("iptables.save"), "iptables-legacy-save": "exit 0\n", "iptables-save": "echo '*nat'; echo '-A PREROUTING -j REDIRECT'\n",
		"ip6tables-nft-save": "exit 1\n", "ip6tables-legacy-save": "echo '*nat'; echo '-A PREROUTING -p udp -m udp --dport 99 -j REDIRECT --to-ports 77'\n",
		"nft": show("ruleset.json"),
	})
	for target, taken := range map[string]map[Port]string{
		"10.0.0.5": {{31455, 22, TCP}: "iptables-nft-save", {30001, 22, TCP}: "kube-proxy of nftables", {30009, 22, TCP}: ""},
		"fd00::5":  {{99, 22, UDP}: "ip6tables-legacy-save", {31455, 22, TCP}: ""},
	} {
		t.Run(target, func(t *testing.T) {
			for port, want := range taken {
				e := Exposure{Name: "new", Kind: NodePort, Ports: map[string]Port{"p": port}, Targets: addresses(target)}
				if got := s.whoTranslates(e, "p", false); want == "" && got != "" || !strings.Contains(got, want) {
					t.Errorf("%v of %s: %q, want %q", port, target, got, want)
				}
			}
		})
	}
}
