package crud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// typePrefix is what the names of the provider's types begin with.
const typePrefix = "virtcluster_"

// readsAtOnce bounds how many objects of one place an inventory reads at the same time.
const readsAtOnce = 8

// Inspector is a Store that tells what of its object, once that was read, no attribute says.
type Inspector interface {
	ListUnmodelled(ctx context.Context) ([]service.Unmodelled, error)
}

// Inventory is all types whose objects are listed: what has a list resource.
type Inventory []func() resource.Resource

// inventoried is a resource type whose objects are listed.
type inventoried interface {
	resource.ResourceWithConfigure
	typeName() string
	placeAttribute() string
	// lists says whether there is anything that the type can say of a place.
	hasLists() bool
	findObjects(ctx context.Context, place types.String) ([]Found, error)
	findAcross(ctx context.Context, machines []string) ([]Found, error)
	findLeftovers(ctx context.Context, place types.String) ([]service.Unmodelled, error)
}

// Found is an object that is there.
type Found struct {
	// Type is the name of its resource type, "virtcluster_network", and Noun is what messages call one.
	Type, Noun string
	// Name is what it is called at its place, and ImportID what an import takes for it.
	Name, ImportID string
	// Owner is its mark; the zero one of what carries none.
	Owner owner.Mark
	// State is what an import of it would have.
	State tfsdk.State
	// Unmodelled is what of it no attribute says.
	Unmodelled []service.Unmodelled
	// Err says why it cannot be read, and so not be imported.
	Err error
}

// Types lists the names of the types whose objects are listed.
func (i Inventory) Types() (names []string) {
	for _, t := range i.makeTypes() {
		names = append(names, t.typeName())
	}
	return names
}

// makeTypes makes the types whose objects are listed, by their names.
func (i Inventory) makeTypes() (all []inventoried) {
	for _, make := range i {
		if t, is := make().(inventoried); is && t.hasLists() {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b inventoried) int { return strings.Compare(a.typeName(), b.typeName()) })
	return all
}

// Contents is what was found at a place.
type Contents struct {
	Found []Found
	// Leftovers is what else is there, and is no object of any type.
	Leftovers []service.Unmodelled
}

// OnHypervisor finds what a hypervisor has, the provider's own where it is null, of some types, or of all where none is named.
func (i Inventory) OnHypervisor(ctx context.Context, p ProviderData, hypervisor types.String, of []string) (Contents, diag.Diagnostics) {
	return i.listPlace(ctx, p, hypervisor, of, hypervisorAttribute)
}

// OnMachine finds what a machine has: an endpoint, or the id of a service node. Of what is on several machines together it finds what is left over.
func (i Inventory) OnMachine(ctx context.Context, p ProviderData, machine string, of []string) (Contents, diag.Diagnostics) {
	return i.listPlace(ctx, p, types.StringValue(machine), of, serviceNodeAttribute, hostAttribute, "")
}

// InOVN finds what a northbound database of OVN has: the endpoint of a machine that runs one, or the id of an OVN.
func (i Inventory) InOVN(ctx context.Context, p ProviderData, ovn string, of []string) (Contents, diag.Diagnostics) {
	return i.listPlace(ctx, p, types.StringValue(ovn), of, ovnAttribute)
}

// Across finds what is on several of some machines together.
func (i Inventory) Across(ctx context.Context, p ProviderData, machines, of []string) (all []Found, diags diag.Diagnostics) {
	for _, t := range i.makeTypes() {
		if len(of) > 0 && !slices.Contains(of, t.typeName()) {
			continue
		}
		var configured resource.ConfigureResponse
		t.Configure(ctx, resource.ConfigureRequest{ProviderData: p}, &configured)
		diags.Append(configured.Diagnostics...)
		found, err := t.findAcross(ctx, machines)
		if err != nil {
			diags.Append(NewFailure("list", "every "+t.typeName(), err))
		}
		all = append(all, found...)
	}
	return all, diags
}

// listPlace finds what is at a place, of the types whose place one of some attributes says.
func (i Inventory) listPlace(ctx context.Context, p ProviderData, place types.String, of []string, attributes ...string) (all Contents, diags diag.Diagnostics) {
	for _, t := range i.makeTypes() {
		if !slices.Contains(attributes, t.placeAttribute()) || len(of) > 0 && !slices.Contains(of, t.typeName()) {
			continue
		}
		var configured resource.ConfigureResponse
		t.Configure(ctx, resource.ConfigureRequest{ProviderData: p}, &configured)
		if diags.Append(configured.Diagnostics...); diags.HasError() {
			return all, diags
		}
		found, err := t.findObjects(ctx, place)
		if err == nil {
			var left []service.Unmodelled
			left, err = t.findLeftovers(ctx, place)
			all.Leftovers = append(all.Leftovers, left...)
		}
		if unseen, is := errors.AsType[*unseenMachineError](err); is {
			all.Leftovers = append(all.Leftovers, service.Unmodelled{Place: t.typeName(), What: "Whether there are any is not known: " + unseen.Error()})
			err = nil
		}
		if err != nil {
			diags.Append(NewFailure("list", "every "+t.typeName(), err))
		}
		all.Found = append(all.Found, found...)
	}
	return all, diags
}

func (r *typed[M, S]) typeName() string { return typePrefix + r.Name }

