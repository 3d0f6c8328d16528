package addresspool

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var (
	mine   = owner.Mark{ID: "mine", Workspace: "here"}
	theirs = owner.Mark{ID: "theirs", Workspace: "there"}
)

// free says of all that the tests draw from that nobody has it.
var free = func() Asked {
	all := Asked{}
	for a := netip.MustParseAddr("10.0.0.0"); a.Less(netip.MustParseAddr("10.0.3.0")); a = a.Next() {
		all[a] = ""
	}
	return all
}()

func runs(t testing.TB, texts ...string) []netipx.IPRange {
	t.Helper()
	all, err := parseRanges(texts)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func poolOf(t testing.TB, p Pool) transaction.Tree {
	t.Helper()
	tree := transaction.Tree{}
	if problems := p.Validate(); len(problems) > 0 {
		t.Fatal(problems)
	}
	if err := SetPool(tree, p, mine); err != nil {
		t.Fatal(err)
	}
	return tree
}

func draw(t testing.TB, tree transaction.Tree, key string) string {
	t.Helper()
	if err := DrawAddress(tree, Address{Pool: "lan", Key: key}, mine, "me", free); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	a, err := FindAddress(tree, "lan", key)
	if err != nil {
		t.Fatal(err)
	}
	return a.IP.String()
}

func TestRangesHaveOneSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.5-10.0.0.9": "10.0.0.5-10.0.0.9", "10.0.0.0 - 10.0.0.15": "10.0.0.0/28", "10.0.0.0/28": "10.0.0.0/28",
		"10.0.0.7": "10.0.0.7", "10.0.0.7/32": "10.0.0.7", "2001:DB8::1-2001:db8::0004": "2001:db8::1-2001:db8::4",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			run, err := ParseRange(text)
			if err != nil || FormatRange(run) != want {
				t.Errorf("%q is %q, %v; want %q", text, FormatRange(run), err, want)
			}
		})
	}
	for _, text := range []string{"", "10.0.0.9-10.0.0.5", "10.0.0.1-::1", "fe80::1%1", "10.0.0.1/24", "::ffff:10.0.0.1", "10.0.0.1-", "a-b", "10.0.0.0/33"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if run, err := ParseRange(text); err == nil {
				t.Errorf("%q is taken for %s", text, FormatRange(run))
			}
		})
	}
}

func TestValidateNamesThePlace(t *testing.T) {
	for name, c := range map[string]struct {
		pool Pool
		want string
	}{
		"name":      {Pool{Name: "a b", Ranges: runs(t, "10.0.0.1")}, "name Invalid name"},
		"no ranges": {Pool{Name: "a"}, "ranges No addresses"},
		"overlap":   {Pool{Name: "a", Ranges: runs(t, "10.0.0.0/28", "10.0.0.5")}, "ranges.1 Overlapping ranges"},
		"outside":   {Pool{Name: "a", Ranges: runs(t, "10.0.0.0/28"), Reserved: runs(t, "10.0.0.1", "10.0.1.1")}, "reserved.1 Reserved address outside the pool"},
		"nothing":   {Pool{Name: "a", Ranges: runs(t, "10.0.0.0"), AvoidBuggyIPs: true}, "ranges No addresses"},
		"good":      {Pool{Name: "a", Ranges: runs(t, "10.0.0.0/28", "10.0.1.5-10.0.1.9"), Reserved: runs(t, "10.0.1.5")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range c.pool.Validate() {
				got = append(got, strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Path), " ", "."), "[]")+" "+p.Summary)
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

func TestAddressesThatRoutersMistakeAreAvoided(t *testing.T) {
	p := Pool{Name: "lan", Ranges: runs(t, "10.0.0.254-10.0.1.1", "2001:db8::ff-2001:db8::100"), AvoidBuggyIPs: true}
	var got []string
	for a := range p.toStock().allAddresses() {
		got = append(got, a.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.254", "10.0.1.1", "2001:db8::ff", "2001:db8::100"}, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"10.0.0.254-10.0.1.1": "2", "10.0.0.0/24": "254", "10.0.0.0/8": "16646144", "0.0.0.0/0": "4261412864", "10.0.0.255-10.0.1.0": "0", "10.0.0.1-10.0.0.254": "254", "0.0.0.0": "0", "::/0": "340282366920938463463374607431768211456",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := (Pool{Ranges: runs(t, text), AvoidBuggyIPs: true}).toStock().countAddresses().String(); got != want {
				t.Errorf("%s has %s, want %s", text, got, want)
			}
		})
	}
}

