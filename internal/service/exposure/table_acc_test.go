package exposure_test

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
)

// TestAccAnyTableIsTakenAndReadBack has the kernel take tables of whatever can be exposed, and list the same when it is given one of
// them a second time, on top of the first.
func TestAccAnyTableIsTakenAndReadBack(t *testing.T) {
	acctest.InSandbox(t)
	const tables, each = 500, 25
	for range tables / each {
		var script strings.Builder
		for range each {
			text := rapid.Custom(func(r *rapid.T) string {
				var all []exposure.Exposure
				for i := range rapid.IntRange(1, 6).Draw(r, "exposures") {
					e := exposure.DrawExposure(r, i)
					if problems := e.Validate(); len(problems) > 0 {
						r.Fatalf("%+v: %v", e, problems)
					}
					all = append(all, e)
				}
				return exposure.RenderTable(all)
			}).Example(int(rapid.Uint32().Example()))
			script.WriteString("cat >$t <<'END'\n" + text + "END\nnft -f $t || { cat $t; exit 1; }\nonce=$(nft -s list table " + exposure.Table + ")\n[ -n \"$once\" ] || exit 1\nnft -f $t\n" +
				"[ \"$once\" = \"$(nft -s list table " + exposure.Table + ")\" ] || { echo \"not the same again:\"; cat $t; exit 1; }\n")
		}
		cmd := exec.Command("unshare", "--net", "sh")
		cmd.Stdin = strings.NewReader("t=$(mktemp); trap 'rm -f $t' EXIT\n" + script.String()) // longer than an argument may be
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
	}
}
