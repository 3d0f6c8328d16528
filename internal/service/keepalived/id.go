package keepalived

import (
	"fmt"
	"slices"
	"strings"
)

// schemes begin a service node's id: a comma before one separates two of them.
var schemes = []string{"ssh://", "local:", "qemu-ga://"}

// ID names a VIP for Terraform: its members' service nodes, separated by commas, then # and its name.
func ID(nodes []string, name string) string { return strings.Join(nodes, ",") + "#" + name }

// SplitID is the inverse of ID.
func SplitID(id string) (nodes []string, name string, err error) {
	cut := strings.LastIndexByte(id, '#')
	if cut < 1 || cut == len(id)-1 {
		return nil, "", fmt.Errorf("write SERVICE_NODE,SERVICE_NODE#NAME with the ids of the members' service nodes, not %q", id)
	}
	for part := range strings.SplitSeq(id[:cut], ",") {
		begins := slices.ContainsFunc(schemes, func(s string) bool { return strings.HasPrefix(part, s) })
		if begins || len(nodes) == 0 {
			nodes = append(nodes, part)
		} else {
			nodes[len(nodes)-1] += "," + part
		}
	}
	return nodes, id[cut+1:], nil
}