// What is asked of a pool while planning costs the same whatever its size: counted one by one, these would take for ever.
func TestAHugePoolCostsNoMoreThanASmallOne(t *testing.T) {
	t.Parallel()
	for range 100 {
		p := Pool{Name: "lan", Ranges: runs(t, "0.0.0.0/0"), AvoidBuggyIPs: true}
		tree := poolOf(t, p)
		a := netip.MustParseAddr("0.0.0.1")
		if err := DrawAddress(tree, Address{Pool: "lan", Key: "api"}, mine, "me", Asked{a: ""}); err != nil {
			t.Fatal(err)
		}
		if gives := p.toStock().hasAddress; !gives(a) || gives(netip.MustParseAddr("77.0.0.255")) {
			t.Fatal("what it gives out is wrong")
		}
	}
}

func TestNothingThatSomebodyAnswersForIsGivenOut(t *testing.T) {
	t.Parallel()
	tree := poolOf(t, Pool{Name: "lan", Ranges: runs(t, "10.0.0.1-10.0.0.3")})
	at := netip.MustParseAddr
	draw := func(key, ip string, asked Asked) error {
		want := Address{Pool: "lan", Key: key}
		if ip != "" {
			want.IP = at(ip)
		}
		return DrawAddress(tree, want, mine, "me", asked)
	}
	if err := draw("api", "", Asked{}); !IsNotAsked(err) {
		t.Fatalf("drawn without asking: %v", err)
	}
	who := Asked{at("10.0.0.1"): "52:54:00:00:00:01 answers on eth1", at("10.0.0.2"): ""}
	if err := draw("api", "", who); err != nil {
		t.Fatal(err)
	}
	l, err := readLedger(tree, "lan")
	if err != nil || l.Drawn["api"].IP != at("10.0.0.2") || l.Skipped[at("10.0.0.1")] != who[at("10.0.0.1")] {
		t.Fatalf("the ledger is %+v, %v", l, err)
	}
	if err := draw("web", "", Asked{at("10.0.0.1"): "somebody", at("10.0.0.3"): "somebody else"}); err == nil || !strings.Contains(err.Error(), "10.0.0.3 (somebody else)") {
		t.Errorf("nothing is left, and the error is %v", err)
	}
	if err := draw("named", "10.0.0.1", Asked{}); err != nil {
		t.Errorf("an address that is asked for by name is its user's to know: %v", err)
	}
	if err := draw("web", "", Asked{at("10.0.0.3"): ""}); err != nil {
		t.Fatal(err)
	}
	if l, err = readLedger(tree, "lan"); err != nil || len(l.Skipped) != 1 {
		t.Errorf("skipped: %v %v", l.Skipped, err)
	}
}

