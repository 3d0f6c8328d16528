package rollout

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// prefix stands for metadata.Turn in a domain's XML.
const prefix = "virtcluster-turn"

// ticket is the mark of a machine that has its turn, or waits for it, as it stands in the metadata of its domain. Tickets are drawn and
// compared as in Lamport's bakery (CACM 17/8, 1974), which takes nothing but marks that each writes by itself and all can read: they
// may be on several hypervisors.
type ticket struct {
	XMLName xml.Name `xml:"turn"`
	// ID tells the turn from all others, wherever its ticket is: a hypervisor may have several names.
	ID string `xml:"id,attr"`
	// Run is the run (owner.Run) that the ticket is of.
	Run string `xml:"run,attr"`
	// Choosing is set while the number is being chosen; a Number of 0 is none.
	Choosing bool  `xml:"choosing,attr,omitempty"`
	Number   int64 `xml:"number,attr,omitempty"`
	// Beat changes every few seconds for as long as the run is alive.
	Beat int64 `xml:"beat,attr,omitempty"`
	// Step is what is being done, for people.
	Step string `xml:"step,attr,omitempty"`
	// Drained are the machine's servers that the turn drained, or is about to (serverSet.renderServers).
	Drained string `xml:"drained,attr,omitempty"`
	// Group is the group whose turn it is.
	Group string `xml:"group,attr,omitempty"`
	// Member and Workspace are set on the domain that keeps the place of a machine which is made anew or moves: what the machine is called, and
	// of which state it is. Machine is the UUID of one that moves, which it has wherever it is.
	Member    string `xml:"member,attr,omitempty"`
	Workspace string `xml:"workspace,attr,omitempty"`
	Machine   string `xml:"machine,attr,omitempty"`
}

// readTicket returns the ticket that a domain has; nil for none.
func readTicket(d *hypervisor.Domain) (*ticket, error) {
	k := &ticket{}
	marked, err := metadata.ReadTurn(d.Config, k)
	if err != nil {
		return nil, fmt.Errorf("understand the mark of a turn on domain %q: %w", d.Name, err)
	}
	if !marked {
		return nil, nil
	}
	return k, nil
}

// renderTicket returns the ticket as libvirt takes it for a domain's metadata, without its namespace, which libvirt adds.
func (k *ticket) renderTicket() (string, error) {
	k.XMLName = xml.Name{Local: metadata.TurnElement}
	text, err := xml.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("cannot render the mark of a turn: %w", err)
	}
	return string(text), nil
}

// renderQualified returns the ticket with its namespace, as it stands in a domain's XML.
func (k *ticket) renderQualified() (string, error) {
	text, err := k.renderTicket()
	if err != nil {
		return "", err
	}
	attributes := strings.TrimSuffix(strings.TrimPrefix(text, "<"+metadata.TurnElement), "></"+metadata.TurnElement+">")
	return fmt.Sprintf("<%s:%s xmlns:%s=%q%s/>", prefix, metadata.TurnElement, prefix, metadata.Turn, attributes), nil
}

// comesBefore says whether a ticket's turn comes before another one's.
func (k *ticket) comesBefore(other *ticket) bool {
	return cmp.Or(cmp.Compare(k.Number, other.Number), cmp.Compare(k.Run, other.Run), cmp.Compare(k.ID, other.ID)) < 0
}
