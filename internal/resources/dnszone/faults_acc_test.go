package dnszone_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const zoneDir = "/etc/bind/virtcluster/zones/internal"

// TestAccZonesThroughFaults changes one zone among others, on real BIND, while things go wrong.
func TestAccZonesThroughFaults(t *testing.T) {
	acctest.InSandbox(t)
	s := acctest.NewState(t)
	host, extra := 0, ""
	config := func() string {
		host++
		return views(t) + zone("internal", fmt.Sprintf(`api = { A = ["10.0.0.%d"] }`, host)) + zone("external", outside) + reverse + extra
	}
	served := func() string { return fmt.Sprintf("10.0.0.%d", host) }
	s.DestroyAtEnd()
	s.Apply(config())

	t.Run("a change loads the one zone in the one view", func(t *testing.T) {
		want, before := told(t)
		s.Apply(config())
		is(t, served(), "api.okd.example")
		want["okd.example/IN/internal"]++
		got, commands := told(t)
		if !maps.Equal(got, want) {
			t.Errorf("loaded %v, want %v", got, want)
		}
		if given := commands[len(before):]; !slices.Equal(given, []string{"reload okd.example IN internal"}) {
			t.Errorf("told to %q", given)
		}
	})
	t.Run("a new zone loads no other one, and named goes on", func(t *testing.T) {
		want, before := told(t)
		extra = strings.NewReplacer(`"internal" {`, `"extra" {`, "okd.example", "extra.example").Replace(zone("internal", `x = { A = ["10.0.0.7"] }`))
		host--
		s.Apply(config())
		is(t, "10.0.0.7", "x.extra.example")
		want["extra.example/IN/internal"]++
		got, commands := told(t)
		if !maps.Equal(got, want) {
			t.Errorf("loaded %v, want %v", got, want)
		}
		// On a slow machine named may be asked once more for the zone that it is loading.
		given := slices.Compact(commands[len(before):])
		if len(given) == 0 || given[0] != "reconfig" || len(slices.DeleteFunc(given[1:], func(c string) bool { return c == "reload extra.example IN internal" })) > 0 {
			t.Errorf("told to %q", given)
		}
	})
	t.Run("a reload that fails is undone, and the serial rises after it", func(t *testing.T) {
		before, old := serial(t), served()
		acctest.On(t, "svc-1", "chmod", "0700", zoneDir) // the checker is root and reads on, named does not
		s.Write(config())
		out, err := s.Try("apply", "-auto-approve")
		words := strings.Join(strings.Fields(out), " ")
		if err == nil || !regexp.MustCompile(`zone okd.example in view internal does not serve serial .*serves the one before again|serves the one before again: .*zone okd.example in view internal does not serve serial`).MatchString(words) {
			t.Errorf("the error must say what is not served, and what is: %v\n%s", err, out)
		}
		if !strings.Contains(words, "permission denied") {
			t.Errorf("the error must have named's own words:\n%s", out)
		}
		is(t, old, "api.okd.example")
		if got := serial(t); got != before {
			t.Errorf("serial %d is served, not %d", got, before)
		}
		if file := acctest.On(t, "svc-1", "cat", internalFile); !strings.Contains(file, old) {
			t.Errorf("the old file is not back:\n%s", file)
		}
		acctest.On(t, "svc-1", "chmod", "0755", zoneDir)
		s.Run("apply", "-auto-approve")
		is(t, served(), "api.okd.example")
		rose(t, before)
		s.Settled()
	})
	for _, by := range []string{"2100000000", "4100000000"} { // ahead of the clock, and behind it by RFC 1982
		t.Run("the serial rises above a hand-edited "+by, func(t *testing.T) {
			acctest.On(t, "svc-1", "sed", "-i", `s/\(\tSOA\t[^ ]* [^ ]*\) [0-9]*/\1 `+by+`/`, internalFile)
			acctest.On(t, "svc-1", "rndc", "reload", "okd.example", "IN", "internal")
			acctest.Eventually(t, "for the serial "+by, func() bool { return fmt.Sprint(serial(t)) == by })
			before := serial(t)
			s.Apply(config())
			is(t, served(), "api.okd.example")
			rose(t, before)
		})
	}
	t.Run("a provider killed in mid-commit leaves a zone that answers, and the next apply converges", func(t *testing.T) {
		before, old := serial(t), served()
		s.Write(config())
		// So that the reload does not end: named itself is asked before anything is written.
		acctest.On(t, "svc-1", "sh", "-c", `: >/run/held; cat >/usr/local/sbin/rndc <<'END'
#!/bin/sh
case $1 in reload | reconfig) while [ -e /run/held ]; do sleep 0.1; done ;; esac
exec /usr/sbin/rndc "$@"
END
chmod 0755 /usr/local/sbin/rndc`)
		release := func() { acctest.On(t, "svc-1", "rm", "-f", "/run/held", "/usr/local/sbin/rndc") }
		defer release()
		apply := s.Start("apply", "-auto-approve")
		acctest.Eventually(t, "for the swap", func() bool {
			_, err := acctest.Try(t.Context(), "svc-1", "grep", "-q", served(), internalFile)
			return err == nil
		})
		acctest.On(t, "svc-1", "test", "-e", "/var/lib/virtcluster/bind/journal.json")
		if err := syscall.Kill(acctest.ProviderOf(t, apply.Process.Pid), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		release()
		if err := apply.Wait(); err == nil {
			t.Errorf("an apply without its provider passes for a whole one:\n%s", apply.Out.String())
		}
		got := acctest.On(t, "hypervisor", "dig", "+short", "@"+acctest.ServiceNodes(t, 1)[0], "api.okd.example")
		if got != old && got != served() {
			t.Errorf("told %q", got)
		}
		s.Run("apply", "-auto-approve")
		is(t, served(), "api.okd.example")
		rose(t, before)
		s.Settled()
		if left := acctest.On(t, "svc-1", "ls", "/var/lib/virtcluster/bind"); left != "original.json" {
			t.Errorf("left beside the configuration: %s", left)
		}
	})
}
