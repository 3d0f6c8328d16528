package faults

import (
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestAccNamedWithoutItsKeyIsNotChangedAndIsGivenBack(t *testing.T) {
	opts := begin(t)
	s := bindSubject
	h := s.start(t, opts)
	files := func() string {
		return acctest.On(t, "svc-1", "sh", "-c", `cd /etc/bind && find . -type f ! -name rndc.key | sort | xargs sha256sum`)
	}
	was := files()
	acctest.On(t, "svc-1", "mv", "/etc/bind/rndc.key", "/root/rndc.key")
	defer acctest.On(t, "svc-1", "sh", "-c", "mv /root/rndc.key /etc/bind/rndc.key; systemctl restart named")
	err := s.commit(t, h, s.edit(after, nil))
	if !errors.As(err, new(*transaction.UnfitError)) || !strings.Contains(err.Error(), "rndc.key") {
		t.Errorf("got %v", err)
	}
	t.Log(err)
	if is := files(); is != was {
		t.Errorf("files became\n%s\nfrom\n%s", is, was)
	}
	s.clean(t, "refused")
	var said []string
	drop := transaction.Edit{Owner: "faults", Apply: s.drop, Removes: true, Warn: func(text string) { said = append(said, text) }}
	if err := s.commit(t, h, drop); err != nil || len(said) != 1 || !strings.Contains(said[0], "rndc") {
		t.Errorf("destroy: %q, %v", said, err)
	}
	t.Log(said)
	if warnings, _, err := new(transaction.Engine).GiveBack(t.Context(), h, s.Daemon); err != nil {
		t.Errorf("give back: %q, %v", warnings, err)
	}
	if left, err := acctest.Try(t.Context(), "svc-1", "sh", "-c", "ls -d /var/lib/virtcluster/bind; grep -r faults.example /etc/bind"); err == nil {
		t.Errorf("left %s", left)
	}
}

func TestAccConfigurationThatIsALinkStaysOne(t *testing.T) {
	opts := begin(t)
	for _, s := range subjects {
		t.Run(s.Name(), func(t *testing.T) {
			h := s.start(t, opts)
			file := map[string]string{"haproxy": "haproxy.cfg", "bind": "named.conf", "keepalived": "keepalived.conf"}[s.Name()]
			path, target := s.dir+"/"+file, "/srv/"+file
			acctest.On(t, "svc-1", "sh", "-c", `cp -p "$1" "$2" && ln -sf "$2" "$1"`, "sh", path, target)
			defer acctest.On(t, "svc-1", "sh", "-c", `cp -p --remove-destination "$2" "$1" && rm "$2"`, "sh", path, target)
			content := func() string { return acctest.On(t, "svc-1", "cat", target) }
			was := content()
			if err := s.commit(t, h, s.edit(after, s.refused)); err == nil {
				t.Error("not refused")
			}
			if is := content(); is != was {
				t.Errorf("what was refused is live: %s", is)
			}
			if err := s.commit(t, h, s.edit(after, nil)); err != nil {
				t.Error(err)
			}
			s.serves(t, "changed", after)
			if leads := acctest.On(t, "svc-1", "readlink", path); leads != target {
				t.Errorf("the link leads to %s", leads)
			}
			s.clean(t, "changed")
		})
	}
}

func TestAccWhatIsAddedAfterAKillDuringTheReloadStays(t *testing.T) {
	opts := begin(t)
	s := haproxySubject
	h := s.start(t, opts)
	if out, err := client(opts, "killed-in-reload", s.Name(), "0").CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	acctest.On(t, "svc-1", "test", "-e", "/var/lib/virtcluster/haproxy/journal.json")
	acctest.On(t, "svc-1", "sh", "-c", `cat >>/etc/haproxy/haproxy.cfg <<'END'

frontend person
	bind *:8099
	mode http
	timeout client 5s
	http-request return status 200 content-type text/plain string person
END
systemctl reload haproxy`)
	defer acctest.On(t, "svc-1", "sh", "-c", `sed -i '/^frontend person/,/string person/d' /etc/haproxy/haproxy.cfg; systemctl reload haproxy`)
	var said []string
	edit := s.edit(after, nil)
	edit.Warn = func(text string) { said = append(said, text) }
	if err := s.commit(t, h, edit); err != nil {
		t.Fatal(err)
	}
	s.serves(t, "after the repair", after)
	if got, err := acctest.Try(t.Context(), "hypervisor", "curl", "-sS", "--max-time", "3", "http://"+acctest.ServiceNodes(t, 1)[0]+":8099/"); got != "person" {
		t.Errorf("what a person added answers %q, %v", got, err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "haproxy.cfg") || !strings.Contains(said[0], "interrupted.json") {
		t.Errorf("said %q", said)
	}
	s.clean(t, "after the repair")
}

// unloadable has a daemon run that cannot load its own files as they are found, though its checker takes them: by an address that
// the machine does not have, a log file that cannot be opened, a unit whose reload fails.
var unloadable = map[string]struct{ before, spoil, mend, after string }{
	"haproxy": {
		"",
		`printf '\nfrontend person\n\tbind 203.0.113.9:8099\n\tmode http\n\ttimeout client 5s\n' >>/etc/haproxy/haproxy.cfg`,
		`sed -i '/^frontend person/,/timeout client 5s/d' /etc/haproxy/haproxy.cfg && sed -i -e :a -e '/^\n*$/{$d;N;ba' -e '}' /etc/haproxy/haproxy.cfg`,
		"",
	},
	"bind": {
		`echo 'logging { channel person { file "/srv/person/log"; }; category default { person; }; };' >>/etc/bind/named.conf`,
		"rm -r /srv/person",
		"install -d -o bind /srv/person",
		`sed -i '/person.log/d' /etc/bind/named.conf; rm -r /srv/person`,
	},
	"keepalived": {
		"",
		`printf 'vrrp_instance person {\n    interface eth0\n    virtual_router_id 78\n    virtual_ipaddress {\n        10.0.100.178/24\n    }\n}\n' >>/etc/keepalived/keepalived.conf
		mkdir -p /run/systemd/system/keepalived.service.d
		chmod 640 /etc/keepalived/keepalived.conf
		printf '[Service]\nExecReload=\nExecReload=/bin/false\n' >/run/systemd/system/keepalived.service.d/faults.conf && systemctl daemon-reload`,
		`rm -rf /run/systemd/system/keepalived.service.d /etc/keepalived/keepalived.conf && systemctl daemon-reload`,
		"",
	},
}

func TestAccWhatCannotBeReloadedAsItIsFoundIsTakenOutAndGivenBack(t *testing.T) {
	opts := begin(t)
	for _, s := range subjects {
		t.Run(s.Name(), func(t *testing.T) {
			// The sum of all files but what the provider names its own.
			files := func() string {
				return acctest.On(t, "svc-1", "sh", "-c", `cd "$1" && find . -type f ! -path '*virtcluster*' -exec stat -c '%n %a %U' {} + -exec sha256sum {} + | sort`, "sh", s.dir)
			}
			fault := unloadable[s.Name()]
			on := func(script string) { acctest.On(t, "svc-1", "sh", "-c", script) }
			on(fault.before)
			defer on(fault.after)
			on(fault.mend + "\n" + fault.spoil)
			was := files()
			on(fault.mend)
			h := s.start(t, opts)
			on(fault.spoil)
			defer on(fault.mend)
			var rolled *transaction.RolledBackError
			if err := s.commit(t, h, s.edit(after, nil)); s.Name() == "bind" && err == nil {
				s.serves(t, "another content of its zones, which takes no reload of the configuration", after)
			} else if !errors.As(err, &rolled) || rolled.Unfit == nil {
				t.Errorf("want a change that was rolled back, and the files as found refused, got %v", err)
			} else {
				t.Log(err)
			}
			var said []string
			drop := transaction.Edit{Owner: "faults", Apply: s.drop, Removes: true, Warn: func(text string) { said = append(said, text) }}
			if err := s.commit(t, h, drop); err != nil || len(said) != 1 || !strings.Contains(said[0], "until it is restarted") {
				t.Errorf("destroy: %q, %v", said, err)
			}
			t.Log(said)
			warnings, _, err := new(transaction.Engine).GiveBack(t.Context(), h, s.Daemon)
			if err != nil {
				t.Errorf("give back: %q, %v", warnings, err)
			}
			t.Log(warnings)
			if is := files(); is != was {
				t.Errorf("files became\n%s\nfrom\n%s", is, was)
			}
			if left, err := acctest.Try(t.Context(), "svc-1", "ls", "-d", "/var/lib/virtcluster/"+s.Name()); err == nil {
				t.Errorf("left %s", left)
			}
		})
	}
}
