package servicenode_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// mirror makes a package of the installed keepalived, offers it in the machine's only package mirror, a
// directory, and removes keepalived. What is below /etc is the package's configuration, which a removal without a purge leaves:
// keepalived 2.3 does not start without a file there.
const mirror = `set -e
version=$(dpkg-query -W -f '${Version}' keepalived)
build=/srv/mirror/build
mkdir -p "$build/DEBIAN"
dpkg -L keepalived | while read -r name; do
  if [ -f "$name" ] && [ ! -L "$name" ]; then mkdir -p "$build$(dirname "$name")" && cp -p "$name" "$build$name"; fi
done
for name in preinst postinst prerm postrm; do
  if [ -e "/var/lib/dpkg/info/keepalived.$name" ]; then cp -p "/var/lib/dpkg/info/keepalived.$name" "$build/DEBIAN/$name"; fi
done
printf 'Package: keepalived\nVersion: %s\nArchitecture: all\nMaintainer: Test <test@example.com>\nDescription: test\n' "$version" >"$build/DEBIAN/control"
find "$build/etc" -type f 2>/dev/null | sed "s|^$build||" >"$build/DEBIAN/conffiles"
dpkg-deb -b "$build" /srv/mirror/keepalived.deb >/dev/null
cd /srv/mirror
rm -rf build
{ dpkg-deb -f keepalived.deb
  printf 'Filename: ./keepalived.deb\nSize: %s\nSHA256: %s\n' "$(wc -c <keepalived.deb)" "$(sha256sum keepalived.deb | cut -d' ' -f1)"; } >Packages
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/mirror ./' >/etc/apt/sources.list.d/mirror.list
dpkg --purge --force-depends keepalived >/dev/null 2>&1
! command -v keepalived`

// hold keeps dpkg's lock, as unattended upgrades do, until /run/release is there, for a minute at most.
const hold = `rm -f /run/held /run/release
perl -e 'use Fcntl; open(F, ">>", "/var/lib/dpkg/lock-frontend") or die "$!"; $all = pack("s s x![l!] l! l! i x![l!]", F_WRLCK, 0, 0, 0, 0);
  fcntl(F, F_SETLK, $all) or die "$!"; open(H, ">", "/run/held") or die "$!";
  for (1..600) { last if -e "/run/release"; select(undef, undef, undef, 0.1); }' >/run/hold.log 2>&1 </dev/null &
for _ in $(seq 100); do [ ! -e /run/held ] || exit 0; sleep 0.1; done
cat /run/hold.log
exit 1`

// installing prints apt-get's process while it waits or works; its first argument tells it from an update of the lists.
const installing = `for p in $(pgrep -x apt-get); do tr '\0' ' ' <"/proc/$p/cmdline" | grep -q ' install ' && echo "$p"; done; true`

// releases lets dpkg's lock go once apt-get has waited for it for two seconds, and says whether it did.
func releases(t *testing.T) <-chan bool {
	waited := make(chan bool, 1)
	go func() {
		defer close(waited)
		for before := ""; t.Context().Err() == nil; time.Sleep(2 * time.Second) {
			now, _ := acctest.Try(t.Context(), "svc-1", "sh", "-c", installing)
			if now != "" && now == before {
				waited <- true
				break
			}
			before = now
		}
		_, _ = acctest.Try(t.Context(), "svc-1", "touch", "/run/release") // fails only where the machine is gone
	}()
	return waited
}

func TestAccServiceNodeInstallsWhatIsMissing(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	var waited <-chan bool
	services := `services = ["haproxy", "keepalived"]`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			// Packages stay, but what was not there before does not run.
			acctest.On(t, "svc-1", "sh", "-c", "command -v keepalived")
			if out, _ := acctest.Try(t.Context(), "svc-1", "systemctl", "is-enabled", "keepalived.service"); out != "disabled" {
				return fmt.Errorf("keepalived.service is %s", out)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sh", "-c", mirror)
					acctest.On(t, "svc-1", "sh", "-c", "mv /srv/mirror /srv/away")
				},
				Config: config("ssh://root@"+node, services), ExpectError: regexp.MustCompile(`(?s)apt-get\s+install\s+keepalived.*exit\s+status`),
			},
			{
				PreConfig: func() {
					acctest.On(t, "svc-1", "sh", "-c", "mv /srv/away /srv/mirror")
					acctest.On(t, "svc-1", "sh", "-c", hold)
					waited = releases(t)
				},
				Config: config("ssh://root@"+node, services),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestMatchResourceAttr(address, "versions.keepalived", regexp.MustCompile(`^2\.`)),
					func(*terraform.State) error {
						if done := len(waited) == 1 && <-waited; !done {
							return errors.New("did not wait for dpkg's lock")
						}
						acctest.On(t, "svc-1", "systemctl", "is-enabled", "keepalived.service")
						return nil
					},
				),
			},
		},
	})
}
