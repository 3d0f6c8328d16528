package servicenode_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// mirror makes a package of the installed keepalived, offers it in the machine's only package mirror, a
// directory, and removes keepalived.
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
dpkg-deb -b "$build" /srv/mirror/keepalived.deb >/dev/null
cd /srv/mirror
rm -rf build
{ dpkg-deb -f keepalived.deb
  printf 'Filename: ./keepalived.deb\nSize: %s\nSHA256: %s\n' "$(wc -c <keepalived.deb)" "$(sha256sum keepalived.deb | cut -d' ' -f1)"; } >Packages
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/mirror ./' >/etc/apt/sources.list.d/mirror.list
dpkg --purge --force-depends keepalived >/dev/null 2>&1
! command -v keepalived`

// hold keeps dpkg's lock for some seconds, as unattended upgrades do.
const hold = `perl -e 'use Fcntl; open(F, ">>", "/var/lib/dpkg/lock-frontend"); fcntl(F, F_SETLK, pack("s s l! l! i", F_WRLCK, 0, 0, 0, 0)) or die "$!"; print "held\n"; close(STDOUT); close(STDERR); sleep 6' &
sleep 0.5`

func TestAccServiceNodeInstallsWhatIsMissing(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	var start time.Time
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
					start = time.Now()
				},
				Config: config("ssh://root@"+node, services),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestMatchResourceAttr(address, "versions.keepalived", regexp.MustCompile(`^2\.`)),
					func(*terraform.State) error {
						if took := time.Since(start); took < 5*time.Second {
							return fmt.Errorf("did not wait for dpkg's lock: %s", took)
						}
						acctest.On(t, "svc-1", "systemctl", "is-enabled", "keepalived.service")
						return nil
					},
				),
			},
		},
	})
}
