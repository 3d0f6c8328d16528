package hypervisor

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"
)

// NetworkSection is a part of a network that libvirt changes without a restart.
type NetworkSection string

// The sections that are used, by virsh's names.
const (
	SectionDHCPRange NetworkSection = "ip-dhcp-range"
	SectionDHCPHost  NetworkSection = "ip-dhcp-host"
	SectionDNSHost   NetworkSection = "dns-host"
)

// EditCommand is what an edit does with its element.
type EditCommand string

// The commands.
const (
	EditAdd    EditCommand = "add"
	EditDelete EditCommand = "delete"
	EditModify EditCommand = "modify"
)

// NetworkEdit is one change that libvirt makes to a network without a restart.
type NetworkEdit struct {
	Section NetworkSection
	Command EditCommand
	// Parent is the place of the <ip> element that is meant; -1 where the section has none.
	Parent int
	XML    string
}

var (
	sectionNumbers = map[NetworkSection]libvirt.NetworkUpdateSection{
		SectionDHCPRange: libvirt.NetworkSectionIPDhcpRange, SectionDHCPHost: libvirt.NetworkSectionIPDhcpHost, SectionDNSHost: libvirt.NetworkSectionDNSHost,
	}
	commandNumbers = map[EditCommand]libvirt.NetworkUpdateCommand{
		EditAdd: libvirt.NetworkUpdateCommandAddLast, EditDelete: libvirt.NetworkUpdateCommandDelete, EditModify: libvirt.NetworkUpdateCommandModify,
	}
)

// EditNetwork makes one change in what runs, in the configuration, or in both at once, so that nothing can come between.
func (c *Client) EditNetwork(ctx context.Context, what, uuid string, e NetworkEdit, live, config bool) error {
	defer c.ForgetPlan()
	var affect libvirt.NetworkUpdateFlags
	if live {
		affect |= libvirt.NetworkUpdateAffectLive
	}
	if config {
		affect |= libvirt.NetworkUpdateAffectConfig
	}
	_, err := callOnce(ctx, c, what, withoutResult(func(l *libvirt.Libvirt) error {
		ref, err := lookupNetwork(l, uuid)
		if err != nil {
			return err
		}
		// Compat asks which of two orders of the arguments the daemon understands.
		return l.NetworkUpdateCompat(ref, commandNumbers[e.Command], sectionNumbers[e.Section], int32(e.Parent), e.XML, affect)
	}))
	if err != nil {
		return fmt.Errorf("%w (while sending %s)", err, e.XML)
	}
	return nil
}
