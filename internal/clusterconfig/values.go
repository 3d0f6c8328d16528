package clusterconfig

import (
	"maps"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// withField returns an object with a field, where it has none.
func withField(m map[string]any, name string, v any) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	if out[name] == nil {
		out[name] = v
	}
	return out
}

// valueAt is the value below a path of names; nil where there is none.
func valueAt(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func asElements(v any) []any {
	all, _ := v.([]any)
	return all
}

// finishDocument checks a document and renders it; across looks at what concerns several fields, once each is right by itself.
func finishDocument(f field, document map[string]any, across func(map[string]any) []service.Problem) (string, []service.Problem) {
	var problems []service.Problem
	ordered := f.orderValue(document, nil, &problems)
	if len(problems) == 0 && across != nil {
		problems = across(document)
	}
	if len(problems) > 0 {
		return "", problems
	}
	out, err := renderYAML(ordered)
	if err != nil {
		return "", []service.Problem{service.Problemf(nil, "Cannot render", "%s", err)}
	}
	return out, nil
}
