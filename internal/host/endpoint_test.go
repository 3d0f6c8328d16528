package host

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEndpointsHaveOneCanonicalForm(t *testing.T) {
	for text, want := range map[string]string{
		"ssh://10.0.0.100":                   "ssh://10.0.0.100",
		"ssh://root@10.0.0.100:22/":          "ssh://root@10.0.0.100",
		"ssh://root@Node.Example:2222":       "ssh://root@node.example:2222",
		"ssh://root@[2001:db8:0::1]":         "ssh://root@[2001:db8::1]",
		"ssh://root@[2001:db8::1]:2222":      "ssh://root@[2001:db8::1]:2222",
		"ssh://a?proxy_jump=u@b:23,c":        "ssh://a?proxy_jump=u@b:23,c",
		"ssh://a?proxy_jump=u%40b%3A23%2Cc":  "ssh://a?proxy_jump=u@b:23,c",
		"ssh://a?proxy_jump=ssh://u@b,c%26d": "ssh://a?proxy_jump=ssh:%2F%2Fu@b,c%26d",
		"ssh://a?host_key=" + printed:        "ssh://a?host_key=uNi-ztksCsDhcc0_9e8BrrQXVUpKZIDTMczCvj3tD2s",
		"ssh://a?host_key=SHA256%3AuNi%2BztksCsDhcc0%2F9e8BrrQXVUpKZIDTMczCvj3tD2s": "ssh://a?host_key=uNi-ztksCsDhcc0_9e8BrrQXVUpKZIDTMczCvj3tD2s",
		"ssh://a?proxy_jump=b&host_key=uNi-ztksCsDhcc0_":                            "ssh://a?host_key=uNi-ztksCsDhcc0_&proxy_jump=b",
		"local:":                        "local:",
		"local:///":                     "local:",
		"qemu-ga:///okd-service-01":     "qemu-ga:///okd-service-01",
		"qemu-ga://kvm2/okd-service-01": "qemu-ga://kvm2/okd-service-01",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			e, err := ParseEndpoint(text)
			if err != nil || e.String() != want {
				t.Errorf("%s: %q, %v; want %q", text, e, err, want)
				return
			}
			again, err := ParseEndpoint(e.String())
			if diff := cmp.Diff(e, again); err != nil || diff != "" && !strings.Contains(text, ":22") {
				t.Errorf("%s: read back: %v %s", text, err, diff)
			}
		})
	}
}

func TestBadEndpointsSayWhatToWrite(t *testing.T) {
	for text, words := range map[string]string{
		"":                                  "write ssh://",
		"10.0.0.100":                        "write ssh://",
		"http://10.0.0.100":                 "write ssh://",
		"ssh://":                            "write ssh://",
		"ssh://root:pw@h":                   "password",
		"ssh://h:0":                         "no port",
		"ssh://h:65536":                     "no port",
		"ssh://h/etc":                       "no path",
		"ssh://h#x":                         "after #",
		"ssh://h?proxyjump=x":               "proxy_jump",
		"ssh://h?proxy_jump=a&proxy_jump=b": "twice",
		"ssh://h?host_key=MD5:aa":           "fingerprint",
		"ssh://h?host_key=uNi-ztksCsDhcc0":  "16",
		"ssh://h?host_key=":                 "16",
		"ssh://-oProxyCommand=x":            "write ssh://",
		"local:x":                           "nothing after",
		"qemu-ga://okd-service-01":          "qemu-ga:///DOMAIN",
		"qemu-ga:///a/b":                    "qemu-ga:///DOMAIN",
		"ssh://h\n":                         "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if e, err := ParseEndpoint(text); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%q: %v, %v; want %q", text, e, err, words)
			}
		})
	}
}

func TestIDsOfServiceNodesCanBePartOfOtherIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Endpoint{
			Scheme: SSH, Host: "10.0.0.100", User: rapid.StringMatching(`[a-z]*`).Draw(t, "user"),
			Port: rapid.IntRange(23, 65535).Draw(t, "port"),
		}
		fingerprint := "SHA256:" + rapid.StringMatching(`[A-Za-z0-9+/]{43}`).Draw(t, "key")
		var err error
		if e.HostKey, err = ParsePin(fingerprint); err != nil {
			t.Fatal(err)
		}
		if short, err := ParseEndpoint(e.Reference()); err != nil || len(short.HostKey) != pinLength || !short.HostKey.Matches(fingerprint) || strings.Contains(e.Reference(), "%") {
			t.Fatalf("%q: %q, %v", e.Reference(), short, err)
		}
		id := e.String()
		if rest, _ := strings.CutPrefix(id, "ssh://"); strings.ContainsAny(rest, "/#+") {
			t.Fatalf("id %q", id)
		}
		if again, err := ParseEndpoint(id); err != nil || again != e {
			t.Fatalf("%q: %v, %v", id, again, err)
		}
	})
}

func TestJumpsAreReadAsOpenSSHDoes(t *testing.T) {
	hops, err := ParseJump("root@a:2222, b ,ssh://u@[2001:db8::1]:23")
	want := []Hop{{User: "root", Host: "a", Port: 2222}, {Host: "b"}, {User: "u", Host: "2001:db8::1", Port: 23}}
	if diff := cmp.Diff(want, hops); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, text := range []string{"fd00::1", "bastion", "bastion:22", "root@bastion:2222", "u@[fd00::1]:22"} {
		t.Run(text, func(t *testing.T) {
			written := strings.Replace(text, "fd00::1", "[fd00::1]", 1)
			written = strings.ReplaceAll(strings.ReplaceAll(written, "[[", "["), "]]", "]")
			hops, err := ParseJump(written)
			if err != nil || len(hops) != 1 || hops[0].String() != written {
				t.Errorf("%q is read as %v, %v", written, hops, err)
			}
		})
	}
	if hops, err := ParseJump("none"); err != nil || hops != nil {
		t.Errorf("none: %v, %v", hops, err)
	}
	if _, err := ParseJump("a,,b"); err == nil {
		t.Error("an empty hop is no error")
	}
}

func TestShellReadsQuotedArgumentsUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOf(rapid.StringMatching("[a-z '\"\\\\$`!*?~#&;|<>(){}\n\t=äß-]*")).Draw(t, "args")
		out, err := exec.Command("sh", "-c", Quote(append([]string{"printf", "%s|", "x"}, args...))).Output()
		want := "x|"
		for _, a := range args {
			want += a + "|"
		}
		if err != nil || string(out) != want {
			t.Fatalf("%q gave %q, %v", args, out, err)
		}
	})
}
