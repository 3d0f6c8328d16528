package haproxy

import (
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestRulesNameACLsThatAreThere(t *testing.T) {
	isRefused := func(f Frontend) bool {
		return slices.ContainsFunc(f.Validate(), func(p service.Problem) bool { return p.Summary == "No such ACL" })
	}
	f := Frontend{ACLs: map[string][]string{"api": {"hdr(host) -i api"}}, Extra: []string{"acl own src 10.0.0.0/8"}}
	for condition, refused := range map[string]bool{
		"": false, "api": false, "!api": false, "! api": false, "api own": false, "api or !own": false, "api || METH_GET": false, "{ path_beg /x } own": false,
		"!{ src 10.0.0.1 nosuch }": false, "'a b'": false, "nosuch": true, "!nosuch": true, "api or nosuch": true, "{ path_beg /x } nosuch": true, "API": true, "meth_get": true,
	} {
		t.Run(condition, func(t *testing.T) {
			f.Rules = []Rule{{Backend: "b", If: condition}}
			if got := isRefused(f); got != refused {
				t.Errorf("if %s: refused is %v", condition, got)
			}
			f.Rules = []Rule{{Backend: "b", Unless: condition}}
			if got := isRefused(f); got != refused {
				t.Errorf("unless %s: refused is %v", condition, got)
			}
		})
	}
}

func TestAGlobalLineIsFoundWhereItHolds(t *testing.T) {
	for text, there := range map[string]bool{
		"global\n  ssl-server-verify   none\n": true, "global\n  # ssl-server-verify none\n": false, "defaults\n  ssl-server-verify none\n": false,
		"global\n  .if feature(X)\n  ssl-server-verify none\n  .endif\n": false, "global\n  ssl-server-verify required\n": false,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := GlobalLine(transaction.Tree{ConfigPath: {Content: []byte(text)}}, "ssl-server-verify none"); got != there {
				t.Errorf("%q: %v", text, got)
			}
		})
	}
}
