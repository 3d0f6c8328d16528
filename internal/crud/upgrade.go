package crud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Upgrade turns what one version of a type left in a state into what the next one has there. Attributes are JSON's: text, bool,
// json.Number, nil, []any and map[string]any. An attribute that is new and is left out is null, and one that is unknown to the
// schema is dropped. The identity that Terraform keeps beside a state is upgraded in the same way, by its own attributes: so
// what is not there is passed over.
type Upgrade func(attributes map[string]any) error

// version is the schema's: it counts the upgrades.
func (r *typed[M, S]) version() int64 { return int64(len(r.Upgrades)) }

// UpgradeState implements resource.ResourceWithUpgradeState.
func (r *typed[M, S]) UpgradeState(ctx context.Context) map[int64]resource.StateUpgrader {
	upgraders := map[int64]resource.StateUpgrader{}
	for from := range r.version() {
		upgraders[from] = resource.StateUpgrader{StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
			resp.State.Raw = r.upgradeValue(from, req.RawState, resp.State.Schema.Type().TerraformType(ctx), &resp.Diagnostics)
		}}
	}
	return upgraders
}

// UpgradeIdentity implements resource.ResourceWithUpgradeIdentity.
func (r *typed[M, S]) UpgradeIdentity(ctx context.Context) map[int64]resource.IdentityUpgrader {
	upgraders := map[int64]resource.IdentityUpgrader{}
	for from := range r.version() {
		upgraders[from] = resource.IdentityUpgrader{IdentityUpgrader: func(ctx context.Context, req resource.UpgradeIdentityRequest, resp *resource.UpgradeIdentityResponse) {
			resp.Identity.Raw = r.upgradeValue(from, req.RawIdentity, resp.Identity.Schema.Type().TerraformType(ctx), &resp.Diagnostics)
		}}
	}
	return upgraders
}

// upgradeValue is what a stored state or identity holds after all upgrades from a version on.
func (r *typed[M, S]) upgradeValue(from int64, stored *tfprotov6.RawState, as tftypes.Type, diags *diag.Diagnostics) tftypes.Value {
	text, err := upgradeJSON(stored.JSON, r.Upgrades[from:])
	var v tftypes.Value
	if err == nil {
		v, err = (&tfprotov6.RawState{JSON: text}).UnmarshalWithOpts(as, tfprotov6.UnmarshalOpts{ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true}})
	}
	if err != nil {
		diags.AddError(fmt.Sprintf("Cannot upgrade the state of a %s", r.Noun),
			fmt.Sprintf("It is of version %d of virtcluster_%s, and this provider has version %d: %s. Take it out of the state with `terraform state rm`, and import it.", from, r.Name, r.version(), err))
	}
	return v
}

func upgradeJSON(text []byte, upgrades []Upgrade) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a number has the digits that the state has
	var attributes map[string]any
	if err := decoder.Decode(&attributes); err != nil {
		return nil, err
	}
	for _, upgrade := range upgrades {
		if err := upgrade(attributes); err != nil {
			return nil, err
		}
	}
	return json.Marshal(attributes)
}

// LeaveOutEmpty is the Upgrade of texts that could be written empty, which meant the same as leaving them out, and no longer can: so
// that leaving them out now is no change of an object that is made anew where they change.
func LeaveOutEmpty(names ...string) Upgrade {
	return func(attributes map[string]any) error {
		for _, name := range names {
			if attributes[name] == "" {
				attributes[name] = nil
			}
		}
		return nil
	}
}

// ShortenReferences is the Upgrade of what carried a service node's id when that had all of the host key's fingerprint, in percent
// codes: ids, and attributes that name a machine, wherever they are.
func ShortenReferences(attributes map[string]any) error {
	for name, value := range attributes {
		attributes[name] = shortenAll(value)
	}
	return nil
}

func shortenAll(value any) any {
	switch v := value.(type) {
	case string:
		return host.ShortenReferences(v)
	case []any:
		for i := range v {
			v[i] = shortenAll(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = shortenAll(v[name])
		}
	}
	return value
}
