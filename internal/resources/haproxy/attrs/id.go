package attrs

import (
	"fmt"
	"strings"
)

// JoinID is the id of a part of a service node's configuration: "<service node>#<part>".
func JoinID(serviceNode, part string) string { return serviceNode + "#" + part }

// Machine is a service node's id for messages: without the host key.
func Machine(serviceNode string) string {
	endpoint, _, _ := strings.Cut(serviceNode, "?")
	return endpoint
}

// SplitID is the inverse: it takes an id with the given beginning of its part, "frontend/", and returns the rest.
func SplitID(id, kind string) (serviceNode, rest string, err error) {
	i := strings.LastIndexByte(id, '#')
	if i > 0 {
		if rest, ok := strings.CutPrefix(id[i+1:], kind); ok {
			return id[:i], rest, nil
		}
	}
	return "", "", fmt.Errorf("%q is not of the form <service_node id>#%sNAME", id, kind)
}
