package acctest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Load is how many requests were asked, each by a connection of its own, and how many were not answered; First is why the first was not.
type Load struct {
	Asked, Lost int64
	First       string
}

// loaders is how many ask at a time, and loadTime how long one waits: a busy machine answers late what is not lost.
const (
	loaders  = 4
	loadTime = 5 * time.Second
)

// StartLoad has a machine of the sandbox ask at an address of TCP without a pause, until it is told to end and least were asked.
func StartLoad(t *testing.T, machine, address string, least int) (end func() Load) {
	t.Helper()
	client := exec.Command("ip", "netns", "exec", machine, ownExecutable(t))
	client.Env = append(os.Environ(), peerRole+"=load "+address+" "+strconv.Itoa(least))
	var out strings.Builder
	client.Stdout, client.Stderr = &out, os.Stderr
	in, err := client.StdinPipe()
	if err == nil {
		err = client.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceValue(func() error { _ = in.Close(); return client.Wait() })
	t.Cleanup(func() { _ = stop() })
	return func() (l Load) {
		t.Helper()
		if err := stop(); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		if err := json.Unmarshal([]byte(out.String()), &l); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		return l
	}
}

// measureLoad asks until its input ends, and prints a Load.
func measureLoad(address, least string) {
	needed, _ := strconv.ParseInt(least, 10, 64)
	var asked, lost atomic.Int64
	var ended atomic.Bool
	var first sync.Once
	why := ""
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		ended.Store(true)
	}()
	var all sync.WaitGroup
	for range loaders {
		all.Go(func() {
			for !ended.Load() || asked.Load() < needed {
				_, err := askPeer("tcp", address, loadTime)
				if asked.Add(1); err != nil {
					lost.Add(1)
					first.Do(func() { why = err.Error() })
				}
			}
		})
	}
	all.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(Load{asked.Load(), lost.Load(), why})
	fmt.Fprintln(os.Stderr, address, "was asked", asked.Load(), "times")
	os.Exit(0)
}
