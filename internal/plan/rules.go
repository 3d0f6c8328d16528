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
}

// Rules are all of them. The first of two kinds that fits counts.
var Rules = []Rule{
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
