package inventory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// helper is what a person has set up on svc-1 as a helper of a cluster: HAProxy with a page of statistics, and BIND with a view and a zone.
const helper = `set -e
mkdir -p /root/before; cp -a /etc/haproxy/haproxy.cfg /etc/bind/named.conf /root/before
cat >>/etc/haproxy/haproxy.cfg <<'END'

userlist operators
    user admin insecure-password s3cret

listen stats
    bind :9000
    mode http
    stats enable
    stats auth admin:s3cret

frontend kube-api
    mode tcp
    option tcplog
    bind *:6443
    default_backend kube-api

backend kube-api
    mode tcp
    balance source
    option ssl-hello-chk
    server bootstrap 10.0.100.20:6443 check
    server master-0 10.0.100.21:6443 check inter 2s backup

frontend apps
    mode http
    bind *:8080
    acl console hdr(host) -i console.lab.example
    use_backend apps if console
    default_backend apps

backend apps
    mode http
    balance roundrobin
    server worker-0 10.0.100.31:80 check
END
cat >/etc/bind/db.lab.example <<'END'
$TTL 3600
@ IN SOA ns1.lab.example. admin.lab.example. 2024010101 3600 600 86400 300
@ IN NS ns1
ns1 IN A 10.0.100.101
api IN A 10.0.100.101
*.apps IN A 10.0.100.101
@ IN MX 10 mail
mail IN A 10.0.100.40
END
cat >/etc/bind/named.conf <<'END'
// by hand
acl trusted { 10.0.0.0/8; localhost; };
key "transfer" { algorithm hmac-sha256; secret "c2VjcmV0LXRoYXQtaXMtbm9uZQ=="; };
options {
	directory "/var/cache/bind";
	dnssec-validation no;
	listen-on { any; };
};
view "inside" {
	match-clients { 10.0.0.0/8; localhost; };
	recursion yes;
	zone "lab.example" IN {
		type master;
		file "/etc/bind/db.lab.example";
		allow-transfer { none; };
		also-notify { 10.0.100.41; };
	};
	zone "old.example" { type slave; masters { 10.0.100.41; }; file "/var/cache/bind/old.example"; };
};
END
named-checkconf -z /etc/bind/named.conf
haproxy -c -f /etc/haproxy/haproxy.cfg
systemctl start haproxy named`

const helperBefore = `systemctl stop haproxy named; cd /root/before && cp -a haproxy.cfg /etc/haproxy/ && cp -a named.conf /etc/bind/; rm -f /etc/bind/db.lab.example`

// viewless is what a person has beside it on svc-2: BIND without views, as the packages lay it out.
const viewless = `set -e
cp -a /etc/bind/named.conf.local /root/local.before
cat >>/etc/bind/named.conf.local <<'END'
zone "ocp4.example" IN {
	type master;
	file "zonefile.db";
	notify no;
};
zone "7.168.192.in-addr.arpa" IN { type master; file "/etc/bind/db.reverse"; };
zone "moving.example" { type master; file "/var/lib/bind/moving.db"; allow-update { localhost; }; };
zone "elsewhere.example" { type forward; forwarders { 10.0.100.41; }; };
END
printf '$TTL 1W\n@ IN SOA ns1.ocp4.example. root (\n 2019070700 ; serial\n 3H 30M 2W 1W )\n IN NS ns1.ocp4.example.\n IN MX 10 smtp.ocp4.example.\n;\nns1.ocp4.example. IN A 192.168.7.77\nsmtp.ocp4.example. IN A 192.168.7.77\napi IN A 192.168.7.77\n*.apps IN A 192.168.7.77\n_etcd-server-ssl._tcp 8640 IN SRV 0 10 2380 ns1\n' >/var/cache/bind/zonefile.db
printf '$TTL 1W\n@ IN SOA ns1.ocp4.example. root (2019070700 3H 30M 2W 1W)\n IN NS ns1.ocp4.example.\n77 IN PTR ns1.ocp4.example.\n' >/etc/bind/db.reverse
cp /etc/bind/db.empty /var/lib/bind/moving.db; chown bind:bind /var/lib/bind/moving.db
named-checkconf -z /etc/bind/named.conf
systemctl start named`

const viewlessBefore = `systemctl stop named; cp -a /root/local.before /etc/bind/named.conf.local; rm -f /etc/bind/db.reverse /var/cache/bind/zonefile.db /var/lib/bind/moving.db*`

// pair is keepalived's configuration that a person has written on a machine of two.
func pair(priority int, own, peer string) string {
	return fmt.Sprintf(`cat >/etc/keepalived/keepalived.conf <<'END'
! by hand
global_defs {
    router_id helper
    enable_script_security
    script_user root
}
vrrp_script api {
    script "true"
    interval 3
    weight -20
}
vrrp_instance api {
    state BACKUP
    interface eth0
    virtual_router_id 51
    priority %d
    advert_int 1
    unicast_src_ip %s
    unicast_peer {
        %s
    }
    virtual_ipaddress {
        10.0.100.230/24
    }
    track_script {
        api
    }
    notify_master "/bin/true"
}
static_ipaddress {
    10.99.0.1/32 dev lo
}
END
chmod 644 /etc/keepalived/keepalived.conf; systemctl start keepalived`, priority, own, peer)
}

const pairBefore = `systemctl stop keepalived; rm -f /etc/keepalived/keepalived.conf`

