// Package clusterconfig is what installers of clusters read: install-config.yaml and agent-config.yaml of OpenShift's installer and
// the configuration of kubeadm. A document is checked against the fields that its reader publishes, and rendered in their order.
package clusterconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// kind is what a field holds.
type kind int

const (
	text kind = iota
	number
	boolean
	object
	list
	// anything is checked by the document's reader alone.
	anything
)

// String names a kind as a message does.
func (k kind) String() string {
	return [...]string{"a string", "a whole number", "true or false", "an object", "a list", "any value"}[k]
}

// field is one field of a document, by the name that its reader has for it.
type field struct {
	name string
	kind kind
	// fields are those of an object, in the order that they are rendered in; items is what each element of a list is.
	fields []field
	items  *field
	// required says that the reader refuses a document without it.
	required bool
	// check says what is wrong with a value of the kind; nil takes all.
	check func(v any) error
}

func textsField(name string) field {
	return field{name: name, kind: list, items: &field{kind: text}}
}

func objectsField(name string, fields ...field) field {
	return field{name: name, kind: list, items: &field{kind: object, fields: fields}}
}

func groupField(name string, fields ...field) field {
	return field{name: name, kind: object, fields: fields}
}

func (f field) asRequired() field {
	f.required = true
	return f
}

func (f field) withCheck(check func(v any) error) field {
	f.check = check
	return f
}

// oneOf is a text among a few.
func oneOf(name string, values ...string) field {
	return field{name: name, kind: text}.withCheck(func(v any) error {
		if s, _ := v.(string); !slices.Contains(values, s) {
			return fmt.Errorf("write one of %s, not %q", strings.Join(values, ", "), s)
		}
		return nil
	})
}

// orderValue checks a value against a field, and returns it with its keys in the field's order; what is null is left out. Problems
// carry their place in the document.
func (f field) orderValue(v any, at []any, problems *[]service.Problem) any {
	report := func(format string, args ...any) {
		*problems = append(*problems, service.Problemf(at, "Invalid document", format, args...))
	}
	switch f.kind {
	case object:
		m, ok := v.(map[string]any)
		if !ok {
			report("write an object, not %s", showValue(v))
			return nil
		}
		return f.orderObject(m, at, problems)
	case list:
		all, ok := v.([]any)
		if !ok {
			report("write a list, not %s", showValue(v))
			return nil
		}
		ordered := make([]any, 0, len(all))
		for i, e := range all {
			ordered = append(ordered, f.items.orderValue(e, slices.Concat(at, []any{i}), problems))
		}
		v = ordered
	case anything:
		v = sortKeys(v)
	default:
		if !f.kind.holdsValue(v) {
			report("write %s, not %s", f.kind, showValue(v))
			return v
		}
	}
	if f.check != nil {
		if err := f.check(v); err != nil {
			report("%s", err)
		}
	}
	return v
}

func (f field) orderObject(m map[string]any, at []any, problems *[]service.Problem) any {
	ordered := yaml.MapSlice{}
	known := map[string]bool{}
	for _, sub := range f.fields {
		known[sub.name] = true
		v, there := m[sub.name]
		switch {
		case there && v != nil:
			ordered = append(ordered, yaml.MapItem{Key: sub.name, Value: sub.orderValue(v, slices.Concat(at, []any{service.Key(sub.name)}), problems)})
		case sub.required:
			*problems = append(*problems, service.Problemf(slices.Concat(at, []any{service.Key(sub.name)}), "Invalid document", "write it: it has no default"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !known[name] {
			*problems = append(*problems, service.Problemf(slices.Concat(at, []any{service.Key(name)}), "Invalid document", "there is no such field%s", f.nearestField(name)))
		}
	}
	if f.check != nil {
		if err := f.check(m); err != nil {
			*problems = append(*problems, service.Problemf(at, "Invalid document", "%s", err))
		}
	}
	return ordered
}

// nearestField names the field that was meant, where one differs by its spelling alone, or lists the fields.
func (f field) nearestField(name string) string {
	plain := func(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }
	var names []string
	for _, sub := range f.fields {
		if plain(sub.name) == plain(name) {
			return fmt.Sprintf(": write %s", sub.name)
		}
		names = append(names, sub.name)
	}
	return ": write one of " + strings.Join(names, ", ")
}

func (k kind) holdsValue(v any) bool {
	ok := false
	switch k {
	case text:
		_, ok = v.(string)
	case number:
		_, ok = v.(int64)
	case boolean:
		_, ok = v.(bool)
	}
	return ok
}

// showValue is a value as a message has it: of what may be a secret, the kind alone.
func showValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	default:
		return fmt.Sprint(v)
	}
}

// sortKeys returns a value with the keys of its objects in order, and without what is null.
func sortKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := yaml.MapSlice{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] != nil {
				all = append(all, yaml.MapItem{Key: name, Value: sortKeys(v[name])})
			}
		}
		return all
	case []any:
		all := make([]any, 0, len(v))
		for _, e := range v {
			all = append(all, sortKeys(e))
		}
		return all
	}
	return v
}

// ambiguous are texts that readers of YAML 1.1 take for something else when they stand without quotes: numbers, also to the base of
// 60, as some MAC addresses look, its many words for true and false, and what has control characters in it.
var ambiguous = regexp.MustCompile(`^([-+]?[0-9_]*\.?[0-9_]*([eE][-+]?[0-9]+)?|[-+]?[0-9]+(:[0-9]+)+(\.[0-9]*)?|(?i:y|yes|n|no|on|off)|(?s:.*[\x00-\x09\x0b-\x1f\x7f].*))$`)

// quoted is a text that is rendered in quotes.
type quoted string

// MarshalYAML implements yaml.BytesMarshaler.
func (q quoted) MarshalYAML() ([]byte, error) { return strconv.AppendQuote(nil, string(q)), nil }

// quoteTexts puts ambiguous texts into quotes.
func quoteTexts(v any) any {
	switch v := v.(type) {
	case string:
		if ambiguous.MatchString(v) {
			return quoted(v)
		}
	case yaml.MapSlice:
		for i := range v {
			v[i].Value = quoteTexts(v[i].Value)
		}
	case []any:
		for i := range v {
			v[i] = quoteTexts(v[i])
		}
	}
	return v
}

// renderYAML is an ordered document as YAML.
func renderYAML(v any) (string, error) {
	out, err := yaml.MarshalWithOptions(quoteTexts(v), yaml.IndentSequence(false), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return "", fmt.Errorf("render YAML: %w", err)
	}
	return string(out), nil
}

// PlaceOf is a problem's place in a document: "compute[0].replicas".
func PlaceOf(p service.Problem) string {
	var b strings.Builder
	for _, step := range p.Path {
		if i, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, step)
	}
	return b.String()
}
