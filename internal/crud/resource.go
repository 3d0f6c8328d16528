package crud

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cli"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Type describes one document-like Terraform type; New makes a framework resource of it. M is the model
// (a tfsdk struct), S the object in plain values.
type Type[M, S any] struct {
	// Name is the type's name without the provider's prefix: "haproxy_backend".
	Name string
	// Noun and Label name an object in messages: "HAProxy backend", and its own name.
	Noun  string
	Label func(m *M) string
	// Schema of the type. An attribute "timeouts" (terraform-plugin-framework-timeouts) is honoured.
	Schema func(ctx context.Context) schema.Schema
	// Key lists the root string attributes that name the object: they make up the resource identity.
	Key []string
	// MutableIdentity is set where the key of an object can change in place.
	MutableIdentity bool
	// ID computes the id from the key attributes, and Split is its inverse, for import; the id is what
	// `terraform import` takes.
	ID    func(m *M) string
	Split func(m *M, id string) error
	// SetID stores the id in the model.
	SetID func(m *M, id string)
	// Spec converts the model; an unknown becomes a zero value. A spec with Validate() is checked at plan.
	Spec func(ctx context.Context, m *M) (S, diag.Diagnostics)
	// Fill writes what was read back into the model. It keeps the model's own spelling where the meaning
	// is the same.
	Fill func(ctx context.Context, m *M, got S) diag.Diagnostics
	// Open returns the store of the object that the model's key names.
	Open func(ctx context.Context, at Opening, m *M) (Store[S], error)
	// WriteOnly copies write-only values from the configuration into the planned model; may be nil.
	WriteOnly func(planned, config *M)
	// Plan adds to planning: cross-checks, computed values. It is called when the resource is not being
	// destroyed, with a nil fleet where the provider is not configured; may be nil.
	Plan func(ctx context.Context, at Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *M)
	// Timeout bounds each operation where the configuration says nothing; zero means ten minutes.
	Timeout time.Duration
	// Timeouts bound single operations otherwise: "create", "read", "update", "delete"; may be nil.
	Timeouts map[string]time.Duration
	// Recall and Remember copy between the model and private state what the resource keeps there beside its claim: what a plan
	// needs to know of the last apply, and nobody else. The model's fields for it are tagged `tfsdk:"-"`. Both may be nil.
	Recall   func(ctx context.Context, private PrivateState, m *M) diag.Diagnostics
	Remember func(ctx context.Context, private PrivateState, m *M) diag.Diagnostics
}

// PrivateState is what the framework lets a resource keep beside its attributes.
type PrivateState = private

// New makes the framework's resource.
func New[M, S any](t Type[M, S]) resource.Resource {
	if t.Timeout == 0 {
		t.Timeout = 10 * time.Minute
	}
	return &typed[M, S]{Type: t}
}

type typed[M, S any] struct {
	Type[M, S]
	fleet *fleet.Fleet
}

func (r *typed[M, S]) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + r.Name
	resp.ResourceBehavior.MutableIdentity = r.MutableIdentity
}

func (r *typed[M, S]) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.Type.Schema(ctx)
}

func (r *typed[M, S]) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.fleet = configured(req.ProviderData, &resp.Diagnostics)
}

// what names the object in messages: `HAProxy backend "api"`.
func (r *typed[M, S]) what(m *M) string { return fmt.Sprintf("%s %q", r.Noun, r.Label(m)) }

func (r *typed[M, S]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	if cli.Destroys() {
		// What is about to go is planned as if it stayed: nothing that is wrong with it may keep it from going.
		defer func() {
			resp.Diagnostics = slices.DeleteFunc(resp.Diagnostics, func(d diag.Diagnostic) bool { return d.Severity() == diag.SeverityError })
		}()
	}
	var m M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	spec, diags := r.Spec(ctx, &m)
	resp.Diagnostics.Append(diags...)
	if v, ok := any(spec).(Validator); ok && !diags.HasError() {
		resp.Diagnostics.Append(Problems(ctx, req.Plan, v.Validate())...)
	}
	claim := owner.New()
	if !req.State.Raw.IsNull() {
		claim = restoreClaim(ctx, req.Private, &resp.Diagnostics)
	} else if replaced := loadClaim(ctx, req.Private, &resp.Diagnostics); replaced != nil {
		claim = replaced.Succeed() // what is replaced is still there
	}
	if r.Plan != nil && !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(r.recall(ctx, req.Private, &m)...)
		r.Plan(ctx, Opening{r.fleet, claim}, req, resp, &m)
	}
	if resp.Diagnostics.HasError() || r.fleet == nil || !r.namesItself(ctx, resp.Plan) {
		return
	}
	r.refuseTwin(ctx, req, resp)
	if req.State.Raw.IsNull() {
		r.preview(ctx, resp, claim)
	}
}

