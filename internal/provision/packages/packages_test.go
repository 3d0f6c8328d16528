package packages

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

func TestFamilyIsToldByOSRelease(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Family{
		"ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"": Debian,
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"":                   Debian,
		"# a comment\nID='fedora'":                                  Fedora,
		"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"":              Fedora,
		"ID=alpine": Unknown,
		"":          Unknown,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := FamilyOf(ParseOSRelease([]byte(text))); got != want {
				t.Errorf("%q: %q", text, got)
			}
		})
	}
	if name := ParseOSRelease([]byte("PRETTY_NAME=\"A \\\"B\\\" \\$C\""))["PRETTY_NAME"]; name != `A "B" $C` {
		t.Errorf("got %q", name)
	}
}

func TestInstallTakesTheMachinesLockAndNamesThePackages(t *testing.T) {
	t.Parallel()
	h := hosttest.New()
	var ran []host.Cmd
	h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		ran = append(ran, cmd)
		return nil, nil
	}, "sh", "-c")
	if err := Install(t.Context(), h, Debian, []string{"haproxy", "bind9"}, nil); err != nil {
		t.Fatal(err)
	}
	if len(ran) != 1 || ran[0].String() != "apt-get install bind9 haproxy" || h.Count("lock packages") != 1 {
		t.Errorf("%v, %v", ran, h.Log())
	}
	if err := Install(t.Context(), h, Debian, nil, nil); err != nil || len(ran) != 1 {
		t.Errorf("nothing to install: %v, %d", err, len(ran))
	}
	if err := Install(t.Context(), h, Unknown, []string{"x"}, nil); err == nil || len(ran) != 1 {
		t.Errorf("an unknown distribution: %v, %d", err, len(ran))
	}
}

func TestFailedInstallCarriesTheManagersWords(t *testing.T) {
	t.Parallel()
	h := hosttest.New()
	h.On(hosttest.Answer("", 1, "E: Unable to locate package haproxy"), "sh")
	err := Install(t.Context(), h, Debian, []string{"haproxy"}, nil)
	var exit *host.ExitError
	if !errors.As(err, &exit) || !strings.Contains(err.Error(), "Unable to locate") || !strings.Contains(err.Error(), "apt-get install haproxy") {
		t.Errorf("%v", err)
	}
}

// TestAptIsTriedAgainWhileOthersInstall runs apt.sh: while another program installs, what fails is tried again.
func TestAptIsTriedAgainWhileOthersInstall(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	tried := filepath.Join(t.TempDir(), "tried")
	end := hosttest.Script{
		Text: aptScript, Args: []string{log, "", "bind9", "haproxy"}, Programs: map[string]string{
			"dpkg":    "",
			"cat":     "echo apt-get",
			"sleep":   "",
			"apt-get": `case $* in *update*) [ -e ` + tried + ` ] || { : >` + tried + `; exit 100; } ;; *) echo "${DEBIAN_FRONTEND}: installed" ;; esac`,
		},
	}.Run(t)
	calls := slices.DeleteFunc(end.Calls, func(s string) bool { return strings.HasPrefix(s, "cat ") })
	want := []string{
		"dpkg --configure -a", "apt-get -q update", "sleep 3", "apt-get -q update", "apt-get -qq -s --no-install-recommends install -- bind9 haproxy",
		"apt-get -q -y --no-remove --no-install-recommends -o DPkg::Lock::Timeout=600 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install -- bind9 haproxy",
	}
	if end.Status != 0 || end.Stdout != "" || !slices.Equal(calls, want) {
		t.Errorf("%+v", end)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "noninteractive: installed") {
		t.Errorf("the log has %q, %v", text, err)
	}
}

// TestOnlyWhatMayGoIsRemoved runs apt.sh where an installation takes packages away.
func TestOnlyWhatMayGoIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		goes, says string
		keeps      bool
	}{
		"nothing":                 {"Inst chrony (4.3)", "", true},
		"what it replaces":        {"Remv systemd-timesyncd [252.1]\nInst chrony (4.3)", "", false},
		"what somebody installed": {"Remv ntpsec [1.2]\nInst chrony (4.3)", "it would remove ntpsec, so", false},
		"both":                    {"Remv systemd-timesyncd [252.1]\nPurg ntpsec:amd64 [1.2]", "it would remove ntpsec:amd64, so", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{
				Text: aptScript, Args: []string{filepath.Join(t.TempDir(), "log"), "systemd-timesyncd", "chrony"},
				Programs: map[string]string{"apt-get": `case $* in *" -s "*) printf '` + c.goes + `\n' ;; esac`, "dpkg": "", "cat": ""},
			}.Run(t)
			if (end.Status == 0) != (c.says == "") || !strings.Contains(end.Stderr, c.says) {
				t.Errorf("%+v", end)
			}
			asked := func(text string) bool {
				return slices.ContainsFunc(end.Calls, func(s string) bool { return strings.HasPrefix(s, "apt-get -q -y "+text) })
			}
			if asked("") != (c.says == "") || asked("--no-remove ") != c.keeps {
				t.Errorf("ran %q", end.Calls)
			}
		})
	}
}

// TestEndOfTheLogIsTold runs apt.sh and dnf.sh where they fail.
func TestEndOfTheLogIsTold(t *testing.T) {
	t.Parallel()
	for program, script := range map[string]string{"apt-get": aptScript, "dnf": dnfScript} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{
				Text: script, Args: []string{filepath.Join(t.TempDir(), "log"), "", "haproxy"},
				Programs: map[string]string{program: "echo no package haproxy; exit 1", "dpkg": "", "cat": ""},
			}.Run(t)
			if end.Status != 1 || end.Stdout != "" || !strings.Contains(end.Stderr, "no package haproxy") {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestPackagesComeByWhatThereIs runs dnf.sh on an image that has no dnf.
func TestPackagesComeByWhatThereIs(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{
		Text: dnfScript, Args: []string{filepath.Join(t.TempDir(), "log"), "", "haproxy", "bind"},
		Programs: map[string]string{"microdnf": "", "yum": "", "date": ""}, Alone: true,
	}.Run(t)
	if end.Status != 0 || !slices.Equal(end.Calls, []string{"date ", "microdnf -y install haproxy bind"}) {
		t.Errorf("%+v", end)
	}
}
