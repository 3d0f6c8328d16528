package netspec

import "github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/xmltree"

// markerNamespace names this provider in a network's metadata.
const markerNamespace = "https://github.com/virtcluster/terraform-provider-virtcluster"

// Mark notes in a network's metadata that this provider made it, so that what an interrupted apply left
// behind can be told from what somebody else has.
func Mark(definition string) (string, error) {
	root, err := xmltree.Parse(definition)
	if err != nil || marked(root) {
		return definition, err
	}
	root.Ensure("metadata").Append(xmltree.New("virtcluster:network", "xmlns:virtcluster", markerNamespace))
	return root.String() + "\n", nil
}

// Marked says whether this provider made the network.
func Marked(definition string) bool {
	root, err := xmltree.Parse(definition)
	return err == nil && marked(root)
}

func marked(root *xmltree.Element) bool {
	metadata := root.Child("metadata")
	if metadata == nil {
		return false
	}
	for e := range metadata.All() {
		for _, a := range e.Attrs {
			if a.Value == markerNamespace {
				return true
			}
		}
	}
	return false
}
