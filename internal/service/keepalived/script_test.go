package keepalived

import (
	"strings"
	"testing"
)

// checked is the sample with a whole script.
func checked(content string) Instance {
	v := sample()
	v.Track[0].Script, v.Track[0].Content = "", content
	return v.Instance("a")
}

const readyz = "#!/bin/sh\n/usr/bin/curl -fs https://localhost:6443/readyz && true\n"

func TestAScriptIsPutBesideTheConfigurationAndGoesWithIt(t *testing.T) {
	const path = "/etc/keepalived/virtcluster/ocp4-api.readyz"
	tr := tree(byHand)
	want := checked(readyz)
	set(t, tr, want)
	f := tr[path]
	if string(f.Content) != readyz || f.Perm() != 0o755 || f.Owner != "root" || !strings.Contains(string(tr[Path].Content), `script "`+path+`"`) {
		t.Fatalf("%s is %q, %o of %s\n%s", path, f.Content, f.Perm(), f.Owner, tr[Path].Content)
	}
	got, err := Find(tr, "ocp4-api")
	if err != nil || !got.Equal(want) || got.Track[0].Content != readyz {
		t.Fatalf("read back as %+v, %v", got, err)
	}
	set(t, tr, checked(readyz+"true\n"))
	if got, _ := Find(tr, "ocp4-api"); got.Equal(want) {
		t.Error("another content is no change")
	}
	f = tr[path]
	f.Mode = 0o644
	tr[path] = f
	if got, _ := Find(tr, "ocp4-api"); got.Track[0].Content != "" {
		t.Error("a script that nobody can run does not show")
	}
	set(t, tr, checked(readyz))
	if got, _ := Find(tr, "ocp4-api"); !got.Equal(want) {
		t.Error("it is not mended")
	}
	if err := Drop(tr, "ocp4-api"); err != nil {
		t.Fatal(err)
	}
	if _, there := tr[path]; there {
		t.Error("the script outlives its VIP")
	}
}

func TestAnInstanceSaysThatItsPasswordIsForNoState(t *testing.T) {
	tr := tree("")
	in := sample().Instance("a")
	in.PasswordVersion = "3"
	set(t, tr, in)
	if got, err := Find(tr, "ocp4-api"); err != nil || got.PasswordVersion != "3" {
		t.Errorf("read back as %q, %v", got.PasswordVersion, err)
	}
}

func TestOnlyOneMemberHandsOver(t *testing.T) {
	var run HandOvers
	one, two := sample().Instance("a"), rich().Instance("a")
	if !run.mayYield("a", []Instance{one}) || !run.mayYield("a", []Instance{one, two}) {
		t.Error("a machine cannot hand over what it holds")
	}
	if run.mayYield("b", []Instance{two}) {
		t.Error("both machines hand over, and nobody is left")
	}
}

func TestAddressesGoBackToTheHigherPriority(t *testing.T) {
	t.Parallel()
	low, high := sample().Instance("b"), sample().Instance("a")
	low.Priority, high.Priority = 100, 120
	stays := low
	stays.NoPreempt = true
	for name, c := range map[string]struct {
		ours, theirs Instance
		want         int
	}{
		"the other's is higher": {low, high, len(low.All())},
		"the other's is lower":  {high, low, 0},
		"nobody takes them":     {stays, high, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := listOutranked([]Instance{c.ours}, []Instance{c.theirs}); len(got) != c.want {
				t.Errorf("%v go", got)
			}
		})
	}
}
