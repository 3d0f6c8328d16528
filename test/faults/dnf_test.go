package faults

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision/packages"
)

// becomeFedora turns a machine into one of Fedora's family as far as installing packages goes: the Debian
// packages in /srv/debs bring dnf, and its only repository has keepalived, which is no longer installed.
const becomeFedora = `set -e
DEBIAN_FRONTEND=noninteractive dpkg -i /srv/debs/*.deb >/srv/dpkg.log 2>&1 || { tail /srv/dpkg.log; exit 1; }
mkdir -p /srv/repo/tree /etc/yum.repos.d
dpkg -L keepalived | while read -r name; do
  if [ -f "$name" ] && [ ! -L "$name" ]; then mkdir -p "/srv/repo/tree$(dirname "$name")" && cp -p "$name" "/srv/repo/tree$name" && echo "$name"; fi
done >/srv/repo/files
dpkg --purge --force-depends keepalived >/dev/null 2>&1
cat >/srv/repo/keepalived.spec <<'EOF'
Name: keepalived
Version: 2.2.7
Release: 1
Summary: test
License: test
AutoReqProv: no
%description
test
%install
cp -a /srv/repo/tree/. %{buildroot}
%files -f /srv/repo/files
EOF
rpmbuild -bb --define '_rpmdir /srv/repo' --define '_build_id_links none' --define '__strip /bin/true' /srv/repo/keepalived.spec >/srv/repo.log 2>&1 || { tail /srv/repo.log; exit 1; }
createrepo_c --quiet /srv/repo
printf '[local]\nname=local\nbaseurl=file:///srv/repo\ngpgcheck=0\n' >/etc/yum.repos.d/local.repo
rm /etc/os-release
printf 'ID=almalinux\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="AlmaLinux 9.5"\n' >/etc/os-release
! command -v keepalived`

// holdDNF takes the lock of dnf's lists of packages as another dnf does, by the number of a process that lives.
const holdDNF = `mkdir -p /var/cache/dnf && { sleep 300 >/dev/null 2>&1 & } && echo $! >/var/cache/dnf/metadata_lock.pid && echo $!`

func TestAccDNFInstallsWhatIsMissingAndWaitsForItsLock(t *testing.T) {
	opts := begin(t)
	putDebs(t, "svc-2", "dnf")
	acctest.On(t, "svc-2", "sh", "-c", becomeFedora)
	h := sshhost.New(sshhost.Target{User: "root", Host: acctest.ServiceNodes(t, 2)[1]}, opts)
	t.Cleanup(func() { h.Close() })
	services := []string{"keepalived"}

	var missing *provision.MissingError
	if _, err := provision.Prepare(t.Context(), h, new(owner.Run).New(), services, services, false); !errors.As(err, &missing) || missing.Family != packages.Fedora || !strings.Contains(err.Error(), `"dnf install keepalived"`) {
		t.Errorf("without leave to install: %v", err)
	}
	var exit *host.ExitError
	if err := packages.Install(t.Context(), h, packages.Fedora, []string{"nosuch"}, nil); !errors.As(err, &exit) || !strings.Contains(err.Error(), "dnf install nosuch on root@") || !strings.Contains(err.Error(), "No match for argument: nosuch") {
		t.Errorf("a package that is not there: %v", err)
	}
	holder := acctest.On(t, "svc-2", "sh", "-c", holdDNF)
	prepared := make(chan error, 1)
	go func() {
		_, err := provision.Prepare(t.Context(), h, new(owner.Run).New(), services, services, true)
		prepared <- err
	}()
	waiting := func() bool {
		_, err := acctest.Try(t.Context(), "svc-2", "grep", "-q", "Waiting for process with pid "+holder, "/var/log/virtcluster-packages.log")
		return err == nil
	}
	for start := time.Now(); !waiting(); time.Sleep(200 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("dnf does not wait for its lock")
		}
	}
	select {
	case err := <-prepared:
		t.Errorf("installed while another dnf held the lock: %v", err)
	default:
	}
	acctest.On(t, "svc-2", "kill", holder)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case err := <-prepared:
		if err != nil {
			t.Fatal(err)
		}
	case <-ctx.Done():
		t.Fatal("the lock is free, and nothing is installed")
	}
	inv, err := provision.Look(t.Context(), h)
	if err != nil || inv.Family != packages.Fedora || inv.Versions["keepalived"] != "2.2.7" || !inv.Has("keepalived") {
		t.Errorf("%+v, %v", inv, err)
	}
}
