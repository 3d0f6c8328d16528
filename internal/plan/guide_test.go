package plan_test

import (
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

func TestTheGuideHasTheRules(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"../../templates/guides/cross-checks.md", "../../docs/guides/cross-checks.md"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			guide, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			written, err := plan.ReplaceGuide(string(guide))
			if err != nil {
				t.Fatal(err)
			}
			if written != string(guide) {
				t.Error("it is out of date: run make generate")
			}
		})
	}
}

func TestARuleKnowsItsWords(t *testing.T) {
	t.Parallel()
	place := []string{plan.NameHypervisor("")}
	mine := plan.Use{Kind: plan.NetworkBridge, Value: "br7"}
	rule := plan.RulesOf(plan.NetworkBridge)[0]
	c := plan.Collision{Rule: rule, Mine: mine, Theirs: mine, Me: plan.Holder{Places: place}, They: plan.Holder{Name: `network "n"`, Places: place}}
	if !rule.Words(rule.Summary, c.Detail()) || !rule.Words(rule.Summary, "bridge: "+c.Detail()) || rule.Words(rule.Summary, "something else") {
		t.Errorf("%q", c.Detail())
	}
}

func TestRulesHaveNoUnknownBlanks(t *testing.T) {
	t.Parallel()
	for _, r := range plan.Rules {
		t.Run(r.Mine.Name+" and "+r.Theirs.Name, func(t *testing.T) {
			t.Parallel()
			at := plan.Holder{Places: []string{"here"}}
			if detail := (plan.Collision{Rule: r, Me: at, They: at}).Detail(); strings.Contains(detail, "{from") || strings.Contains(strings.ReplaceAll(detail, "moved {", ""), "{") {
				t.Error(detail)
			}
		})
	}
}