func (r *typed[M, S]) hasLists() bool { return r.List != nil || r.Across != nil || r.Leftovers != nil }

// findLeftovers lists what else is at a place.
func (r *typed[M, S]) findLeftovers(ctx context.Context, place types.String) ([]service.Unmodelled, error) {
	if r.Leftovers == nil {
		return nil, nil
	}
	left, err := r.Leftovers(ctx, StoreContext{ProviderData: r.provided, Claim: r.provided.ownerRun().Adopt()}, place.ValueString())
	if part.IsAbsent(err) {
		return nil, nil
	}
	return left, err
}

// findObjects reads every object at a place, whosever it is. One that is gone meanwhile is not among them.
func (r *typed[M, S]) findObjects(ctx context.Context, place types.String) ([]Found, error) {
	if r.List == nil {
		return nil, nil
	}
	keys, err := r.listKeysAt(ctx, place)
	if err != nil {
		return nil, err
	}
	found := make([]*Found, len(keys))
	var group errgroup.Group
	group.SetLimit(readsAtOnce)
	for at, key := range keys {
		group.Go(func() error {
			found[at] = r.findObject(ctx, key)
			return nil
		})
	}
	_ = group.Wait() // what fails is said of its object
	var all []Found
	for _, f := range found {
		if f != nil {
			all = append(all, *f)
		}
	}
	return all, nil
}

// findAcross reads what is on several machines together.
func (r *typed[M, S]) findAcross(ctx context.Context, machines []string) (all []Found, err error) {
	if r.Across == nil {
		return nil, nil
	}
	ids, err := r.listAcross(ctx, machines)
	for _, id := range ids {
		if f := r.readFound(ctx, r.nameByID(ctx, id)); f != nil {
			f.ImportID = id
			all = append(all, *f)
		}
	}
	return all, err
}

// findObject reads the object that a key names; nil where it is gone.
func (r *typed[M, S]) findObject(ctx context.Context, key map[string]attr.Value) *Found {
	state, diags := r.newState(ctx, key)
	f := r.readFound(ctx, named{state, diags})
	if f != nil && f.Err == nil {
		var m M
		f.Err = asError(f.State.Get(ctx, &m))
		f.ImportID = r.importID(key, &m)
	}
	return f
}

// readFound reads the object that a state names, as an import does; nil where it is gone.
func (r *typed[M, S]) readFound(ctx context.Context, of named) *Found {
	state, diags := of.State, of.diags
	f := &Found{Type: r.typeName(), Noun: r.Noun}
	var m M
	if diags.Append(state.Get(ctx, &m)...); diags.HasError() {
		f.Err = asError(diags)
		return f
	}
	store, diags, err := r.lookUp(ctx, &state, true)
	if part.IsAbsent(err) || r.ListsMarked && err == nil && !isMarked(store) {
		return nil
	}
	if diags.HasError() && err == nil {
		err = asError(diags)
	}
	diags = state.Get(ctx, &m)
	f.Name, f.State, f.Err = r.Label(&m), state, err
	if err == nil {
		f.Owner, f.Err = findMark(store), asError(diags)
		if f.Err == nil {
			f.Err = r.checkFound(ctx, &m)
		}
		if inspector, is := any(store).(Inspector); is && f.Err == nil {
			f.Unmodelled, f.Err = inspector.ListUnmodelled(ctx)
		}
	}
	return f
}

// checkFound returns why a configuration that says what was read would be refused; nil where it would not be.
func (r *typed[M, S]) checkFound(ctx context.Context, m *M) error {
	spec, diags := r.Spec(ctx, m)
	if v, checks := any(spec).(Validator); checks && !diags.HasError() {
		for _, p := range v.Validate() {
			if !p.Warning {
				return fmt.Errorf("a configuration of it would be refused, at %v: %s: %s", p.Path, p.Summary, p.Detail)
			}
		}
	}
	return asError(diags)
}

// importID returns what an import takes for the object of a key: its id, unless that does not name it. On a hypervisor that is so where the id is
// one that only that hypervisor knows: then it is what the object is called, and on which.
func (r *typed[M, S]) importID(key map[string]attr.Value, m *M) string {
	if id := r.ID(m); r.placeAttribute() != hypervisorAttribute || r.namesObject(id, key) {
		return id
	}
	var words []string
	names := slices.DeleteFunc(slices.Clone(r.Key), func(name string) bool { return name == hypervisorAttribute })
	for _, name := range append([]string{hypervisorAttribute}, names...) {
		if text, is := key[name].(types.String); is && text.ValueString() != "" {
			words = append(words, text.ValueString())
		}
	}
	return strings.Join(words, "/")
}

// namesObject says whether an import by an id means the object of a key, without asking a hypervisor.
func (r *typed[M, S]) namesObject(id string, key map[string]attr.Value) bool {
	var named M
	if r.Split(&named, id) != nil {
		return false
	}
	for name, v := range key {
		if !convert.Attribute[types.String](&named, name).Equal(v) {
			return false
		}
	}
	return true
}

// asError returns the first error of diagnostics; nil where there is none.
func asError(diags diag.Diagnostics) error {
	for _, d := range diags.Errors() {
		return &diagnosticError{d}
	}
	return nil
}

// diagnosticError is a diagnostic as an error.
type diagnosticError struct{ diag.Diagnostic }

func (e *diagnosticError) Error() string { return e.Summary() + ": " + e.Detail() }
