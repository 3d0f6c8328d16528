package keepalived

import (
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// owned is the sample of an owner.
func owned(by owner.Claim) Instance {
	in := sample().Instance("a")
	in.Owner = by.Mark()
	return in
}

func TestAStepTouchesNothingOfAnotherOwner(t *testing.T) {
	mine, other := new(owner.Run).New(), new(owner.Run).New()
	byPerson := owned(owner.Claim{})
	others := tree("")
	set(t, others, owned(other))
	named := byPerson
	named.Name = "VI_1"
	for name, c := range map[string]struct {
		content string
		step    Step
	}{
		"another state's is replaced":            {string(others[Path].Content), Step{Instance: &byPerson}},
		"another state's is removed":             {string(others[Path].Content), Step{Was: "ocp4-api"}},
		"a person's is replaced":                 {byHand, Step{Instance: &named}},
		"a person's is replaced by a rename":     {byHand, Step{Instance: &named, Was: "ocp4-api"}},
		"a person's script of that name":         {"vrrp_script ocp4-api.readyz {\n script \"/bin/true\"\n}\n", Step{Instance: &byPerson}},
		"a person's sync group of the same name": {"vrrp_sync_group pair {\n group {\n a\n b\n }\n}\n", Step{Instance: new(grouped("x", 9).Instance("a"))}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tree(c.content)
			err := c.step.Apply(tr, func(_ string, m owner.Mark) bool { return mine.MayTake(m) })
			if !errors.As(err, new(*owner.ForeignError)) || string(tr[Path].Content) != c.content {
				t.Errorf("%s: %v\n%s", name, err, tr[Path].Content)
			}
		})
	}
}

func TestStripLeavesWhatAnOwnerHas(t *testing.T) {
	tr := tree(byHand)
	marked, unmarked := owned(new(owner.Run).New()), sample().Instance("b")
	marked.Name, marked.SyncGroup, unmarked.Name = "marked", "pair", "unmarked"
	second := marked
	second.Name, second.RouterID = "second", 9
	for _, in := range []Instance{marked, unmarked, second} {
		set(t, tr, in)
	}
	if err := (Daemon{}).Strip(tr); err != nil {
		t.Fatal(err)
	}
	content := string(tr[Path].Content)
	by := ", " + marked.Owner.Whose()
	if got := (Daemon{}).Owners(tr); strings.Join(got, ", ") != "vrrp_instance marked"+by+", vrrp_instance second"+by {
		t.Errorf("whose it still is: %v", got)
	}
	for _, want := range []string{"vrrp_instance marked", "vrrp_script marked.readyz", "vrrp_sync_group pair", "vrrp_instance VI_1", "enable_script_security"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(content, want) {
				t.Errorf("%s went:\n%s", want, content)
			}
		})
	}
	if strings.Contains(content, "unmarked") {
		t.Errorf("what a version without marks left stays:\n%s", content)
	}
	if _, there := tr[UnitPath]; !there {
		t.Error("the unit's drop-in went, and an instance stays")
	}
	if got := strings.Count(content, marked.Owner.String()); got != 5 {
		t.Errorf("%d blocks carry the mark, not two scripts, two instances and their group:\n%s", got, content)
	}
}

// TestAnotherOwnersInstanceKeepsItsMark moves a sync group, in which one VIP writes the other's instance too.
func TestAnotherOwnersInstanceKeepsItsMark(t *testing.T) {
	mine, other := owned(new(owner.Run).New()), owned(new(owner.Run).New())
	other.Name, other.RouterID = "other", 9
	tr := tree("")
	set(t, tr, mine)
	set(t, tr, other)
	companion, err := Find(tr, "other")
	if err != nil {
		t.Fatal(err)
	}
	step := Step{Instance: &mine, Companions: []Instance{companion.withoutPreemption()}}
	if err := step.Apply(tr, func(_ string, m owner.Mark) bool { return m == mine.Owner }); err != nil {
		t.Fatal(err)
	}
	if owners, _ := OwnersOf(tr); owners["other"] != other.Owner || owners["ocp4-api"] != mine.Owner {
		t.Errorf("marks are %v", owners)
	}
}

// TestACopyOfAnInstanceIsAPersons has a person copy an instance with its comment and its script, and give both another name.
func TestACopyOfAnInstanceIsAPersons(t *testing.T) {
	tr := tree("")
	in := owned(new(owner.Run).New())
	set(t, tr, in)
	original := string(tr[Path].Content)
	_, blocks, _ := strings.Cut(original, mark)
	copied := strings.ReplaceAll(mark+blocks, "vrrp_instance "+in.Name, "vrrp_instance copy")
	copied = strings.ReplaceAll(copied, "vrrp_script "+in.Name+".", "vrrp_script copy.")
	tr.Put(Path, []byte(original+"\n"+copied), mode, "", "")
	if owners, err := OwnersOf(tr); err != nil || owners["copy"] != (owner.Mark{}) || owners[in.Name] != in.Owner {
		t.Errorf("whose they are: %v, %v", owners, err)
	}
	if err := Drop(tr, in.Name); err != nil {
		t.Fatal(err)
	}
	if content := string(tr[Path].Content); !strings.Contains(content, "vrrp_instance copy {") || strings.Contains(content, "vrrp_instance "+in.Name+" {") {
		t.Errorf("after the original went:\n%s", content)
	}
}
