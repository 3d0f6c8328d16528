package packages

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestFamilyIsToldByOSRelease(t *testing.T) {
	for text, want := range map[string]Family{
		"ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"": Debian,
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"":                   Debian,
		"# a comment\nID='fedora'":                                  Fedora,
		"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"":              Fedora,
		"ID=alpine": Unknown,
		"":          Unknown,
	} {
		if got := FamilyOf(ParseOSRelease([]byte(text))); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if name := ParseOSRelease([]byte("PRETTY_NAME=\"A \\\"B\\\" \\$C\""))["PRETTY_NAME"]; name != `A "B" $C` {
		t.Errorf("got %q", name)
	}
}

func TestInstallTakesTheMachinesLockAndNamesThePackages(t *testing.T) {
	h := hosttest.New()
	var ran []host.Cmd
	h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		ran = append(ran, cmd)
		return nil, nil
	}, "sh", "-c")
	if err := Install(t.Context(), h, Debian, []string{"haproxy", "bind9"}); err != nil {
		t.Fatal(err)
	}
	if len(ran) != 1 || ran[0].String() != "apt-get install bind9 haproxy" || h.Count("lock packages") != 1 {
		t.Errorf("%v, %v", ran, h.Log())
	}
	if err := Install(t.Context(), h, Debian, nil); err != nil || len(ran) != 1 {
		t.Errorf("nothing to install: %v, %d", err, len(ran))
	}
	if err := Install(t.Context(), h, Unknown, []string{"x"}); err == nil || len(ran) != 1 {
		t.Errorf("an unknown distribution: %v, %d", err, len(ran))
	}
}

func TestFailedInstallCarriesTheManagersWords(t *testing.T) {
	h := hosttest.New()
	h.On(hosttest.Answer("", 1, "E: Unable to locate package haproxy"), "sh")
	err := Install(t.Context(), h, Debian, []string{"haproxy"})
	var exit *host.ExitError
	if !errors.As(err, &exit) || !strings.Contains(err.Error(), "Unable to locate") || !strings.Contains(err.Error(), "apt-get install haproxy") {
		t.Errorf("%v", err)
	}
}
