package haproxy

import (
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestWhatWasOrderedOfServersIsOrderedAgain(t *testing.T) {
	t.Parallel()
	const text = `backend theirs
    server a 10.0.0.1:80
    server b 10.0.0.2:80
    server c 10.0.0.3:80
    server d 10.0.0.4:80 disabled
    server e name.example:80
    server f 10.0.0.6:80 agent-check agent-port 9
    server g 10.0.0.7:80
`
	tree := func(text string) transaction.Tree { return transaction.Tree{ConfigPath: {Content: []byte(text)}} }
	both := tree(text)
	if err := SetProxy(both, Backend{Name: "mine", Mode: "tcp", Servers: map[string]Server{"a": {Address: "10.0.0.1", Port: 80, State: Ready}}}, owner.Mark{ID: "me"}); err != nil {
		t.Fatal(err)
	}
	backends := listUnchanged(both, both)
	if len(backends) != 2 || backends[0].Name != "theirs" || len(backends[0].Servers) != 6 || !backends[0].persons || backends[1].persons {
		t.Fatalf("%+v", backends)
	}
	for name, before := range map[string]string{"that change": "    server a 10.0.0.9:80\n", "that are new": ""} {
		t.Run("servers "+name, func(t *testing.T) {
			t.Parallel()
			prev, next := tree("backend theirs\n"+before), tree(text)
			if changed := listUnchanged(prev, next); len(changed) != 0 {
				t.Errorf("it is %+v", changed)
			}
			h := hosttest.New() // which is asked nothing
			if keepOrders(t.Context(), runtimeAPI{host: h}, prev, next)(); len(h.Log()) != 0 {
				t.Errorf("it is asked %q", h.Log())
			}
		})
	}
	plain := func() map[string]runningServer {
		all := map[string]runningServer{}
		for name, address := range map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3", "d": "10.0.0.4", "e": "10.9.9.9", "f": "10.0.0.6", "g": "10.0.0.7"} {
			all[name] = runningServer{address: address, port: 80, weight: 1, maint: name == "d"}
		}
		return all
	}
	before, after := plain(), plain()
	if again := repeatOrders(backends, serverTable{"theirs": before}, serverTable{"theirs": after}); len(again) != 0 {
		t.Errorf("nothing was ordered, and it is %v", again)
	}
	before["a"] = runningServer{address: "10.0.0.1", port: 80, weight: 1, maint: true}
	before["b"] = runningServer{address: "10.0.0.2", port: 80, weight: 7, drain: true}
	before["c"] = runningServer{address: "10.0.0.33", port: 81, weight: 1}
	before["d"] = runningServer{address: "10.0.0.4", port: 80, weight: 1}
	before["e"] = runningServer{address: "10.8.8.8", port: 80, weight: 1} // as its name led to
	before["f"] = runningServer{address: "10.0.0.6", port: 80, weight: 50, drain: true}
	delete(after, "g")
	var got []string
	for _, c := range repeatOrders(backends, serverTable{"theirs": before}, serverTable{"theirs": after}) {
		got = append(got, c.text)
	}
	want := []string{
		"set server theirs/a state maint", "set server theirs/b weight 7", "set server theirs/b state drain",
		"set server theirs/c addr 10.0.0.33 port 81", "set server theirs/d state ready",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for name, c := range map[string]struct {
		was  runningServer
		want []string
	}{
		"that drained":  {runningServer{address: "10.0.0.1", port: 80, weight: 1, drain: true}, []string{"set server mine/a state drain"}},
		"that was off":  {runningServer{address: "10.0.0.1", port: 80, weight: 1, maint: true}, nil},
		"of a weight":   {runningServer{address: "10.0.0.1", port: 80, weight: 7}, nil},
		"of an address": {runningServer{address: "10.0.0.9", port: 81, weight: 1}, nil},
	} {
		t.Run("a server of the provider's "+name, func(t *testing.T) {
			t.Parallel()
			var got []string
			is := runningServer{address: "10.0.0.1", port: 80, weight: 1}
			for _, c := range repeatOrders(backends, serverTable{"mine": {"a": c.was}}, serverTable{"mine": {"a": is}}) {
				got = append(got, c.text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
