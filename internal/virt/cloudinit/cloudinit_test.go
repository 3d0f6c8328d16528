package cloudinit

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/goldentest"
)

func TestSeedImageReadsBack(t *testing.T) {
	t.Parallel()
	for name, seed := range map[string]Seed{
		"all files":          {MetaData: "instance-id: a\n", UserData: "#cloud-config\n", VendorData: "#cloud-config\n{}\n", NetworkConfig: "version: 2\n"},
		"only what must be":  {MetaData: "instance-id: a\n", UserData: ""},
		"more than a sector": {MetaData: "instance-id: a\n", UserData: "#!/bin/sh\n" + strings.Repeat("echo x\n", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			image, err := seed.Image()
			if err != nil {
				t.Fatal(err)
			}
			if len(image)%sectorSize != 0 {
				t.Errorf("%d bytes are not whole sectors", len(image))
			}
			got, err := ReadImage(image)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&seed, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNetworkConfig(t *testing.T) {
	t.Parallel()
	for name, interfaces := range map[string][]Interface{
		"none": nil,
		"dhcp": {{Name: "eth0", MAC: "52:54:00:f2:46:a7", DHCP4: true}},
		"static": {
			{Name: "eth0", MAC: "52:54:00:f2:46:a7", DHCP4: true, DHCP6: true, MTU: 9000},
			{
				Name: "eth1", MAC: "52:54:00:f2:46:a8", Addresses: []netip.Prefix{netip.MustParsePrefix("10.19.41.157/24"), netip.MustParsePrefix("fd00::157/64")},
				Gateway:     netip.MustParseAddr("10.19.41.254"),
				Routes:      []Route{{To: netip.MustParsePrefix("10.128.0.0/14"), Via: netip.MustParseAddr("10.19.41.1")}},
				Nameservers: []netip.Addr{netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("fd00::1")},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := NetworkConfig(interfaces)
			goldentest.Compare(t, filepath.Join("testdata", name+".yaml"), got)
			if err := CheckNetworkConfig(got); err != nil {
				t.Errorf("own check refuses what was rendered: %v", err)
			}
		})
	}
}

func TestNamesOfInterfacesAreTexts(t *testing.T) {
	t.Parallel()
	for name, spelled := range map[string]string{"eth0": "eth0", "br-ex.10": "br-ex.10", "on": `"on"`, "Off": `"Off"`, "yes": `"yes"`, "null": `"null"`, "10": `"10"`, "0x1f": `"0x1f"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := NetworkConfig([]Interface{{Name: name}})
			if !strings.Contains(got, "\n  "+spelled+":\n") || !strings.Contains(got, "set-name: "+spelled+"\n") {
				t.Errorf("it is not spelled %s in\n%s", spelled, got)
			}
		})
	}
}

func TestCheckUserData(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":               {"", ""},
		"cloud-config":        {"#cloud-config\npackages:\n  - vim\n", ""},
		"script":              {"#!/bin/bash\nfoo: [\n", ""},
		"jinja":               {"## template: jinja\n#cloud-config\nfoo: {{ v1.x }}\n", ""},
		"no header":           {"packages:\n  - vim\n", "line 1, column 1: cloud-init ignores"},
		"comment first":       {"# cloud-config\npackages: []\n", "line 1, column 1: cloud-init ignores"},
		"broken YAML":         {"#cloud-config\nusers:\n  - name: a\n   bad: indent\n", "line 4, column"},
		"unclosed list":       {"#cloud-config\nruncmd: [a, b\n", "line 2, column"},
		"a list at the top":   {"#cloud-config\n- a\n", "must be a YAML mapping"},
		"only its first line": {"#cloud-config", ""},
	} {
		t.Run(name, func(t *testing.T) { expect(t, CheckUserData(c.text), c.want) })
	}
}

func TestCheckNetworkConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"version 2":         {"version: 2\nethernets: {}\n", ""},
		"below network":     {"network:\n  version: 1\n  config: []\n", ""},
		"no version":        {"ethernets: {}\n", "version"},
		"wrong indentation": {"version: 2\nethernets:\n  eth0:\n dhcp4: true\n", "line"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, CheckNetworkConfig(c.text), c.want) })
	}
}

func TestMetaData(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing given":       {"", "instance-id: \"i\"\nlocal-hostname: \"h\"\n"},
		"nothing in it":       {"{}", "instance-id: \"i\"\nlocal-hostname: \"h\"\n# and nothing else\n"},
		"something else":      {"{region: eu}", "instance-id: \"i\"\nlocal-hostname: \"h\"\nregion: eu\n"},
		"its own instance id": {"instance-id: mine\n", "local-hostname: \"h\"\ninstance-id: mine\n"},
		"both given":          {"instance-id: mine\nlocal-hostname: me # kept\n", "instance-id: mine\nlocal-hostname: me # kept\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := MetaData(c.text, "i", "h")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error is %v, want one with %q", err, want)
	}
}

func TestMetaDataOfAnImportedMachine(t *testing.T) {
	t.Parallel()
	const text = "team:   blue # ours\n"
	completed, err := MetaData(text, "id", "host")
	if err != nil {
		t.Fatal(err)
	}
	for other, same := range map[string]bool{completed: true, "{team: blue}": true, "team: red\n": false, "local-hostname: other\nteam: blue\n": false, "team: [": false} {
		t.Run(other, func(t *testing.T) {
			t.Parallel()
			if SameMetaData(text, other, "id", "host") != same {
				t.Errorf("%q: want %t", other, same)
			}
		})
	}
	if completed, err = MetaData("{}", "id", "host"); err != nil || !SameMetaData("{}", completed, "id", "host") || !SameMetaData("# none\n", completed, "id", "host") {
		t.Errorf("metadata of nothing are not the same as %q: %v", completed, err)
	}
}