// besides is what a person has on svc-2 that no resource reads, or of which one is to be written anew.
const besides = `set -e
cp -a /etc/hosts /root/hosts.before
mkdir -p /etc/exports.d /etc/dhcp /etc/dnsmasq.d /var/lib/tftpboot/pxelinux.cfg /etc/apache2/sites-enabled /etc/chrony/sources.d
printf '# by hand\nsubnet 10.0.100.0 netmask 255.255.255.0 {\n}\n' >/etc/dhcp/dhcpd.conf
echo 'address=/apps.lab.example/10.0.100.101' >/etc/dnsmasq.d/lab.conf
echo '# nothing' >/etc/dnsmasq.d/empty.conf
touch /var/lib/tftpboot/kernel /var/lib/tftpboot/pxelinux.cfg/default
echo 'Listen 8081' >/etc/apache2/sites-enabled/images.conf
echo '10.0.100.77 bastion.lab.example bastion' >>/etc/hosts
printf '# by hand\n/srv 10.0.100.0/24(ro)\n' >/etc/exports.d/lab.exports
echo 'server 10.0.100.41 iburst' >/etc/chrony/sources.d/lab.sources
nft add table ip byhand`

const besidesBefore = `mv /root/hosts.before /etc/hosts; nft delete table ip byhand
rm -rf /etc/exports.d/lab.exports /etc/dhcp/dhcpd.conf /etc/dnsmasq.d /var/lib/tftpboot /etc/apache2/sites-enabled/images.conf /etc/chrony/sources.d/lab.sources`

// byHandOn runs a person's commands on a machine, and others that undo them at the end.
func byHandOn(t *testing.T, machine, script, undo string) {
	t.Helper()
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), machine, "sh", "-c", undo); err != nil {
			t.Errorf("%s is not as before: %v: %s", machine, err, out)
		}
	})
	acctest.On(t, machine, "sh", "-c", script)
}

// What a person set up on service nodes becomes configuration that plans nothing but imports, and all else is told with its file and line.
func TestAccInventoryOfServiceNodes(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	acctest.KnownServiceNodes(t, 2)
	byHandOn(t, "svc-1", helper, helperBefore)
	byHandOn(t, "svc-1", pair(110, "10.0.100.101", "10.0.100.102"), pairBefore)
	byHandOn(t, "svc-2", viewless, viewlessBefore)
	byHandOn(t, "svc-2", besides, besidesBefore)
	byHandOn(t, "svc-2", pair(100, "10.0.100.102", "10.0.100.101"), pairBefore)
	acctest.Eventually(t, "the person's VIP is held", func() bool {
		return strings.Contains(acctest.On(t, "svc-1", "ip", "-4", "-br", "a"), "10.0.100.230/24")
	})
	s := acctest.NewState(t)
	r := read(t, s, acctest.Provider()+inventory(fmt.Sprintf("  service_nodes = [%q, %q]\n", acctest.Endpoint("svc-1"), acctest.Endpoint("svc-2"))))
	for kind, want := range map[string]string{
		"haproxy_frontend": "kube-api apps", "haproxy_backend": "kube-api apps", "dns_view": "inside", "vip": "api",
		"dns_zone": "inside/lab.example inside/old.example /ocp4.example /7.168.192.in-addr.arpa /moving.example /elsewhere.example",
	} {
		t.Run(kind, func(t *testing.T) {
			if all := strings.Join(r.owners(kind), " "); all != want {
				t.Errorf("there is %q, not %q", all, want)
			}
		})
	}
	for place, want := range map[string]string{
		"/etc/haproxy/haproxy.cfg:1": "global", "/etc/bind/named.conf:2": "acl trusted", "/etc/bind/named.conf:3": "(a secret)", "/etc/bind/named.conf:4": "dnssec-validation no",
		"/etc/bind/named.conf:16": "also-notify { 10.0.100.41; };", "/etc/keepalived/keepalived.conf:2": "router_id helper", "/etc/keepalived/keepalived.conf:28": "notify_master /bin/true", "/etc/keepalived/keepalived.conf:30": "static_ipaddress", "/etc/bind/named.conf.local:12": "notify no",
		"/etc/dhcp/dhcpd.conf": "virtcluster_dhcp_server", "/etc/dnsmasq.d/lab.conf": "not looked at", "/var/lib/tftpboot/": "(2) are not looked at", "/etc/apache2/sites-enabled/images.conf": "virtcluster_http_content",
		"table ip byhand of nftables": "not looked at", "/etc/exports.d/lab.exports:2": "/srv 10.0.100.0/24(ro)", "/etc/chrony/sources.d/lab.sources:1": "server 10.0.100.41 iburst",
		`DNS zone "/moving.example" on ssh://root@10.0.100.102`:    "named itself writes its file",
		`DNS zone "inside/old.example" on ssh://root@10.0.100.101`: "of type \"slave\"",
	} {
		t.Run(place, func(t *testing.T) {
			if said := r.leftover(place); !strings.Contains(said, want) {
				t.Errorf("it says %q, and all that it says is not modelled is:\n%v", said, r.Unmodelled)
			}
		})
	}
	told := fmt.Sprint(r.Unmodelled)
	if strings.Contains(told, "s3cret") || strings.Contains(told, "c2VjcmV0") {
		t.Errorf("a secret is told:\n%s", told)
	}
	for _, want := range []string{"userlist operators", "listen stats", "10.0.100.77 bastion.lab.example bastion"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told:\n%s", want, told)
		}
	}
	if strings.Contains(told, "/etc/dnsmasq.d/empty.conf") {
		t.Errorf("a file that says nothing is told:\n%s", told)
	}
	for _, want := range []string{"virtcluster_dns_view.inside.name", "virtcluster_haproxy_backend.kube-api.name"} {
		if !strings.Contains(r.Configuration, want) {
			t.Errorf("nothing refers to %s:\n%s", want, r.Configuration)
		}
	}
	adopt(t, r, "10")
}
