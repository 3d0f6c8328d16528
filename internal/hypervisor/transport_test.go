package hypervisor

import (
	"slices"
	"strings"
	"testing"
)

func TestURIsSayWhereTheDaemonIs(t *testing.T) {
	for uri, want := range map[string]target{
		"qemu:///system":                                {transport: "unix", remoteURI: "qemu:///system", sockets: []string{"/var/run/libvirt/libvirt-sock", "/var/run/libvirt/virtqemud-sock"}},
		"qemu+unix:///system?socket=/a/b":               {transport: "unix", remoteURI: "qemu:///system", sockets: []string{"/a/b"}},
		"qemu:///system?mode=direct":                    {transport: "unix", remoteURI: "qemu:///system", sockets: []string{"/var/run/libvirt/virtqemud-sock"}},
		"test:///default":                               {transport: "unix", remoteURI: "test:///default", sockets: []string{"/var/run/libvirt/libvirt-sock"}},
		"qemu+tcp://kvm1/system":                        {transport: "tcp", host: "kvm1", remoteURI: "qemu:///system"},
		"qemu+tcp://[2001:db8::1]:9/system":             {transport: "tcp", host: "2001:db8::1", port: "9", remoteURI: "qemu:///system"},
		"qemu://kvm1/system":                            {transport: "tls", host: "kvm1", remoteURI: "qemu:///system"},
		"qemu+tls://kvm1/system?pkipath=/p&no_verify=1": {transport: "tls", host: "kvm1", remoteURI: "qemu:///system", pkiPath: "/p", noVerify: true},
		"qemu+ssh://me@kvm1:2222/system?keyfile=/k":     {transport: "ssh", user: "me", host: "kvm1", port: "2222", remoteURI: "qemu:///system", keyFile: "/k"},
	} {
		t.Run(uri, func(t *testing.T) {
			got, err := parseURI(uri)
			if err != nil {
				t.Errorf("%s: %v", uri, err)
				return
			}
			if want.sockets != nil && !slices.Equal(got.sockets, want.sockets) {
				t.Errorf("%s: sockets %q", uri, got.sockets)
			}
			if got.sockets, want.sockets = nil, nil; !equal(got, want) {
				t.Errorf("%s: %+v", uri, got)
			}
		})
	}
}

func equal(a, b target) bool {
	return a.transport == b.transport && a.user == b.user && a.host == b.host && a.port == b.port &&
		a.remoteURI == b.remoteURI && a.pkiPath == b.pkiPath && a.noVerify == b.noVerify && a.keyFile == b.keyFile
}

func TestInvalidURIsAreRefusedWithARemedy(t *testing.T) {
	for uri, want := range map[string]string{
		"xen:///system":                     "starts with qemu or test",
		"kvm1":                              "starts with qemu or test",
		"qemu+carrier://kvm1/system":        "unknown transport",
		"qemu+ssh:///system":                "needs a host",
		"qemu+tcp://kvm1":                   "path is missing",
		"qemu:///system?sokcet=/a":          `parameter "sokcet"`,
		"qemu+ssh://h/system?no_verify=1":   `parameter "no_verify"`,
		"qemu+tls://h/system?no_verify=yes": "no_verify is 0 or 1",
	} {
		t.Run(uri, func(t *testing.T) {
			if _, err := parseURI(uri); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", uri, err, want)
			}
		})
	}
}
