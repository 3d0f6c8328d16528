package ovn

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
)

const (
	a, b, c = "ssh://root@10.0.0.1", "ssh://root@10.0.0.2", "ssh://root@10.0.0.3"
	pinnedA = a + "?host_key=SHA256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	shortA  = a + "?host_key=47DEQpj8HBSa-_TI"
)

func TestTheOrderOfMachinesSaysNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was, wants, plans []string
		replaces          bool
	}{
		"another order":          {[]string{a, b, c}, []string{c, a, b}, []string{a, b, c}, false},
		"another spelling":       {[]string{shortA}, []string{pinnedA}, []string{shortA}, false},
		"two come to it":         {[]string{a}, []string{b, a, c}, []string{b, a, c}, false},
		"two go":                 {[]string{a, b, c}, []string{a}, []string{a}, false},
		"one for another one":    {[]string{a, b, c}, []string{a, b, "ssh://root@10.0.0.4"}, []string{a, b, "ssh://root@10.0.0.4"}, false},
		"another single one":     {[]string{a}, []string{b}, []string{b}, true},
		"three others":           {[]string{a}, []string{b, c, "ssh://root@10.0.0.4"}, []string{b, c, "ssh://root@10.0.0.4"}, true},
		"the first of them goes": {[]string{a, b, c}, []string{b}, []string{b}, false}, // an error says that it has to stay
	} {
		t.Run(name, func(t *testing.T) {
			resp := planmodifier.ListResponse{PlanValue: convert.List(test.wants)}
			keepCentral{}.PlanModifyList(t.Context(), planmodifier.ListRequest{StateValue: convert.List(test.was), PlanValue: convert.List(test.wants)}, &resp)
			if got := convert.KnownTexts(resp.PlanValue); !slices.Equal(got, test.plans) || resp.RequiresReplace != test.replaces {
				t.Errorf("it plans %q, replaced %t", got, resp.RequiresReplace)
			}
		})
	}
}

func TestTheMachineThatTheIDNamesComesFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		id    string
		wants []string
	}{
		"made anew":   {"", []string{b, a, c}},
		"of three":    {a, []string{a, b, c}},
		"of one":      {b, []string{b, a, c}},
		"not of them": {"ssh://root@10.0.0.4", []string{b, a, c}},
	} {
		t.Run(name, func(t *testing.T) {
			m := model{Central: convert.List([]string{b, a, c})}
			if test.id != "" {
				m.ID = types.StringValue(test.id)
			}
			if spec, _ := m.toSpec(); !slices.Equal(spec.Central, test.wants) || m.findFirst() != test.wants[0] {
				t.Errorf("%q, known by %s", spec.Central, m.findFirst())
			}
		})
	}
}
