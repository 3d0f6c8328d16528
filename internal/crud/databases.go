package crud

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// databasesKey is where private state keeps which machines have the databases of OVN that are known by one of them. An apply asks nobody that does not
// change, such as the resource that has the databases, and the one machine that references name may be cut off by then. What a plan finds out does not reach
// the apply, as the program plans anew there upon the private state of the object: what a read of it finds out does.
const databasesKey = "databases"

// learnDatabases has the provider know of the machines that private state keeps.
func (r *typed[M, S]) learnDatabases(ctx context.Context, p private, diags *diag.Diagnostics) {
	if !r.AsksOVN || r.provided.Fleet == nil {
		return
	}
	text, d := p.GetKey(ctx, databasesKey)
	diags.Append(d...)
	var known map[string][]string
	if len(text) == 0 || json.Unmarshal(text, &known) != nil {
		return // nothing is known, and what asks finds out
	}
	r.provided.Fleet.LearnDatabases(ctx, known)
}

// keepDatabases has private state keep the machines that the provider knows of by now.
func (r *typed[M, S]) keepDatabases(ctx context.Context, p private, diags *diag.Diagnostics) {
	if !r.AsksOVN || r.provided.Fleet == nil {
		return
	}
	if known := r.provided.Fleet.Databases(); len(known) > 0 {
		text, _ := json.Marshal(known) // texts always can be
		diags.Append(p.SetKey(ctx, databasesKey, text)...)
	}
}
