package rollout_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// joinScript has a new machine be a member of an etcd of three, in place of the one at its address before it, where another member serves.
const joinScript = `set -eu
name=%[1]s ip=%[2]s
curl -fsS -o /usr/local/bin/etcd http://%[3]s/etcd
chmod 0755 /usr/local/bin/etcd
state=new members=a=http://10.0.100.101:2380,b=http://10.0.100.102:2380,c=http://10.0.100.103:2380
ask() { curl -fsS --max-time 10 -d "$2" "http://$1:2379/v3/cluster/member/$3"; }
# replace MEMBER: the member at that address has the one leave that had this address before, and this one come.
replace() {
	old=$(ask "$1" '{}' list | python3 -c 'import json, sys; print(*[m["ID"] for m in json.load(sys.stdin)["members"] if sys.argv[1] in m["peerURLs"]])' "http://$ip:2380") || return
	[ -z "$old" ] || ask "$1" "{\"ID\": \"$old\"}" remove || return
	ask "$1" "{\"peerURLs\": [\"http://$ip:2380\"]}" add
}
others=$(printf '10.0.100.10%%s\n' 1 2 3 | grep -vxF "$ip")
serving() { for other in $others; do ! curl -fsS --max-time 5 "http://$other:2379/health" >/dev/null 2>&1 || { echo "$other"; break; }; done; }
# etcd takes no change of its members within some seconds of another one.
for try in $(seq 30); do
	other=$(serving)
	[ -n "$other" ] || break
	if replace "$other"; then state=existing; break; fi
	sleep 2
done
cat >/etc/systemd/system/etcd.service <<END
[Service]
Type=notify
ExecStart=/usr/local/bin/etcd --name=$name --data-dir=/var/lib/etcd --initial-cluster=$members --initial-cluster-state=$state --initial-advertise-peer-urls=http://$ip:2380 --listen-peer-urls=http://$ip:2380 --listen-client-urls=http://$ip:2379 --advertise-client-urls=http://$ip:2379 --heartbeat-interval=250 --election-timeout=2500
Restart=always
RestartSec=1
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
systemctl enable --quiet --now --no-block etcd
`

// serveJoins serves the script by which machines join, and the program, while open says so.
func serveJoins(t *testing.T, open *atomic.Bool) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "10.0.100.254:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("/etcd", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, os.Getenv("SANDBOX_ETCD")+"/usr/bin/etcd")
	})
	mux.HandleFunc("/join/{name}/{ip}", func(w http.ResponseWriter, r *http.Request) {
		if !open.Load() {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, joinScript, r.PathValue("name"), r.PathValue("ip"), address)
	})
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux}}
	server.Start()
	t.Cleanup(server.Close)
	return address
}

// etcdOfNodes is a configuration of three nodes that are the hardware of svc-1, svc-2 and svc-3, and join an etcd when they are new.
func etcdOfNodes(pool, joins, patience string, hardware map[string]acctest.Hardware) string {
	var members strings.Builder
	for machine, h := range hardware {
		name := string('a' + machine[len(machine)-1] - '1')
		config := strings.TrimSuffix(strings.TrimSpace(h.UserData), "}") + fmt.Sprintf(`, "runcmd": [["bash", "-c", "curl -fsS http://%s/join/%s/%s | bash"]]}`, joins, name, acctest.Address(machine))
		fmt.Fprintf(&members, "    %s = { ip = %q, mac = %q, user_data = %q }\n", name, acctest.Address(machine), h.MAC, config)
	}
	return acctest.Provider() + fmt.Sprintf(`
locals {
  members = {
%s  }
}

resource "virtcluster_node" "n" {
  for_each           = local.members
  name               = "acc-${each.key}"
  type               = "qemu"
  memory_mib         = 128
  root_disk          = { size_gib = 1, pool = %q }
  network_interfaces = [{ bridge = "svcbr0", mac = each.value.mac, addresses = ["${each.value.ip}/24"] }]
  cloud_init         = { user_data = each.value.user_data }
  guest_agent        = false
  shutdown_timeout   = "0s"
  allow_restart      = true

  rollout = {
    group  = "etcd"
    before = { endpoint = "ssh://root@${each.value.ip}", command = ["systemctl", "stop", "etcd"] }
    ready  = { url = "http://${each.value.ip}:2379/health", interval = "500ms", timeout = %q }
  }
}
`, members.String(), pool, patience)
}

// encode returns a key as etcd's gateway takes it.
func encodeKey(key string) string { return base64.StdEncoding.EncodeToString([]byte(key)) }

var etcdClient = http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// countHealthy counts the members that answer a read which takes a quorum.
func countHealthy() (n int) {
	healthy := make(chan int)
	for last := range 3 {
		go func() {
			resp, err := etcdClient.Get(fmt.Sprintf("http://10.0.100.10%d:2379/health", last+1))
			if err != nil {
				healthy <- 0
				return
			}
			_ = resp.Body.Close()
			healthy <- map[bool]int{true: 1}[resp.StatusCode == http.StatusOK]
		}()
	}
	for range 3 {
		n += <-healthy
	}
	return n
}