// namesItself says whether a plan knows all that makes up the object's name.
func (r *typed[M, S]) namesItself(ctx context.Context, plan tfsdk.Plan) bool {
	return !slices.ContainsFunc(r.Key, func(name string) bool {
		var v types.String
		return plan.GetAttribute(ctx, path.Root(name), &v).HasError() || v.IsUnknown()
	})
}

// refuseTwin refuses to plan an object that another resource of the plan describes too. A resource is known by its claim, or
// before it has one by its configuration: that it is planned a second time is no conflict. Two that are written alike are told
// apart when they are created.
func (r *typed[M, S]) refuseTwin(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	name := make([]string, 0, len(r.Key))
	for _, attribute := range r.Key {
		var v types.String
		resp.Diagnostics.Append(resp.Plan.GetAttribute(ctx, path.Root(attribute), &v)...)
		name = append(name, v.ValueString())
	}
	self := fmt.Sprintf("%s %q written as %x", r.Noun, name, sha256.Sum256([]byte(req.Config.Raw.String())))
	if claim := loadClaim(ctx, req.Private, &resp.Diagnostics); claim != nil {
		self = r.Noun + " of owner " + claim.Mark().ID
	}
	twin := planregistry.Claim{Kind: r.Noun, Scope: "the machine", Value: fmt.Sprintf("%q", name)}
	if len(r.fleet.Claims.Replace("one "+self, twin)) > 0 {
		resp.Diagnostics.AddAttributeError(path.Root(r.Key[len(r.Key)-1]), "Described twice",
			fmt.Sprintf("another resource of this configuration describes %s %q too, and each would undo what the other makes: keep one of them, or give this one another name", r.Noun, r.Label(r.planned(ctx, resp))))
	}
}

// planned is the model of a plan.
func (r *typed[M, S]) planned(ctx context.Context, resp *resource.ModifyPlanResponse) *M {
	var m M
	resp.Diagnostics.Append(resp.Plan.Get(ctx, &m)...)
	return &m
}

// previewLimit bounds a look at a machine while planning: what it cannot say then, the apply says.
const previewLimit = 20 * time.Second

// preview refuses to plan a create where something of another's is in its place already.
func (r *typed[M, S]) preview(ctx context.Context, resp *resource.ModifyPlanResponse, claim owner.Claim) {
	m := r.planned(ctx, resp)
	ctx, cancel := context.WithTimeout(ctx, previewLimit)
	defer cancel()
	store, err := r.Open(ctx, Opening{r.fleet, claim}, m)
	if err != nil {
		return
	}
	if p, ok := store.(Previewer); ok {
		if foreign, taken := errors.AsType[*owner.ForeignError](p.MayCreate(ctx)); taken {
			resp.Diagnostics.Append(Failure("create", r.what(m), foreign))
		}
	}
}

