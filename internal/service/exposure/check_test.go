package exposure

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestTableIsReadWhereItHasNoEffect runs table.sh.
func TestTableIsReadWhereItHasNoEffect(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: tableScript, Args: []string{"/stage/table"}, Programs: map[string]string{
		"nft": "echo syntax error >&2; exit 1", "unshare": `shift; exec "$@"`,
	}}.Run(t)
	if end.Status != 1 || end.Stderr != "syntax error\n" || !slices.Equal(end.Calls, []string{"unshare --net nft --file /stage/table", "nft --file /stage/table"}) {
		t.Errorf("%+v", end)
	}
	if end := (hosttest.Script{Text: tableScript, Args: []string{"/stage/table"}, Alone: true}).Run(t); end.Status != 1 || !strings.HasPrefix(end.Stderr, "there is no nft: name nftables among the services") {
		t.Errorf("%+v", end)
	}
}
