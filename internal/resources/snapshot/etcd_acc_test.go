package snapshot_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// members are the nodes of an etcd, each with its address.
var members = map[string]string{"a": "10.77.0.1", "b": "10.77.0.2", "c": "10.77.0.3"}

// startEtcd has a guest serve as a member from its data disk, as its init would: after a revert the memory of all of them is a new one. The file system
// has no journal, and goes on where it would be read only after what is a crash to it.
func startEtcd(t *testing.T, key string) {
	t.Helper()
	var all []string
	for k, ip := range members {
		all = append(all, k+"=http://"+ip+":2380")
	}
	acctest.RunInGuest(t, "acc-"+key, fmt.Sprintf(`busybox=/bin/busybox
$busybox mkdir -p /data; $busybox mount -t vfat -o errors=continue /dev/vdb /data || exit 1
$busybox setsid /data/etcd --name=%[1]s --data-dir=/data/%[1]s --initial-cluster=%[2]s --initial-advertise-peer-urls=http://%[3]s:2380 --listen-peer-urls=http://%[3]s:2380 \
  --listen-client-urls=http://%[3]s:2379 --advertise-client-urls=http://%[3]s:2379 --heartbeat-interval=500 --election-timeout=5000 </dev/null >/data/log 2>&1 &`,
		key, strings.Join(all, ","), members[key]))
}

// askEtcd asks one member.
func askEtcd(key, path string, request map[string]string, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post("http://"+members[key]+":2379/v3/"+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, said)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(said, answer)
}

// putWord has etcd keep a word, by the member that answers first.
func putWord(t *testing.T, word string) {
	t.Helper()
	acctest.Eventually(t, "etcd takes "+word, func() bool {
		err := askEtcd("a", "kv/put", map[string]string{"key": base64.StdEncoding.EncodeToString([]byte("word")), "value": base64.StdEncoding.EncodeToString([]byte(word))}, &struct{}{})
		return err == nil
	})
}

// wantWord wants every member to serve, with a quorum, and to have the word.
func wantWord(t *testing.T, word string) {
	t.Helper()
	for key := range members {
		var got struct{ KVs []struct{ Value []byte } }
		acctest.Eventually(t, "etcd serves on "+key, func() bool {
			return askEtcd(key, "kv/range", map[string]string{"key": base64.StdEncoding.EncodeToString([]byte("word"))}, &got) == nil
		})
		if len(got.KVs) != 1 || string(got.KVs[0].Value) != word {
			t.Errorf("%s has %s, and not %q", key, got.KVs, word)
		}
	}
}

// TestAccSnapshotOfAnEtcdIsReverted has the three members of a real etcd, each in a guest of its own, go back to one moment: they serve with a quorum,
// and what was written later is on none of them.
func TestAccSnapshotOfAnEtcdIsReverted(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "snapetcd")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	config := strings.Replace(acctest.ClusterOfNodes(image, network, "  wait_for = \"guest_agent\"\n  disks = { "+dataDisk+" }\n", members),
		"memory_mib         = 128", "memory_mib         = 512", 1)
	s.Apply(config)
	listener, err := net.Listen("tcp", "10.77.0.254:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.FileServer(http.Dir(os.Getenv("SANDBOX_ETCD") + "/usr/bin"))}}
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		for key := range members {
			if t.Failed() {
				said, err := acctest.InGuest(context.WithoutCancel(t.Context()), "acc-"+key, "/bin/busybox ls -la /data /data/"+key+"/member/*; /bin/busybox tail -n 12 /data/log")
				t.Logf("%s: %v: %s", key, err, said)
			}
		}
	})
	for key := range members {
		acctest.RunInGuest(t, "acc-"+key, "busybox=/bin/busybox; $busybox mkdosfs /dev/vdb >/dev/null && $busybox mkdir -p /data && $busybox mount -t vfat /dev/vdb /data && "+
			"$busybox wget -q -O /data/etcd "+server.URL+"/etcd && $busybox umount /data")
		startEtcd(t, key)
	}
	putWord(t, "before")
	wantWord(t, "before")

	s.Apply(config + snapshotOf("whole", ""))
	s.Settled()
	putWord(t, "after")
	wantWord(t, "after")

	s.Apply(config + snapshotOf("whole", "  revert = 1\n"))
	for key := range members {
		startEtcd(t, key)
	}
	wantWord(t, "before")
	putWord(t, "later")
	wantWord(t, "later")
	s.Settled()

	s.Apply(config)
	wantWord(t, "later")
	wantNothingLeft(t, pool, "acc-a", "acc-b", "acc-c")
}
