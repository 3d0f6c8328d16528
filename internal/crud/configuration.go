package crud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/defaults"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
)

// Configuration is the text of `import` blocks and of resources that Terraform and OpenTofu read. What of it names another thing of it refers to
// that.
type Configuration struct {
	imports *hclwrite.File
	found   []addressed
	targets targets
	taken   map[string]bool
	// validate is asked of each resource before it is added; nil takes all.
	validate validateConfig
}

// addressed is what was found, with the address that it has in the configuration.
type addressed struct {
	Found
	label string
}

// NewConfiguration returns one without anything in it.
func NewConfiguration() *Configuration {
	return &Configuration{imports: hclwrite.NewEmptyFile(), targets: targets{}, taken: map[string]bool{}}
}

// NewConfiguration returns one without anything in it, which takes only what the types themselves take.
func (all Inventory) NewConfiguration() *Configuration {
	c := NewConfiguration()
	c.validate = newValidator(all)
	return c
}

// ImportBlocks returns the text of the `import` blocks.
func (c *Configuration) ImportBlocks() string { return string(hclwrite.Format(c.imports.Bytes())) }

// Resources returns the text of the resources.
func (c *Configuration) Resources(ctx context.Context) (string, error) {
	file := hclwrite.NewEmptyFile()
	for i, f := range c.found {
		w, attributes, err := c.writeFound(ctx, f.Found)
		if err != nil {
			return "", err
		}
		if i > 0 {
			file.Body().AppendNewline()
		}
		body := file.Body().AppendNewBlock("resource", []string{f.Type, f.label}).Body()
		for _, name := range sortAttributes(attributes, w.schema.Attributes) {
			body.SetAttributeRaw(name, attributes[name].tokens)
		}
	}
	return string(hclwrite.Format(file.Bytes())), nil
}

// Add has what was found be written: a resource whose plan has nothing to change once the `import` block beside it is planned with it. secrets
// are attributes that it has and that are not told: who takes the text has to write them.
func (c *Configuration) Add(ctx context.Context, f Found) (address string, secrets []string, err error) {
	w, attributes, err := c.writeFound(ctx, f)
	if err == nil && c.validate != nil {
		err = c.validate(ctx, f.Type, toConfig(ctx, w.schema.Attributes, attributes))
	}
	if err != nil {
		return "", nil, err
	}
	label := c.chooseLabel(f)
	address = f.Type + "." + label
	c.found = append(c.found, addressed{f, label})
	c.targets.addTarget(ctx, f, w.schema, label)
	if len(c.found) > 1 {
		c.imports.Body().AppendNewline()
	}
	block := c.imports.Body().AppendNewBlock("import", nil).Body()
	block.SetAttributeRaw("to", hclwrite.TokensForIdentifier(address))
	block.SetAttributeValue("id", cty.StringVal(f.ImportID))
	return address, w.secrets, nil
}

// writeFound returns what has to be written of what was found, by the names of its attributes.
func (c *Configuration) writeFound(ctx context.Context, f Found) (*writer, map[string]written, error) {
	s, is := f.State.Schema.(schema.Schema)
	if !is {
		return nil, nil, fmt.Errorf("its schema is a %T", f.State.Schema)
	}
	w := &writer{ctx: ctx, schema: s, targets: c.targets, of: f}
	attributes, err := w.writeAttributes(path.Empty(), s.Attributes, f.State)
	return w, attributes, err
}

// notInLabel is what the label of a resource may not have.
var notInLabel = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// chooseLabel returns the label of a resource: its name, as far as a label may have that, and a number behind it where another one has it.
func (c *Configuration) chooseLabel(f Found) string {
	name := strings.Trim(notInLabel.ReplaceAllString(f.Name, "_"), "_")
	if !hclsyntax.ValidIdentifier(name) {
		name = strings.TrimSuffix(strings.TrimPrefix(f.Type, typePrefix)+"_"+name, "_")
	}
	label := name
	for i := 2; c.taken[f.Type+"."+label]; i++ {
		label = fmt.Sprintf("%s_%d", name, i)
	}
	c.taken[f.Type+"."+label] = true
	return label
}

// sortAttributes lists the names of attributes as people write them: what is required first, and of that what it is called and where it is.
func sortAttributes(values map[string]written, of map[string]schema.Attribute) []string {
	rank := func(name string) int {
		if first := slices.Index([]string{"name", "hypervisor", "service_node"}, name); first >= 0 {
			return first - 3
		}
		if of[name].IsRequired() {
			return 0
		}
		return 1
	}
	names := slices.DeleteFunc(slices.Collect(maps.Keys(values)), func(name string) bool { return values[name].tokens == nil })
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return names
}

// writer makes of what was read what is to be written.
type writer struct {
	ctx     context.Context
	schema  schema.Schema
	secrets []string
	// targets are what may be referred to by the object that is written.
	targets targets
	of      Found
}

