package crosscheck

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// self is the resource that is planned.
type self struct {
	// token is the resource's own: it tells a resource that is planned twice, for its replacement, from two resources that say the same.
	token string
	// creating says that it will be made for the first time, and not again after its replacement's removal.
	creating bool
	// replacing says that it is planned for the second time, as what comes after its own removal.
	replacing bool
	// was is its name so far.
	was string
	// changing says that something of it will be changed in place.
	changing bool
	// known says that nothing in its configuration waits for the apply.
	known bool
}

// findChange finds what the plan does with the resource.
func findChange(ctx context.Context, claim owner.Claim, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) self {
	var s self
	token, diags := crud.KeepToken(ctx, resp.Private)
	s.token = token
	resp.Diagnostics.Append(diags...)
	s.creating = req.State.Raw.IsNull() && !claim.Replaces()
	s.replacing = req.State.Raw.IsNull() && claim.Replaces()
	s.known = req.Config.Raw.IsFullyKnown()
	s.changing = !req.State.Raw.IsNull() && !req.Plan.Raw.Equal(req.State.Raw)
	if name, ok := req.State.Schema.GetAttributes()["name"]; ok && name != nil && !req.State.Raw.IsNull() {
		var was types.String
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &was)...)
		s.was = was.ValueString()
	}
	return s
}

// isWritten says that the apply will write it.
func (s self) isWritten() bool { return s.creating || s.replacing || s.changing }

// BaseName names the base configuration in messages.
const BaseName = haproxy.BaseName

// Section reports that another state or a person provides a frontend or a backend.
func (n Node) Section(ctx context.Context, p haproxy.Proxy, importID string) diag.Diagnostics {
	kind, name := p.Section()
	var diags diag.Diagnostics
	tree, _ := n.readLive(ctx)
	found, there := haproxy.ProxyMark(tree, kind, name)
	makes := n.self.creating || n.self.was != "" && n.self.was != name
	if err := haproxy.NameTaken(tree, p); err != nil && makes {
		diags.AddAttributeError(path.Root("name"), "Name taken", err.Error())
	} else if there && n.isForeign(found, makes) {
		diags.AddAttributeError(path.Root("name"), "Name taken", n.describeOwner(haproxy.DescribeProxy(kind, name), importID, found))
	}
	return diags
}

// Base reports that another state has the base configuration.
func (n Node) Base(ctx context.Context, importID string) diag.Diagnostics {
	var diags diag.Diagnostics
	tree, _ := n.readLive(ctx)
	if found, there := haproxy.BaseMark(tree); there && n.isForeign(found, n.self.creating) {
		diags.AddAttributeError(path.Root("service_node"), "Two base configurations", "a service node has one. "+n.describeOwner(BaseName, importID, found))
	}
	return diags
}

// isForeign says that a section which the resource makes or changes is not its own.
func (n Node) isForeign(found owner.Mark, makes bool) bool {
	return makes && !n.claim.MayTake(found) || !makes && n.self.changing && !n.claim.Owns(found)
}

// describeOwner says whose a section is.
func (n Node) describeOwner(what, importID string, found owner.Mark) string {
	return n.claim.NewForeignError(what, haproxy.ConfigPath+" on "+n.String(), importID, found).Error()
}

// namesFile matches lines that name a file on the machine, which something else of the plan may yet put there.
var namesFile = regexp.MustCompile(`(^|\s)(-f|file|lf-file|crt|crt-list|crt-base|ca-base|ca-file|ca-verify-file|crl-file|errorfile|errorfiles|lua-load\S*|config|ssl-dh-param-file|tls-ticket-keys|server-state-file|issuers-chain-path|load)\s|map\w*\(`)

// TryProxy has the machine's HAProxy check what the plan makes of a frontend or a backend. A backend that the plan does not know yet is
// taken to be as the frontend needs it.
func (n Node) TryProxy(ctx context.Context, p haproxy.Proxy) diag.Diagnostics {
	return n.tryEdit(ctx, path.Root("name"), p.Body(), func(t transaction.Tree) error { return haproxy.SetProxy(t, p, owner.Mark{}) })
}

// TryBase does the same for the base.
func (n Node) TryBase(ctx context.Context, b haproxy.Base) diag.Diagnostics {
	lines := append(append([]string{}, b.Extra...), b.DefaultsExtra...)
	var secrets []string
	if b.Stats != nil && b.Stats.Password != "" {
		secrets = append(secrets, b.Stats.Password)
	}
	return n.tryEdit(ctx, path.Root("service_node"), lines, func(t transaction.Tree) error { return haproxy.SetBase(t, b, owner.Mark{}) }, secrets...)
}

// tryEdit checks the configuration that is there with all that the plan is known to write so far. Nothing is said where the machine
// cannot be asked, does not run HAProxy yet, or the plan is not known: then the apply asks.
func (n Node) tryEdit(ctx context.Context, at path.Path, lines []string, edit func(transaction.Tree) error, secrets ...string) diag.Diagnostics {
	var diags diag.Diagnostics
	tree, ok := n.readLive(ctx)
	if _, there := tree[haproxy.ConfigPath]; !ok || !there || !n.self.known || !n.self.isWritten() {
		return diags
	}
	h, err := n.fleet.Host(ctx, n.id)
	if err != nil {
		return diags
	}
	err = n.trials.Try(ctx, n.id, n.self.token, edit, func(edits []func(transaction.Tree) error) error {
		next := tree.Clone()
		for _, edit := range edits {
			if err := edit(next); err != nil {
				return err
			}
		}
		if err := haproxy.AddMissingBackends(next); err != nil {
			return err
		}
		return transaction.Try(ctx, h, haproxy.Daemon{}, next)
	})
	refused, isRefusal := errors.AsType[*transaction.RefusedError](err)
	said := ""
	if isRefusal {
		said = refused.Error()
	}
	for _, secret := range secrets {
		said = strings.ReplaceAll(said, secret, "***")
	}
	switch {
	case !isRefusal:
	case namesFile.MatchString(strings.Join(lines, "\n")):
		diags.AddAttributeWarning(at, "HAProxy refuses what is planned",
			"unless something else of this apply brings a file that it names: "+said)
	default:
		diags.AddAttributeError(at, "HAProxy refuses what is planned", said)
	}
	return diags
}
