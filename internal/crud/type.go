package crud

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Type describes one document-like Terraform type; New makes a framework resource of it. M is the model
// (a tfsdk struct, whose field ID has the id), S the object in plain values.
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
	Naming[M]
	// ID computes the id from the key attributes, and Split is its inverse, for import; the id is what
	// `terraform import` takes.
	ID    func(m *M) string
	Split func(m *M, id string) error
	Listing
	// Moves is how `moved` blocks make objects of this type of another provider's resources; may be nil.
	Moves Moves[M]
	// Spec converts the model; an unknown becomes a zero value. A spec with Validate() is checked at plan. Nil converts by the names of the
	// attributes (convert.ToPlain).
	Spec func(ctx context.Context, m *M) (S, diag.Diagnostics)
	// Fill writes what was read back into the model. It keeps the model's own spelling where the meaning
	// is the same. Nil does so by the names of the attributes (convert.FillModel).
	Fill func(ctx context.Context, m *M, got S) diag.Diagnostics
	// Open returns the store of the object that the model's key names.
	Open func(ctx context.Context, at StoreContext, m *M) (Store[S], error)
	// Abandon removes what an object on a lost hypervisor has elsewhere; nil where it has nothing.
	Abandon func(ctx context.Context, at StoreContext, m *M) error
	// WriteOnly copies write-only values from the configuration into the planned model; may be nil.
	WriteOnly func(planned, config *M)
	// Plan adds to planning: cross-checks, computed values. It is called when the resource is not being
	// destroyed, with a nil fleet where the provider is not configured; may be nil.
	Plan func(ctx context.Context, at StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *M)
	Trials[M]
	// PlanRemoval is told while planning what goes, whether or not it is made anew by the same apply, as replaced says; may be nil.
	// What it finds is said where the object goes while others stay.
	PlanRemoval func(ctx context.Context, at StoreContext, m *M, replaced bool) diag.Diagnostics
	// Timeouts bound single operations otherwise than by ten minutes, where the configuration says nothing: "create", "read", "update",
	// "delete"; may be nil.
	Timeouts map[string]time.Duration
	// TakesTurns says whether the object of a model takes turns with others: its store bounds its operations by itself, as what it waits
	// for takes no time from them, and is told what a delete is followed by. May be nil.
	TakesTurns func(m *M) bool
	// AsksOVN says that the type's objects are in databases of OVN, or have something there.
	AsksOVN bool
	Memory[M]
}

// Naming is what there is to say of the names of objects beside their key.
type Naming[M any] struct {
	// Names lists what no other object of a plan may be called, where the key does not say it; nothing while it is not known. May be nil.
	Names func(ctx context.Context, m *M) []string
	// MutableIdentity is set where the key of an object can change in place.
	MutableIdentity bool
	// Shared is set where several resources may describe one object: each has a part of its own in it, or none changes it.
	Shared bool
	// Lasts is set where an object holds what a new one of its name would not have: data, or machines that are on it. A plan that
	// destroys one and makes another one of its name at another address of the configuration is refused.
	Lasts bool
	// ImportID computes what `terraform import` takes where that is more than the id; the identity has it for its id. May be nil.
	ImportID func(m *M) string
}

// Listing finds what is there, whosever it is, for list resources and the inventory.
type Listing struct {
	// List lists what is at a place, the hypervisor or the machine that the attribute of the name (placeAttributes) has, whosever it is: of each
	// object the rest of its key. May be nil.
	List func(ctx context.Context, at StoreContext, place string) ([]map[string]string, error)
	// Across lists what is on several of some machines together, or on any of them, whosever it is, by what an import takes. May be nil. A list block
	// of a type with both names a place or machines.
	Across func(ctx context.Context, at StoreContext, machines []string) ([]string, error)
	// ListsMarked is set where what carries no mark of this provider cannot be told from what a machine has by itself: of what List and Across name,
	// nothing else is listed.
	ListsMarked bool
	// Leftovers lists what else is at such a place and is no object of any type: of a daemon's configuration, what is no part of a resource.
	// May be nil.
	Leftovers func(ctx context.Context, at StoreContext, place string) ([]service.Unmodelled, error)
}

// Trials are what a daemon's own checker says of what is planned.
type Trials[M any] struct {
	// Trial asks a daemon's own checker about what is planned, once nothing else was found to be wrong with it, unless the run applies it already;
	// may be nil.
	Trial func(ctx context.Context, at StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *M)
	// TryAtPlan says whether the daemon's own checker is to look at what is planned, to be created or to be changed: yes where that
	// needs no other part of the same plan, be it one that goes. May be nil.
	TryAtPlan func(create bool) bool
}

// Memory is what a resource keeps beside its attributes.
type Memory[M any] struct {
	// Recall and Remember copy between the model and private state what the resource keeps there beside its claim: what a plan
	// needs to know of the last apply, and nobody else. The model's fields for it are tagged `tfsdk:"-"`. Both may be nil.
	Recall   func(ctx context.Context, private PrivateState, m *M) diag.Diagnostics
	Remember func(ctx context.Context, private PrivateState, m *M) diag.Diagnostics
}

// PrivateState is what the framework lets a resource keep beside its attributes.
type PrivateState = private

// New makes the framework's resource.
func New[M, S any](t Type[M, S]) resource.Resource {
	t.convertByNames()
	written := t.Schema
	t.Schema = func(ctx context.Context) schema.Schema {
		s := written(ctx)
		s.Attributes = LeaveOut(s.Attributes)
		return s
	}
	made := &typed[M, S]{Type: t}
	if t.List != nil || t.Across != nil {
		return listing[M, S]{made}
	}
	return made
}

// convertByNames has a type convert by the names of its attributes where it does not say how.
func (t *Type[M, S]) convertByNames() {
	if t.Spec == nil {
		t.Spec = func(_ context.Context, m *M) (S, diag.Diagnostics) { return convert.Plain[S](m) }
	}
	if t.Fill == nil {
		t.Fill = func(ctx context.Context, m *M, got S) diag.Diagnostics {
			was, diags := t.Spec(ctx, m)
			if !diags.HasError() {
				convert.FillModel(&was, &got, m)
			}
			return diags
		}
	}
}

type typed[M, S any] struct {
	Type[M, S]
	provided ProviderData
}

func (r *typed[M, S]) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + r.Name
	resp.ResourceBehavior.MutableIdentity = r.MutableIdentity
}

func (r *typed[M, S]) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.Type.Schema(ctx)
}

func (r *typed[M, S]) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.provided = readProviderData(req.ProviderData, &resp.Diagnostics)
}

// describeObject names the object in messages: `HAProxy backend "api"`.
func (r *typed[M, S]) describeObject(m *M) string { return fmt.Sprintf("%s %q", r.Noun, r.Label(m)) }