// writeAttributes returns what has to be written of a state: what may be written, and is not what it is where it is left out.
func (w *writer) writeAttributes(at path.Path, of map[string]schema.Attribute, state tfsdk.State) (map[string]written, error) {
	all := map[string]tftypes.Value{}
	if err := state.Raw.As(&all); err != nil {
		return nil, err
	}
	return w.writeValues(at, of, all)
}

func (w *writer) writeValues(at path.Path, of map[string]schema.Attribute, all map[string]tftypes.Value) (map[string]written, error) {
	values := map[string]written{}
	for name, a := range of {
		v, there := all[name]
		if a.IsRequired() && !a.IsSensitive() && !a.IsWriteOnly() && (!there || v.IsNull()) {
			return nil, fmt.Errorf("%s has to be written, and what is there does not say it", at.AtName(name))
		}
		if !there || v.IsNull() || !v.IsKnown() || !a.IsRequired() && !a.IsOptional() || a.IsWriteOnly() {
			continue
		}
		here := at.AtName(name)
		if a.IsSensitive() {
			w.secrets = append(w.secrets, here.String())
			values[name] = written{value: tftypes.NewValue(v.Type(), tftypes.UnknownValue)}
			continue
		}
		is, err := a.GetType().ValueFromTerraform(w.ctx, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", here, err)
		}
		if reference := w.findReference(name, is); reference != nil {
			values[name] = written{reference, tftypes.NewValue(v.Type(), tftypes.UnknownValue)}
			continue
		}
		// A machine may have an empty text where a configuration has a text or none.
		if !a.IsRequired() && (isLeftOut(a) && isEmpty(is) || is.Equal(types.StringValue("")) || is.Equal(defaultOf(w.ctx, here, a))) {
			continue
		}
		if values[name], err = w.writeAttribute(here, a, v); err != nil {
			return nil, fmt.Errorf("%s: %w", here, err)
		}
	}
	return values, nil
}

// findReference returns the expression of an attribute whose text, or one of whose texts, names what is written too; nil for any other one.
func (w *writer) findReference(attribute string, is attr.Value) hclwrite.Tokens {
	if text, isText := is.(types.String); isText {
		return w.targets.findReference(w.ctx, w.of, w.schema, attribute, text.ValueString())
	}
	several, isList := is.(interface{ Elements() []attr.Value })
	if !isList {
		return nil
	}
	var all []hclwrite.Tokens
	refers := false
	for _, e := range several.Elements() {
		text, isText := e.(types.String)
		if !isText {
			return nil
		}
		reference := w.targets.findReference(w.ctx, w.of, w.schema, attribute, text.ValueString())
		refers = refers || reference != nil
		if reference == nil {
			reference = hclwrite.TokensForValue(cty.StringVal(text.ValueString()))
		}
		all = append(all, reference)
	}
	if !refers {
		return nil
	}
	return hclwrite.TokensForTuple(all)
}

// written is one value as it stands in the text, and as Terraform reads it there: what refers to another thing, or is left to whoever takes the text,
// is not known.
type written struct {
	tokens hclwrite.Tokens
	value  tftypes.Value
}

// toConfig returns the object that a configuration of attributes is; what is not written is null in it.
func toConfig(ctx context.Context, of map[string]schema.Attribute, values map[string]written) tftypes.Value {
	kinds, all := map[string]tftypes.Type{}, map[string]tftypes.Value{}
	for name, a := range of {
		kinds[name] = a.GetType().TerraformType(ctx)
		all[name] = tftypes.NewValue(kinds[name], nil)
		if v, is := values[name]; is {
			all[name] = v.value
		}
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: kinds}, all)
}

// writeAttribute returns the value of one attribute, and of what is in it what has to be written.
func (w *writer) writeAttribute(at path.Path, of schema.Attribute, v tftypes.Value) (written, error) {
	switch a := of.(type) {
	case schema.SingleNestedAttribute:
		return w.writeObject(at, a.Attributes, v)
	case schema.ListNestedAttribute:
		var elements []tftypes.Value
		if err := v.As(&elements); err != nil {
			return written{}, err
		}
		var objects []hclwrite.Tokens
		var values []tftypes.Value
		for i, e := range elements {
			object, err := w.writeObject(at.AtListIndex(i), a.NestedObject.Attributes, e)
			if err != nil {
				return written{}, err
			}
			objects, values = append(objects, object.tokens), append(values, object.value)
		}
		return written{hclwrite.TokensForTuple(objects), tftypes.NewValue(v.Type(), values)}, nil
	case schema.MapNestedAttribute:
		elements := map[string]tftypes.Value{}
		if err := v.As(&elements); err != nil {
			return written{}, err
		}
		objects, values := map[string]written{}, map[string]tftypes.Value{}
		for key, e := range elements {
			object, err := w.writeObject(at.AtMapKey(key), a.NestedObject.Attributes, e)
			if err != nil {
				return written{}, err
			}
			objects[key], values[key] = object, object.value
		}
		return written{toObject(objects), tftypes.NewValue(v.Type(), values)}, nil
	}
	text, err := toText(v)
	return written{hclwrite.TokensForValue(text), v}, err
}