func (r *typed[M, S]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m, config M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := r.deadline(ctx, req.Plan, "create", &resp.Diagnostics)
	defer cancel()
	claim := owner.New()
	if replaced := loadClaim(ctx, resp.Private, &resp.Diagnostics); replaced != nil {
		claim = replaced.Succeed()
	}
	store, spec, ok := r.open(ctx, "create", Opening{r.fleet, claim}, &m, &config, &resp.Diagnostics)
	if !ok {
		return
	}
	got, err := store.Create(ctx, spec)
	if err != nil {
		resp.Diagnostics.Append(Failure("create", r.what(&m), err))
	}
	r.keep(ctx, store, &m, got, err, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
}

func (r *typed[M, S]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m M
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	// A CLI without identities sends none, and the framework wants one even of what turns out to be gone.
	r.identify(ctx, req.State, resp.Identity, &resp.Diagnostics)
	ctx, cancel := r.deadline(ctx, req.State, "read", &resp.Diagnostics)
	defer cancel()
	if r.fleet == nil {
		return
	}
	resp.Diagnostics.Append(r.recall(ctx, req.Private, &m)...)
	store, err := r.Open(ctx, Opening{r.fleet, restoreClaim(ctx, req.Private, &resp.Diagnostics)}, &m)
	if errors.Is(err, fleet.ErrUnknown) {
		return // nothing may be asked yet, so what is known stays
	}
	var got S
	if err == nil {
		got, err = store.Get(ctx)
	}
	foreign, taken := errors.AsType[*owner.ForeignError](err)
	unseen, _ := errors.AsType[*service.UnseenError](err)
	switch {
	case taken:
		// It stays in the state, as it was known: that it is gone is not proven, and a destroy must not plan to make it anew.
		resp.Diagnostics.AddWarning(fmt.Sprintf("%s %q is not this resource's any more", r.Noun, r.Label(&m)),
			foreign.Error()+". It will not be changed nor removed; take this resource out of the state with `terraform state rm` before an import.")
		return
	case unseen != nil:
		resp.Diagnostics.AddWarning("Cannot look at "+r.what(&m), unseen.Why)
		return
	case Absent(err):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		resp.Diagnostics.Append(Failure("read", r.what(&m), err))
		return
	}
	r.keep(ctx, store, &m, got, nil, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
}

func (r *typed[M, S]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, config, prior M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := r.deadline(ctx, req.Plan, "update", &resp.Diagnostics)
	defer cancel()
	resp.Diagnostics.Append(r.recall(ctx, req.Private, &prior)...)
	resp.Diagnostics.Append(r.recall(ctx, req.Private, &m)...)
	was, diags := r.Spec(ctx, &prior)
	resp.Diagnostics.Append(diags...)
	at := Opening{r.fleet, restoreClaim(ctx, req.Private, &resp.Diagnostics)}
	store, spec, ok := r.open(ctx, "update", at, &m, &config, &resp.Diagnostics)
	if !ok {
		return
	}
	got, err := store.Update(ctx, was, spec)
	if err != nil {
		resp.Diagnostics.Append(Failure("update", r.what(&m), err))
	}
	r.keep(ctx, store, &m, got, err, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
}

func (r *typed[M, S]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m M
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := r.deadline(ctx, req.State, "delete", &resp.Diagnostics)
	defer cancel()
	store, err := r.Open(ctx, Opening{r.fleet, restoreClaim(ctx, req.Private, &resp.Diagnostics)}, &m)
	if err == nil {
		err = store.Delete(ctx)
		resp.Diagnostics.Append(warnings(store)...)
	}
	if foreign, taken := errors.AsType[*owner.ForeignError](err); taken {
		// What replaces this resource in the same run took it over: nothing is left behind that needs a word.
		if !foreign.Described() {
			resp.Diagnostics.AddWarning(fmt.Sprintf("%s %q stays", r.Noun, r.Label(&m)), foreign.Error())
		}
		return
	}
	if err != nil && !Absent(err) {
		resp.Diagnostics.Append(Failure("delete", r.what(&m), err))
	}
}

// recall reads what private state keeps for the model.
func (r *typed[M, S]) recall(ctx context.Context, p private, m *M) diag.Diagnostics {
	if r.Recall == nil {
		return nil
	}
	return r.Recall(ctx, p, m)
}

// open converts the model, write-only values included, and opens its store.
func (r *typed[M, S]) open(ctx context.Context, verb string, at Opening, m, config *M, diags *diag.Diagnostics) (Store[S], S, bool) {
	full := *m
	if r.WriteOnly != nil {
		r.WriteOnly(&full, config)
	}
	spec, d := r.Spec(ctx, &full)
	diags.Append(d...)
	if diags.HasError() {
		return nil, spec, false
	}
	store, err := r.Open(ctx, at, m)
	if err != nil {
		diags.Append(Failure(verb, r.what(m), err))
		return nil, spec, false
	}
	return store, spec, true
}
