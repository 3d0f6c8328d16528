package plan

// Rule says that a use of one kind is refused where another resource of the plan has one of another kind, or of the same: both are
// there once, and have the value, or an address, in common.
type Rule struct {
	Mine, Theirs Kind
	// Summary and Detail are the error at the use that is refused. In the detail stand {mine} and {theirs} for the two uses with where they
	// are, {value} and {their value}, {scope} and {their scope}, {for} and {their for}, {self} and {holder} for the two resources, {place}
	// for the machine and {object} for the id of the one that is refused.
	Summary, Detail string
	// AnyScope is set where one of the two does not say where it is, so that only the value counts.
	AnyScope bool
	// EvenForOne is set where two uses for one machine collide too.
	EvenForOne bool
	// Gone says whose resource goes, where one of the two has to go for the uses to collide.
	Gone Side
}

// Side is one of the two uses of a rule.
type Side int

const (
	// Neither is the side of a rule that compares what stays and what comes.
	Neither Side = iota
	// MineGoes and TheirsGoes are those of rules that compare what goes with what needs it.
	MineGoes
	TheirsGoes
)

// Fits says whether a rule is one for what the plan does with the two resources.
func (r Rule) Fits(mine, theirs Doing) bool {
	return (mine == Removes) == (r.Gone == MineGoes) && (theirs == Removes) == (r.Gone == TheirsGoes)
}

// moved is what to write where an object of the configuration has another address now.
const moved = "{self} is to be destroyed at one address of the configuration and made at another, as for a renamed for_each key. Terraform does both at once, " +
	"and what the old one holds would be lost. Where only its address changed, write that, and nothing happens to it:\n\n  moved {\n    from = virtcluster_{for}.OLD\n    to   = virtcluster_{for}.NEW\n  }\n\n" +
	"Where it is to be made anew, remove the old one in an apply of its own."

// Rules are all of them. The first of two kinds that fits counts.
var Rules = []Rule{
	{Mine: ObjectName, Theirs: ObjectName, Summary: "Described twice", Detail: "another resource of this configuration describes {self} too, and each would undo what the other makes: keep one of them, or give this one another name"},
	{Mine: LastingName, Theirs: LastingName, Gone: TheirsGoes, EvenForOne: true, Summary: "Destroyed and made under one name", Detail: moved},
	{Mine: LastingName, Theirs: LastingName, Gone: MineGoes, EvenForOne: true, Summary: "Destroyed and made under one name", Detail: moved},
	{Mine: Route, Theirs: Route, Summary: "Route described twice", Detail: "route {value} on {object} is that of the {holder} too: give one of them a metric"},
	{Mine: Device, Theirs: Device, Summary: "Interface described twice", Detail: "{mine} is that of the {holder} too: an interface has one configuration"},
	{Mine: Resolver, Theirs: Resolver, Summary: "Resolver described twice", Detail: "resolver {place} on {place} is also the {holder}: a machine has one"},
	{Mine: HostsBlock, Theirs: HostsBlock, Summary: "Block described twice", Detail: "{mine} is also the {holder}: write another name"},
	{Mine: NFSExport, Theirs: NFSExport, Summary: "Exported twice", Detail: "{mine} is another resource's: write all clients into one of them"},
}

// rulesOf are the Rules by the kind that they refuse.
var rulesOf = func() map[Kind][]Rule {
	all := map[Kind][]Rule{}
	for _, r := range Rules {
		all[r.Mine] = append(all[r.Mine], r)
	}
	return all
}()

// RulesOf returns the rules by which a use of a kind is refused.
func RulesOf(k Kind) []Rule { return rulesOf[k] }
