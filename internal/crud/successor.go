package crud

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// successorKey is where a plan that makes an object writes what it is called. Terraform hands a delete what the plan of a replacement kept
// beside its attributes, and else what the state keeps, where a create has taken the word away again: so a delete is told of the create
// that follows.
const successorKey = "successor"

// noteSuccessor has the plan of an object that takes turns tell a delete before it that it is made anew, and as what.
func (p *planning[M, S]) noteSuccessor() {
	if p.TakesTurns == nil || p.m == nil || !p.isNew || p.resp.Private == nil || !p.TakesTurns(p.m) {
		return
	}
	p.resp.Diagnostics.Append(setSuccessor(p.ctx, p.resp.Private, p.nameSuccessor(p.ctx, p.m, p.resp.Plan.GetAttribute))...)
}

// forgetSuccessor takes the word away: the state keeps none.
func (r *typed[M, S]) forgetSuccessor(ctx context.Context, p private, diags *diag.Diagnostics) {
	if r.TakesTurns != nil {
		diags.Append(setSuccessor(ctx, p, "")...)
	}
}

func setSuccessor(ctx context.Context, p private, name string) diag.Diagnostics {
	text, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string always marshals
	}
	return p.SetKey(ctx, successorKey, text)
}

// readSuccessor returns what the same apply makes in place of an object that is being deleted; "" for nothing.
func readSuccessor(ctx context.Context, p private, diags *diag.Diagnostics) (name string) {
	text, d := p.GetKey(ctx, successorKey)
	diags.Append(d...)
	if len(text) > 0 && json.Unmarshal(text, &name) != nil {
		return ""
	}
	return name
}

// nameSuccessor returns what a successor is called: its key, as it is written.
func (r *typed[M, S]) nameSuccessor(ctx context.Context, m *M, get getter) string {
	return r.listNames(ctx, m, get)[0]
}