// askEtcd asks the members in turn, beginning with a different one each time, until one answers, as clients of etcd do.
func askEtcd(first int, path, request string) (answer []byte, err error) {
	for n := range 3 {
		var resp *http.Response
		if resp, err = etcdClient.Post(fmt.Sprintf("http://10.0.100.10%d:2379/v3/%s", (first+n)%3+1, path), "application/json", strings.NewReader(request)); err != nil {
			continue
		}
		answer, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", resp.Status, answer)
		}
		if err == nil {
			return answer, nil
		}
	}
	return nil, err
}

// keepCounting runs work every so often until the result is called, which returns how often it was, and what failed of it.
func keepCounting(every time.Duration, work func(n int) error) (end func() (done int, failed []error)) {
	stop, ended := make(chan struct{}), make(chan struct{})
	n, results := 0, make(chan error, 100000)
	go func() {
		defer close(ended)
		for ticks := time.NewTicker(every); ; n++ {
			select {
			case <-stop:
				ticks.Stop()
				return
			case <-ticks.C:
			}
			go func(n int) {
				began := time.Now()
				err := work(n)
				if err != nil {
					err = fmt.Errorf("%s, after %s: %w", began.Format("05.000"), time.Since(began).Round(time.Millisecond), err)
				}
				results <- err
			}(n)
		}
	}()
	return func() (int, []error) {
		close(stop)
		<-ended
		var failed []error
		for range n {
			if err := <-results; err != nil {
				failed = append(failed, err)
			}
		}
		return n, failed
	}
}

// TestAccMembersOfEtcdAreReplacedInTurns has three nodes be the members of a real etcd. Their memory is changed, then all are made anew, each time in
// one apply: etcd has a quorum all the while, and takes what a client writes ten times a second. One that does not come back stops the roll.
func TestAccMembersOfEtcdAreReplacedInTurns(t *testing.T) {
	acctest.KnownServiceNodes(t, 3)
	pool, _, _ := acctest.StageNodes(t, "etcd")
	hardware := map[string]acctest.Hardware{}
	for _, machine := range []string{"svc-1", "svc-2", "svc-3"} {
		hardware[machine] = acctest.HardwareOf(t, machine)
	}
	var open atomic.Bool
	open.Store(true)
	joins := serveJoins(t, &open)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	config := etcdOfNodes(pool, joins, "5m", hardware)
	s.Apply(config)
	acctest.Eventually(t, "etcd does not come up", func() bool { return countHealthy() == 3 })
	s.Settled()

	written := 0
	// roll runs something under observation.
	roll := func(what string, run func()) {
		t.Helper()
		most := watchGroup(t, "acc-a", "acc-b", "acc-c")
		quorum := keepCounting(200*time.Millisecond, func(int) error {
			if countHealthy() == 0 {
				return errors.New("no member has a quorum")
			}
			return nil
		})
		from := written
		writing := keepCounting(100*time.Millisecond, func(n int) error {
			_, err := askEtcd(n, "kv/put", fmt.Sprintf(`{"key": %q, "value": "AA=="}`, encodeKey(fmt.Sprintf("k%08d", from+n))))
			return err
		})
		began := time.Now()
		run()
		writes, lost := writing()
		looks, without := quorum()
		written += writes
		t.Logf("%s: %s, %d writes, %d lost; etcd was asked %d times and had no quorum %d times; at most %d were off", what, time.Since(began).Round(time.Second), writes, len(lost), looks, len(without), most())
		if len(lost) > 0 || len(without) > 0 {
			t.Errorf("%s: lost %v; without a quorum %v", what, lost, without)
		}
		leavesNoTurn(t)
	}
	// keeps wants every write to be there.
	keeps := func() {
		t.Helper()
		answer, err := askEtcd(0, "kv/range", fmt.Sprintf(`{"key": %q, "range_end": %q, "count_only": true}`, encodeKey("k"), encodeKey("l")))
		var got struct{ Count string }
		if err == nil {
			err = json.Unmarshal(answer, &got)
		}
		if err != nil || got.Count != fmt.Sprint(written) {
			t.Errorf("of %d writes %s are there, %v", written, got.Count, err)
		}
	}

	roll("their memory is changed", func() { s.Apply(withMemory(config, 144)) })
	if got := memories(t); count(got, "147456") != 3 {
		t.Errorf("their memory is %v", got)
	}
	keeps()
	config = withMemory(config, 144)

	before := uuids(t)
	roll("all are made anew", func() { s.Run(replaceAll()...) })
	if now := uuids(t); countKept(before, now) != 0 {
		t.Errorf("they were %v, and are %v", before, now)
	}
	keeps()
	s.Settled()

	open.Store(false)
	s.Write(withMemory(etcdOfNodes(pool, joins, "45s", hardware), 144))
	roll("one does not come back", func() {
		s.Refused([]string{`of group "etcd"`, "is not ready after 45s", "the others stay as they are", "apply again"}, replaceAll()...)
	})
	if n := countHealthy(); n != 2 {
		t.Errorf("%d serve then", n)
	}
	open.Store(true)
	roll("the next apply mends it", func() { s.Apply(config) })
	if n := countHealthy(); n != 3 {
		t.Errorf("%d serve then", n)
	}
	keeps()
	s.Settled()
}
