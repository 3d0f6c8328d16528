package haproxy

import (
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// predefined are the ACLs that HAProxy has by itself (configuration manual 3.0, section 7.4), of which some came with later versions.
var predefined = []string{
	"FALSE", "HTTP", "HTTP_1.0", "HTTP_1.1", "HTTP_2.0", "HTTP_3.0", "HTTP_CONTENT", "HTTP_URL_ABS", "HTTP_URL_SLASH", "HTTP_URL_STAR", "LOCALHOST",
	"METH_CONNECT", "METH_DELETE", "METH_GET", "METH_HEAD", "METH_OPTIONS", "METH_POST", "METH_PUT", "METH_TRACE", "RDP_COOKIE", "REQ_CONTENT", "TRUE", "WAIT_END",
}

// ValidateConditions finds ACLs that rules name and nothing defines: HAProxy refuses them. All ACLs must be known, and extra_config.
func (f Frontend) ValidateConditions() []service.Problem {
	var c checks
	defined := slices.Concat(predefined, slices.Collect(maps.Keys(f.ACLs)))
	for _, line := range f.Extra {
		if words, _ := rawWords(line); len(words) > 1 && words[0] == "acl" {
			defined = append(defined, words[1])
		}
	}
	for i, r := range f.Rules {
		for attribute, condition := range map[string]string{"if": r.If, "unless": r.Unless} {
			for _, name := range namedACLs(condition) {
				if !slices.Contains(defined, name) {
					c.addProblem([]any{"rules", i, attribute}, "No such ACL", "nothing defines the ACL %q, in acls or by a line \"acl %s …\" in extra_config: add it, or correct the name", name, name)
				}
			}
		}
	}
	return c.problems
}

// namedACLs are the names in a condition: its words but for operators and for tests that are written out in braces. A condition with
// quotes has none, as only HAProxy knows what its words are.
func namedACLs(condition string) []string {
	if strings.ContainsAny(condition, `"'\$`) {
		return nil
	}
	var names []string
	inBraces := false
	for _, word := range strings.Fields(condition) {
		switch name := strings.TrimLeft(word, "!"); {
		case word == "}":
			inBraces = false
		case name == "{":
			inBraces = true
		case inBraces || name == "" || word == "or" || word == "OR" || word == "||":
		default:
			names = append(names, name)
		}
	}
	return names
}
