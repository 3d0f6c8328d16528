package hunt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// core drives the provider as Terraform's core does: a process of its own for each walk, and the rules that core has for what a
// provider answers.
type core struct {
	config object // of the provider
	types  map[string][]*attribute
	root   []*attribute
}

// instance is one resource of a state.
type instance struct {
	value    cty.Value
	private  []byte
	identity *tfprotov6.ResourceIdentityData
	tainted  bool
}

// refused is an error that the provider gave a user. broken is one that no user should see: core's own words about the provider.
type (
	refused struct{ diagnostics []*tfprotov6.Diagnostic }
	broken  struct{ what string }
)

func (e *refused) Error() string {
	var all []string
	for _, d := range e.diagnostics {
		text := d.Summary + ": " + d.Detail
		if d.Attribute != nil {
			text = d.Attribute.String() + ": " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func (e *broken) Error() string { return e.what }

func newCore(config object) (*core, error) {
	c := &core{config: config, types: map[string][]*attribute{}}
	resp, err := provider.Server("hunt").GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	if c.root, err = attributesOf(resp.Provider.Block.Attributes); err != nil {
		return nil, err
	}
	for name, s := range resp.DataSourceSchemas {
		if c.types[dataPrefix+name], err = attributesOf(s.Block.Attributes); err != nil {
			return nil, err
		}
	}
	for name, s := range resp.ResourceSchemas {
		if c.types[name], err = attributesOf(s.Block.Attributes); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// walk is one walk of core: a provider that is configured, and ended.
type walk struct {
	*core
	context.Context //nolint:containedctx // a walk is as short as a call
	server          tfprotov6.ProviderServer
	end             func() error
}

func (c *core) begin(ctx context.Context, atApply bool) (w *walk, err error) {
	w = &walk{core: c, Context: ctx}
	w.server, w.end = provider.Open("hunt")
	config := objectValue(c.root, c.config, atApply)
	valid, err := w.server.ValidateProviderConfig(ctx, &tfprotov6.ValidateProviderConfigRequest{Config: encode(config)})
	if err != nil {
		return w, err
	}
	if err := judge(valid.Diagnostics); err != nil {
		return w, err
	}
	done, err := w.server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.14.0", Config: encode(config), ClientCapabilities: &tfprotov6.ConfigureProviderClientCapabilities{}})
	if err != nil {
		return w, err
	}
	return w, judge(done.Diagnostics)
}

// judge is the error that diagnostics are.
func judge(all []*tfprotov6.Diagnostic) error {
	var errs []*tfprotov6.Diagnostic
	for _, d := range all {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			errs = append(errs, d)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	err := &refused{errs}
	for _, d := range errs {
		if fault := acctest.SignOfFault(d.Summary + "\n" + d.Detail); fault != "" {
			return &broken{"message: " + fault + ": " + err.Error()}
		}
	}
	return err
}

func encode(v cty.Value) *tfprotov6.DynamicValue {
	text, err := msgpack.Marshal(v, v.Type())
	if err != nil {
		panic(err)
	}
	return &tfprotov6.DynamicValue{MsgPack: text}
}

// encodeAs is encode for a value of a schema's type, whose dynamic attributes carry their types.
func (w *walk) encode(kind string, v cty.Value) *tfprotov6.DynamicValue {
	text, err := msgpack.Marshal(v, objectType(w.types[kind]))
	if err != nil {
		panic(err)
	}
	return &tfprotov6.DynamicValue{MsgPack: text}
}

func (w *walk) decode(kind string, v *tfprotov6.DynamicValue) (cty.Value, error) {
	if v == nil {
		return cty.NullVal(objectType(w.types[kind])), nil
	}
	got, err := msgpack.Unmarshal(v.MsgPack, objectType(w.types[kind]))
	if err != nil {
		return got, &broken{"answer of another type: " + err.Error()}
	}
	return got, nil
}

// protect turns a panic of the provider into an error.
func protect(err *error) {
	if r := recover(); r != nil {
		*err = &broken{fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}
	}
}

// refresh reads an instance; nil where it is gone.
func (w *walk) refresh(kind string, was *instance) (now *instance, err error) {
	defer protect(&err)
	resp, err := w.server.ReadResource(w, &tfprotov6.ReadResourceRequest{TypeName: kind, CurrentState: w.encode(kind, was.value), Private: was.private, CurrentIdentity: was.identity})
	if err != nil {
		return nil, err
	}
	if err := judge(resp.Diagnostics); err != nil {
		return nil, err
	}
	v, err := w.decode(kind, resp.NewState)
	if err != nil || v.IsNull() {
		return nil, err
	}
	if !v.IsWhollyKnown() {
		return nil, &broken{"a read returned unknown values"}
	}
	return &instance{value: v, private: resp.Private, identity: resp.NewIdentity, tainted: was.tainted}, nil
}

// change is what a plan holds for one resource.
type change struct {
	before, after cty.Value
	// replaces says that the prior one goes first; nothing that nothing changes.
	replaces, nothing bool
	private           []byte
	identity          *tfprotov6.ResourceIdentityData
	paths             []*tftypes.AttributePath
}

// plan is one resource's part of a plan. of is what an earlier plan of the same change kept privately.
func (w *walk) plan(kind string, was *instance, config cty.Value, of *change) (c *change, err error) {
	defer protect(&err)
	none := cty.NullVal(objectType(w.types[kind]))
	valid, err := w.server.ValidateResourceConfig(w, &tfprotov6.ValidateResourceConfigRequest{TypeName: kind, Config: w.encode(kind, config), ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true}})
	if err == nil {
		err = judge(valid.Diagnostics)
	}
	if err != nil {
		return nil, err
	}
	prior, private, identity := none, []byte(nil), (*tfprotov6.ResourceIdentityData)(nil)
	if was != nil && !was.tainted {
		prior, private, identity = was.value, was.private, was.identity
	}
	if of != nil {
		private = of.private
		if of.replaces {
			prior, identity = none, nil
		}
	}
	c, err = w.ask(kind, prior, config, private, identity)
	if err != nil {
		return nil, err
	}
	if was != nil && was.tainted {
		c.replaces, c.before = true, was.value
		return c, nil
	}
	if !prior.IsNull() && changes(c.paths, prior, c.after) {
		again, err := w.ask(kind, none, config, c.private, nil)
		if err != nil {
			return nil, err
		}
		again.replaces, again.before = true, prior
		return again, nil
	}
	c.nothing = !prior.IsNull() && c.after.RawEquals(prior)
	if of != nil {
		c.replaces, c.before = of.replaces, of.before
	}
	return c, nil
}

func (w *walk) ask(kind string, prior, config cty.Value, private []byte, identity *tfprotov6.ResourceIdentityData) (*change, error) {
	resp, err := w.server.PlanResourceChange(w, &tfprotov6.PlanResourceChangeRequest{
		TypeName: kind, PriorState: w.encode(kind, prior), ProposedNewState: w.encode(kind, propose(w.types[kind], prior, config)), Config: w.encode(kind, config),
		PriorPrivate: private, PriorIdentity: identity,
	})
	if err != nil {
		return nil, err
	}
	if err := judge(resp.Diagnostics); err != nil {
		return nil, err
	}
	after, err := w.decode(kind, resp.PlannedState)
	if err != nil {
		return nil, err
	}
	if after.IsNull() {
		return nil, &broken{"invalid plan: planned for absence but config wants existence"}
	}
	if wrong := wrongPlan(w.types[kind], prior, config, after, kind); len(wrong) > 0 {
		return nil, &broken{strings.Join(wrong, "; ")}
	}
	return &change{before: prior, after: after, private: resp.PlannedPrivate, identity: resp.PlannedIdentity, paths: resp.RequiresReplace}, nil
}

// changes says whether a value at one of the paths changes.
func changes(paths []*tftypes.AttributePath, before, after cty.Value) bool {
	for _, p := range paths {
		if a, b := at(p, before), at(p, after); !a.RawEquals(b) {
			return true
		}
	}
	return false
}

// at is the value at a path, or null where there is nothing.
func at(p *tftypes.AttributePath, v cty.Value) cty.Value {
	for _, step := range p.Steps() {
		if v.IsNull() || !v.IsKnown() {
			return v
		}
		var k cty.Value
		switch s := step.(type) {
		case tftypes.AttributeName:
			v = v.GetAttr(string(s))
			continue
		case tftypes.ElementKeyString:
			k = cty.StringVal(string(s))
		case tftypes.ElementKeyInt:
			k = cty.NumberIntVal(int64(s))
		default:
			return v
		}
		if v.HasIndex(k).False() {
			return cty.NullVal(cty.DynamicPseudoType)
		}
		v = v.Index(k)
	}
	return v
}

// apply makes a planned change with what the configuration is by now. The instance is what state has after it, whatever the error. What
// is replaced goes first, by the plan that there was; the new one is planned again when it is gone.
func (w *walk) apply(kind string, was *instance, planned *change, config cty.Value) (now *instance, err error) {
	defer protect(&err)
	now = was
	if planned.replaces && was != nil {
		if err := w.remove(kind, was, planned.private); err != nil {
			return now, err
		}
		now = nil
	}
	final, err := w.plan(kind, now, config, planned)
	if err != nil {
		return now, err
	}
	if wrong := incompatible(planned.after, final.after, kind); len(wrong) > 0 {
		return now, &broken{"inconsistent final plan: " + strings.Join(wrong, "; ")}
	}
	prior := cty.NullVal(objectType(w.types[kind]))
	if now != nil {
		prior = now.value
	}
	if final.nothing {
		return now, nil
	}
	resp, err := w.server.ApplyResourceChange(w, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: kind, PriorState: w.encode(kind, prior), PlannedState: w.encode(kind, final.after), Config: w.encode(kind, config), PlannedPrivate: final.private, PlannedIdentity: final.identity,
	})
	if err != nil {
		return now, err
	}
	got, err := w.decode(kind, resp.NewState)
	if err != nil {
		return now, err
	}
	failed := judge(resp.Diagnostics)
	if got.IsNull() {
		if failed == nil {
			failed = &broken{"inconsistent result after apply: nothing came back"}
		}
		return nil, failed
	}
	next := &instance{value: got, private: resp.Private, identity: resp.NewIdentity, tainted: failed != nil && now == nil}
	if failed != nil {
		return next, failed
	}
	if !got.IsWhollyKnown() {
		return next, &broken{"unknown values after apply"}
	}
	if wrong := incompatible(final.after, got, kind); len(wrong) > 0 {
		return next, &broken{"inconsistent result after apply: " + strings.Join(wrong, "; ")}
	}
	return next, nil
}

// destroy removes an instance.
func (w *walk) destroy(kind string, was *instance) (err error) {
	defer protect(&err)
	none := w.encode(kind, cty.NullVal(objectType(w.types[kind])))
	plan, err := w.server.PlanResourceChange(w, &tfprotov6.PlanResourceChangeRequest{TypeName: kind, PriorState: w.encode(kind, was.value), ProposedNewState: none, Config: none, PriorPrivate: was.private, PriorIdentity: was.identity})
	if err == nil {
		err = judge(plan.Diagnostics)
	}
	if err != nil {
		return fmt.Errorf("plan of the destroy: %w", err)
	}
	return w.remove(kind, was, plan.PlannedPrivate)
}

// remove makes a planned destroy.
func (w *walk) remove(kind string, was *instance, private []byte) error {
	none := w.encode(kind, cty.NullVal(objectType(w.types[kind])))
	resp, err := w.server.ApplyResourceChange(w, &tfprotov6.ApplyResourceChangeRequest{TypeName: kind, PriorState: w.encode(kind, was.value), PlannedState: none, Config: none, PlannedPrivate: private})
	if err == nil {
		err = judge(resp.Diagnostics)
	}
	if err != nil {
		return fmt.Errorf("destroy: %w", err)
	}
	if v, err := w.decode(kind, resp.NewState); err != nil || !v.IsNull() {
		return errors.Join(err, &broken{"a destroy left something in the state"})
	}
	return nil
}

// imports takes an id into the state.
func (w *walk) imports(kind, id string) (now *instance, err error) {
	defer protect(&err)
	resp, err := w.server.ImportResourceState(w, &tfprotov6.ImportResourceStateRequest{TypeName: kind, ID: id})
	if err == nil {
		err = judge(resp.Diagnostics)
	}
	if err != nil {
		return nil, fmt.Errorf("import %q: %w", id, err)
	}
	if len(resp.ImportedResources) != 1 {
		return nil, &broken{fmt.Sprintf("an import returned %d resources", len(resp.ImportedResources))}
	}
	got := resp.ImportedResources[0]
	v, err := w.decode(kind, got.State)
	if err != nil {
		return nil, err
	}
	now, err = w.refresh(kind, &instance{value: v, private: got.Private, identity: got.Identity})
	if err == nil && now == nil {
		err = &broken{"import " + id + ": cannot import non-existent remote object"}
	}
	return now, err
}
