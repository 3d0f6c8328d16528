package crosscheck

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

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
