package host

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// printed is a fingerprint as ssh-keygen -l prints it.
const printed = "SHA256:uNi+ztksCsDhcc0/9e8BrrQXVUpKZIDTMczCvj3tD2s"

func TestPinsAreFingerprintsOrTheirFirst96Bits(t *testing.T) {
	whole, err := ParsePin(printed)
	if err != nil || whole != "uNi-ztksCsDhcc0_9e8BrrQXVUpKZIDTMczCvj3tD2s" || whole.String() != printed || !whole.Whole() || !whole.Matches(printed) {
		t.Fatalf("%q, %v", string(whole), err)
	}
	short := whole.Short()
	if short != "uNi-ztksCsDhcc0_" || short.String() != "SHA256:uNi+ztksCsDhcc0/…" || short.Whole() || !short.Matches(printed) || short.Short() != short {
		t.Errorf("short: %q %s", string(short), short)
	}
	if bits, err := base64.RawURLEncoding.DecodeString(string(short)); err != nil || len(bits)*8 < 96 {
		t.Errorf("the short pin has %d bits, %v", len(bits)*8, err)
	}
	for text, words := range map[string]string{
		"":                                     "write a fingerprint",
		string(short[:15]):                     "16 of them",
		"SHA256:uNi+ztksCsDhcc0/":              "43 characters",
		printed + "A":                          "43 characters",
		"SHA256:" + strings.Repeat("!", 43):    "43 characters",
		strings.Repeat("A", 44):                "16 of them",
		"uNi%2Dztks":                           "16 of them",
		"MD5:aa:bb:cc:dd:ee:ff:00:11:22:33:44": "16 of them",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if p, err := ParsePin(text); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%q: %q, %v; want %q", text, string(p), err, words)
			}
		})
	}
}

func TestAPinMatchesNoOtherKey(t *testing.T) {
	whole, _ := ParsePin(printed)
	// A pin that somebody cut, or that is not there at all, proves nothing.
	for n := range pinLength {
		if whole[:n].Matches(printed) || whole.Within(whole[:n]) {
			t.Errorf("%d characters are enough", n)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(pinLength, fingerprintLength).Draw(t, "length")
		at := rapid.IntRange(0, fingerprintLength-1).Draw(t, "place")
		other := []byte(printed)
		if other[len(fingerprintPrefix)+at]++; at == fingerprintLength-1 {
			other[len(fingerprintPrefix)+at] = 'w'
		}
		// Two keys that have more in common than the pin says are one to it; every difference within it counts.
		if same := whole[:n].Matches(string(other)); same != (at >= n) {
			t.Fatalf("%d characters of %s match %s: %t", n, printed, other, same)
		}
	})
}

func TestAPinIsWithinWhatSaysLess(t *testing.T) {
	whole, _ := ParsePin(printed)
	other, _ := ParsePin("SHA256:" + base64.RawStdEncoding.EncodeToString([]byte(rand.Text() + rand.Text())[:32]))
	for _, c := range []struct {
		pin, in Pin
		want    bool
	}{
		{whole, whole, true}, {whole, whole.Short(), true}, {whole.Short(), whole, false}, {whole, "", false}, {"", whole, false},
		{other, whole, false}, {other, whole.Short(), false}, {whole.Short() + "x", whole.Short(), true}, {whole.Short() + "x", whole, false},
	} {
		t.Run(string(c.pin), func(t *testing.T) {
			t.Parallel()
			if got := c.pin.Within(c.in); got != c.want {
				t.Errorf("%q within %q: %t", string(c.pin), string(c.in), got)
			}
		})
	}
}

func TestReferencesAreShort(t *testing.T) {
	const old, now = "ssh://root@svc-1?host_key=SHA256%3AuNi%2BztksCsDhcc0%2F9e8BrrQXVUpKZIDTMczCvj3tD2s", "ssh://root@svc-1?host_key=uNi-ztksCsDhcc0_"
	const jump = "ssh://u@b?host_key=SHA256%3AuNi%2BztksCsDhcc0%2F9e8BrrQXVUpKZIDTMczCvj3tD2s&proxy_jump=a%40c%3A23%2Cssh%3A%2F%2Fd"
	const jumpNow = "ssh://u@b?host_key=uNi-ztksCsDhcc0_&proxy_jump=a@c:23,ssh:%2F%2Fd"
	for text, want := range map[string]string{
		old: now, now: now, jump: jumpNow, jumpNow: jumpNow,
		"ssh://root@svc-1?host_key=" + printed:                               now, // by hand, without escapes
		"ssh://root@svc-1?host_key=uNi-ztksCsDhcc0_9e8BrrQXVUpKZIDTMczCvj3t": now,
		old + "#zone/okd.example":                                            now + "#zone/okd.example",
		old + "#a#" + old:                                                    now + "#a#" + old,
		old + "," + jump + ",local:,qemu-ga:///x#api":                        now + "," + jumpNow + ",local:,qemu-ga:///x#api",
		"m1=" + old + ",m2=" + old + "#api":                                  "m1=" + now + ",m2=" + now + "#api",
		// What carries no host key is as it was written.
		"ssh://root@Svc-1:22": "ssh://root@Svc-1:22", "ssh://a?proxy_jump=u%40b#x": "ssh://a?proxy_jump=u%40b#x", "local:": "local:", "": "",
		"#!/bin/sh\necho " + old: "#!/bin/sh\necho " + old, "see " + old: "see " + old,
		"ssh://svc-1?host_key=SHA256:uNi": "ssh://svc-1?host_key=SHA256:uNi",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := ShortenReferences(text); got != want {
				t.Errorf("%s\n is   %s\n want %s", text, got, want)
			}
		})
	}
}

func TestOneMachineHasManyReferences(t *testing.T) {
	const whole, short = "ssh://a?host_key=" + printed, "ssh://a?host_key=uNi-ztksCsDhcc0_"
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{whole, short, true}, {whole, whole, true}, {"ssh://a:22/", "ssh://a", true}, {"local:", "local:///", true},
		{short, "ssh://a", false}, // one of them is pinned
		{whole, "ssh://b?host_key=uNi-ztksCsDhcc0_", false},
		{short, "ssh://a?host_key=uNi-ztksCsDhcc0-", false},
		{whole, short + "_", false},
		{whole + "#pool", short + "#pool", true}, {whole + "#pool", short + "#other", false}, {whole + "#pool", short, false},
		{"no endpoint", "no endpoint", true}, {"no endpoint", short, false},
	} {
		t.Run(c.a, func(t *testing.T) {
			t.Parallel()
			if SameReference(c.a, c.b) != c.want || SameReference(c.b, c.a) != c.want {
				t.Errorf("%s and %s are not %t", c.a, c.b, c.want)
			}
		})
	}
}