func (w *writer) writeObject(at path.Path, of map[string]schema.Attribute, v tftypes.Value) (written, error) {
	all := map[string]tftypes.Value{}
	if err := v.As(&all); err != nil {
		return written{}, err
	}
	values, err := w.writeValues(at, of, all)
	return written{toObject(values), toConfig(w.ctx, of, values)}, err
}

// toObject returns the expression of an object, its keys in their order and without quotes where they need none.
func toObject(values map[string]written) hclwrite.Tokens {
	var attributes []hclwrite.ObjectAttrTokens
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := hclwrite.TokensForValue(cty.StringVal(key))
		if hclsyntax.ValidIdentifier(key) {
			name = hclwrite.TokensForIdentifier(key)
		}
		if values[key].tokens != nil {
			attributes = append(attributes, hclwrite.ObjectAttrTokens{Name: name, Value: values[key].tokens})
		}
	}
	if len(attributes) == 0 {
		return hclwrite.TokensForValue(cty.EmptyObjectVal)
	}
	return hclwrite.TokensForObject(attributes)
}

// toText returns a value as hclwrite takes one.
func toText(v tftypes.Value) (cty.Value, error) {
	if v.IsNull() {
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	switch {
	case v.Type().Is(tftypes.String):
		var text string
		err := v.As(&text)
		return cty.StringVal(text), err
	case v.Type().Is(tftypes.Bool):
		var flag bool
		err := v.As(&flag)
		return cty.BoolVal(flag), err
	case v.Type().Is(tftypes.Number):
		number := new(big.Float)
		err := v.As(&number)
		return cty.NumberVal(number), err
	case v.Type().Is(tftypes.List{}), v.Type().Is(tftypes.Set{}):
		var elements []tftypes.Value
		all, err := []cty.Value{}, v.As(&elements)
		for _, e := range elements {
			text, failed := toText(e)
			all, err = append(all, text), errors.Join(err, failed)
		}
		return cty.TupleVal(all), err
	case v.Type().Is(tftypes.Map{}), v.Type().Is(tftypes.Object{}):
		elements := map[string]tftypes.Value{}
		all, err := map[string]cty.Value{}, v.As(&elements)
		for key, e := range elements {
			text, failed := toText(e)
			all[key], err = text, errors.Join(err, failed)
		}
		return cty.ObjectVal(all), err
	}
	return cty.NilVal, fmt.Errorf("no attribute has a %s", v.Type())
}

// defaultOf returns what an attribute is where it is left out; nil where that is not a matter of the schema.
func defaultOf(ctx context.Context, at path.Path, of schema.Attribute) attr.Value {
	switch a := of.(type) {
	case interface{ StringDefaultValue() defaults.String }:
		if d := a.StringDefaultValue(); d != nil {
			var resp defaults.StringResponse
			d.DefaultString(ctx, defaults.StringRequest{Path: at}, &resp)
			return resp.PlanValue
		}
	case interface{ BoolDefaultValue() defaults.Bool }:
		if d := a.BoolDefaultValue(); d != nil {
			var resp defaults.BoolResponse
			d.DefaultBool(ctx, defaults.BoolRequest{Path: at}, &resp)
			return resp.PlanValue
		}
	case interface{ Int64DefaultValue() defaults.Int64 }:
		if d := a.Int64DefaultValue(); d != nil {
			var resp defaults.Int64Response
			d.DefaultInt64(ctx, defaults.Int64Request{Path: at}, &resp)
			return resp.PlanValue
		}
	case interface{ ListDefaultValue() defaults.List }:
		if d := a.ListDefaultValue(); d != nil {
			var resp defaults.ListResponse
			d.DefaultList(ctx, defaults.ListRequest{Path: at}, &resp)
			return resp.PlanValue
		}
	case interface{ MapDefaultValue() defaults.Map }:
		if d := a.MapDefaultValue(); d != nil {
			var resp defaults.MapResponse
			d.DefaultMap(ctx, defaults.MapRequest{Path: at}, &resp)
			return resp.PlanValue
		}
	case interface{ ObjectDefaultValue() defaults.Object }:
		if d := a.ObjectDefaultValue(); d != nil {
			var resp defaults.ObjectResponse
			d.DefaultObject(ctx, defaults.ObjectRequest{Path: at}, &resp)
			return resp.PlanValue
		}
	}
	return nil
}
