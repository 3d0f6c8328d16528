package machine

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// withStatic is a machine that Ignition configures, with an address that no DHCP gives.
func withStatic(ignition string) *Spec {
	return &Spec{Ignition: ignition, Interfaces: []InterfaceSpec{
		{Name: "ens3", MAC: "52:54:00:00:00:01", Addresses: Prefixes("10.19.41.157/24", "fd00::157/64"), Gateway: Address("10.19.41.254"),
			Routes: []Route{{Prefixes("10.128.0.0/14")[0], Address("10.19.41.1")}}, Nameservers: Addresses("10.0.0.1", "fd00::1"), MTU: 1400},
		{Name: "ens4", MAC: "52:54:00:00:00:02"},
	}}
}

// filesOf are the files of an Ignition configuration: path → content.
func filesOf(t *testing.T, text string) map[string]string {
	t.Helper()
	var c struct {
		Storage struct {
			Files []struct {
				Path     string
				Contents struct{ Source string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range c.Storage.Files {
		content, err := url.PathUnescape(strings.TrimPrefix(f.Contents.Source, "data:,"))
		if err != nil {
			t.Fatal(err)
		}
		files[f.Path] = content
	}
	return files
}

func TestIgnitionTellsNetworkManagerOfStaticAddresses(t *testing.T) {
	handed, err := renderIgnition(withStatic(ignitionText))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkIgnition(handed); err != nil {
		t.Errorf("Ignition refuses it: %v", err)
	}
	files := filesOf(t, handed)
	if _, kept := files["/etc/hello"]; !kept {
		t.Errorf("the user's own file is lost: %s", handed)
	}
	const static = `[connection]
id=ens3
type=ethernet
autoconnect-priority=1

[ethernet]
mac-address=52:54:00:00:00:01
mtu=1400

[ipv4]
method=manual
address1=10.19.41.157/24
gateway=10.19.41.254
route1=10.128.0.0/14,10.19.41.1
dns=10.0.0.1;

[ipv6]
method=manual
address1=fd00::157/64
dns=fd00::1;
`
	if got := files[keyfileDirectory+"ens3.nmconnection"]; got != static {
		t.Errorf("the connection is\n%s", got)
	}
	if got := files[keyfileDirectory+"ens4.nmconnection"]; !strings.Contains(got, "[ipv4]\nmethod=auto\n\n[ipv6]\nmethod=auto\n") {
		t.Errorf("the interface without static addresses asks nobody:\n%s", got)
	}
	if got := recoverIgnition(withStatic(""), handed); CanonicalIgnition(got) != CanonicalIgnition(ignitionText) {
		t.Errorf("an import reads %s", got)
	}
}

func TestTheUsersOwnFilesWin(t *testing.T) {
	own := `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/NetworkManager/system-connections/ens3.nmconnection","contents":{"source":"data:,own"}}],` +
		`"links":[{"path":"/etc/NetworkManager/system-connections/ens4.nmconnection","target":"/dev/null"}]}}`
	handed, err := renderIgnition(withStatic(own))
	if err != nil {
		t.Fatal(err)
	}
	if files := filesOf(t, handed); len(files) != 1 || files[keyfileDirectory+"ens3.nmconnection"] != "own" {
		t.Errorf("the files are %v", files)
	}
	if got := recoverIgnition(withStatic(""), handed); CanonicalIgnition(got) != CanonicalIgnition(own) {
		t.Errorf("an import reads %s", got)
	}
}

func TestIgnitionWithoutStaticAddressesIsHandedOverAsItIs(t *testing.T) {
	s := &Spec{Ignition: " " + ignitionText, Interfaces: []InterfaceSpec{{Name: "eth0", IP: Address("10.0.0.1")}}}
	if handed, err := renderIgnition(s); err != nil || handed != s.Ignition {
		t.Errorf("the guest gets %q, %v", handed, err)
	}
}

func TestButaneForOpenShiftBecomesIgnition(t *testing.T) {
	const machineConfig = "variant: openshift\nversion: 4.17.0\nmetadata: { name: x, labels: { machineconfiguration.openshift.io/role: worker } }\n" +
		"storage: { files: [{ path: /etc/hello, contents: { inline: world } }] }\n"
	handed, err := TranslateButane(machineConfig)
	if err != nil || checkIgnition(handed) != nil {
		t.Errorf("the guest gets %q, %v", handed, err)
	}
	if _, err := TranslateButane(machineConfig + "openshift:\n  kernel_arguments: [nosmt]\n"); err == nil || !strings.Contains(err.Error(), "line 5, column 1: kernel_arguments") {
		t.Errorf("what Ignition has no place for: %v", err)
	}
}

func TestAShorterConfigurationLeavesNothingBehind(t *testing.T) {
	if got := string(padContent([]byte("{}"), 5)); got != "{}   " {
		t.Errorf("a shorter one is %q", got)
	}
	if got := string(padContent([]byte("{}  "), 2)); got != "{}  " {
		t.Errorf("a longer one is %q", got)
	}
}