func TestAPoolThatLeavesOutWhatIsDrawnNamesTheHolders(t *testing.T) {
	t.Parallel()
	tree := poolOf(t, Pool{Name: "lan", Ranges: runs(t, "10.0.0.253-10.0.1.9")})
	for range 3 {
		draw(t, tree, fmt.Sprint("k", len(tree[Place("lan")].Content)))
	}
	for name, c := range map[string]struct {
		pool Pool
		want string
	}{
		"as it was": {Pool{Ranges: runs(t, "10.0.0.253-10.0.1.9")}, ""},
		"ranges":    {Pool{Ranges: runs(t, "10.0.0.254-10.0.1.9")}, "[ranges] 10.0.0.253 is drawn for key"},
		"reserved":  {Pool{Ranges: runs(t, "10.0.0.253-10.0.1.9"), Reserved: runs(t, "10.0.0.254")}, "[reserved] 10.0.0.254 is drawn for key"},
		"buggy":     {Pool{Ranges: runs(t, "10.0.0.253-10.0.1.9"), AvoidBuggyIPs: true}, "[avoid_buggy_ips] 10.0.0.255 is drawn for key"},
		"another":   {Pool{Name: "another", Ranges: runs(t, "10.0.9.1")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.pool.Name == "" {
				c.pool.Name = "lan"
			}
			var got []string
			for _, p := range LeftOut(tree, c.pool) {
				got = append(got, fmt.Sprint(p.Path, " ", p.Detail))
			}
			if text := strings.Join(got, "\n"); c.want == "" && text != "" || len(got) > 1 || !strings.HasPrefix(text, c.want) {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

func TestAKeyKeepsItsAddress(t *testing.T) {
	tree := poolOf(t, Pool{Name: "lan", Ranges: runs(t, "10.0.0.1-10.0.0.4"), Reserved: runs(t, "10.0.0.2")})
	if a, b := draw(t, tree, "api"), draw(t, tree, "web"); a != "10.0.0.1" || b != "10.0.0.3" {
		t.Fatalf("drew %s and %s", a, b)
	}
	if again := draw(t, tree, "api"); again != "10.0.0.1" {
		t.Errorf("drawn twice: %s", again)
	}
	if err := ReleaseAddress(tree, "lan", "api"); err != nil {
		t.Fatal(err)
	}
	if other := draw(t, tree, "other"); other != "10.0.0.4" {
		t.Errorf("another key got %s, which the pool should keep for api as long as it has others", other)
	}
	if again := draw(t, tree, "api"); again != "10.0.0.1" {
		t.Errorf("after a release: %s", again)
	}
	if err := ReleaseAddress(tree, "lan", "api"); err != nil {
		t.Fatal(err)
	}
	if last := draw(t, tree, "last"); last != "10.0.0.1" {
		t.Errorf("the last address that is left is %s", last)
	}
}

func TestExhaustionSaysWhoHasHowMany(t *testing.T) {
	tree := poolOf(t, Pool{Name: "lan", Ranges: runs(t, "10.0.0.1-10.0.0.3")})
	for i, by := range []string{"workspace \"a\"", "workspace \"b\"", "workspace \"a\""} {
		t.Run(by, func(t *testing.T) {
			if err := DrawAddress(tree, Address{Pool: "lan", Key: fmt.Sprint("k", i)}, mine, by, free); err != nil {
				t.Fatal(err)
			}
		})
	}
	err := DrawAddress(tree, Address{Pool: "lan", Key: "more"}, mine, "c", free)
	for _, want := range []string{"all 3 of", `2 by workspace "a" (k0, k2)`, `1 by workspace "b" (k1)`} {
		t.Run(want, func(t *testing.T) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
		})
	}
}

func TestAnAddressIsAskedFor(t *testing.T) {
	tree := poolOf(t, Pool{Name: "lan", Ranges: runs(t, "10.0.0.1-10.0.0.3"), Reserved: runs(t, "10.0.0.3")})
	ask := func(key, ip string) error {
		return DrawAddress(tree, Address{Pool: "lan", Key: key, IP: netip.MustParseAddr(ip)}, mine, "me", free)
	}
	if err := ask("api", "10.0.0.2"); err != nil {
		t.Fatal(err)
	}
	if got := draw(t, tree, "api"); got != "10.0.0.2" {
		t.Errorf("api has %s", got)
	}
	for key, ip := range map[string]string{"web": "10.0.0.2", "edge": "10.0.0.3", "far": "10.0.9.9"} {
		t.Run(key, func(t *testing.T) {
			if err := ask(key, ip); err == nil {
				t.Errorf("%s got %s", key, ip)
			}
		})
	}
}

func TestAPoolDoesNotLeaveItsHolders(t *testing.T) {
	p := Pool{Name: "lan", Ranges: runs(t, "10.0.0.1-10.0.0.3")}
	tree := poolOf(t, p)
	draw(t, tree, "api")
	if err := DropPool(tree, "lan"); err == nil || !strings.Contains(err.Error(), "api") {
		t.Errorf("dropped: %v", err)
	}
	p.Ranges = runs(t, "10.0.0.2-10.0.0.3")
	if err := SetPool(tree, p, mine); err == nil || !strings.Contains(err.Error(), `10.0.0.1 is drawn for key "api" by me`) {
		t.Errorf("shrunk: %v", err)
	}
	p.Ranges = runs(t, "10.0.0.0/24")
	if err := SetPool(tree, p, theirs); err != nil {
		t.Fatal(err)
	}
	if mark, there := PoolMark(tree, "lan"); !there || mark != theirs {
		t.Errorf("mark %v %v", mark, there)
	}
	if mark, there := AddressMark(tree, "lan", "api"); !there || mark != mine {
		t.Errorf("a changed pool changed the address's mark to %v %v", mark, there)
	}
	if err := errors.Join(ReleaseAddress(tree, "lan", "api"), DropPool(tree, "lan"), DropPool(tree, "lan")); err != nil || len(tree) > 0 {
		t.Errorf("left %v, %v", tree, err)
	}
}

func TestPoolsOfAMachineHaveNothingInCommon(t *testing.T) {
	tree := poolOf(t, Pool{Name: "lan", Ranges: runs(t, "10.0.0.1-10.0.0.3")})
	other := Pool{Name: "edge", Ranges: runs(t, "10.0.1.0/24", "10.0.0.3-10.0.0.9")}
	want := `10.0.0.3-10.0.0.9 overlaps 10.0.0.1-10.0.0.3 of pool "lan" (owner=mine workspace=here)`
	if err := SetPool(tree, other, theirs); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("set: %v, want %s", err, want)
	}
	if shared := Shared(tree, other, func(m owner.Mark) bool { return m != mine }); len(shared) > 0 {
		t.Errorf("with one's own: %v", shared)
	}
	other.Ranges = other.Ranges[:1]
	if err := SetPool(tree, other, theirs); err != nil {
		t.Error(err)
	}
}

func TestADamagedLedgerIsNotOverwritten(t *testing.T) {
	tree := poolOf(t, Pool{Name: "lan", Ranges: runs(t, "10.0.0.1")})
	tree.Put(Place("lan"), []byte("{"), 0, "", "")
	if _, there := PoolMark(tree, "lan"); !there {
		t.Error("a damaged pool counts as absent")
	}
	if _, err := FindPool(tree, "lan"); err == nil || errors.Is(err, transaction.ErrAbsent) {
		t.Errorf("found: %v", err)
	}
	for name, err := range map[string]error{
		"set": SetPool(tree, Pool{Name: "lan"}, mine), "drop": DropPool(tree, "lan"),
		"draw": DrawAddress(tree, Address{Pool: "lan", Key: "a"}, mine, "me", free), "release": ReleaseAddress(tree, "lan", "a"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// Any sequence of draws and releases leaves every address with one holder, inside what the pool gives out.
func TestNoAddressHasTwoHolders(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := Pool{Name: "lan", Ranges: runs(t, "10.0.0.250-10.0.1.5", "10.0.2.0/29"), Reserved: runs(t, "10.0.0.252"), AvoidBuggyIPs: rapid.Bool().Draw(r, "avoid")}
		tree := poolOf(t, p)
		available := p.toStock()
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			key := fmt.Sprint("k", rapid.IntRange(0, 25).Draw(r, "key"))
			if rapid.Bool().Draw(r, "release") {
				if err := ReleaseAddress(tree, "lan", key); err != nil {
					r.Fatal(err)
				}
				continue
			}
			_ = DrawAddress(tree, Address{Pool: "lan", Key: key}, mine, "me", free) // a full pool refuses
		}
		l, err := readLedger(tree, "lan")
		if err != nil {
			r.Fatal(err)
		}
		seen := map[netip.Addr]string{}
		for key, d := range l.Drawn {
			if other, twice := seen[d.IP]; twice || !available.hasAddress(d.IP) {
				r.Fatalf("%s has %s, %s too", key, d.IP, other)
			}
			seen[d.IP] = key
		}
	})
}

func TestPoolsOfAMachineAreListed(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	err := errors.Join(
		SetPool(tree, Pool{Name: "outside", Ranges: runs(t, "10.0.0.1-10.0.0.9")}, theirs),
		SetPool(tree, Pool{Name: "inside", Ranges: runs(t, "10.0.1.1-10.0.1.9")}, theirs),
	)
	if err != nil {
		t.Fatal(err)
	}
	tree.Put(directory+"/notes.txt", nil, 0o644, "", "")
	if got := fmt.Sprint(ListNames(tree)); got != "[inside outside]" {
		t.Errorf("listed are %s", got)
	}
}

func TestKeysOfAPoolAreListedInOrder(t *testing.T) {
	t.Parallel()
	ledger := func(text string) transaction.Tree {
		return transaction.Tree{Place("lan"): {Content: []byte(text)}}
	}
	drawn := ledger(`{"owner": "x", "ranges": ["10.0.0.1-10.0.0.9"], "drawn": {"b": {"ip": "10.0.0.2", "owner": "x"}, "a/1": {"ip": "10.0.0.1", "owner": "y"}}, "released": {"c": "10.0.0.3"}}`)
	if keys, err := ListKeys(drawn, "lan"); err != nil || !slices.Equal(keys, []string{"a/1", "b"}) {
		t.Errorf("drawn are %v, %v", keys, err)
	}
	if _, err := ListKeys(ledger("{"), "lan"); err == nil {
		t.Error("of a ledger that is damaged something is listed")
	}
}
