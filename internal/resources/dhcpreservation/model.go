package dhcpreservation

import (
	"context"
	"net/netip"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

type model struct {
	ID         types.String `tfsdk:"id"`
	Hypervisor types.String `tfsdk:"hypervisor"`
	Network    types.String `tfsdk:"network"`
	MAC        types.String `tfsdk:"mac"`
	DUID       types.String `tfsdk:"duid"`
	IP         types.String `tfsdk:"ip"`
	Hostname   types.String `tfsdk:"hostname"`
}

// reservation is one in plain values; the texts are as written where they are not what they should be.
type reservation struct {
	hypervisor.DHCPHost
	ip string
}

// spec converts the model.
func (m *model) spec(context.Context) (reservation, diag.Diagnostics) {
	ip, _ := netip.ParseAddr(m.IP.ValueString()) // Validate says what is wrong with it
	return reservation{
		DHCPHost: hypervisor.DHCPHost{MAC: canonicalMAC(m.MAC.ValueString()), ID: strings.ToLower(m.DUID.ValueString()), IP: ip.Unmap(), Name: m.Hostname.ValueString()},
		ip:       m.IP.ValueString(),
	}, nil
}

// fill writes what was read, keeping spellings that mean the same.
func (m *model) fill(_ context.Context, got reservation) diag.Diagnostics {
	if canonicalMAC(m.MAC.ValueString()) != got.MAC {
		m.MAC = orNull(got.MAC)
	}
	if hypervisor.CanonicalDUID(m.DUID.ValueString()) != hypervisor.CanonicalDUID(got.ID) {
		m.DUID = orNull(got.ID)
	}
	if canonicalAddress(m.IP.ValueString()) != got.IP.String() {
		m.IP = types.StringValue(got.IP.String())
	}
	m.Hostname = orNull(got.Name)
	return nil
}

func orNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

// machine is what the id names the machine by.
func (m *model) machine() string {
	switch {
	case m.MAC.ValueString() != "":
		return canonicalMAC(m.MAC.ValueString())
	case m.DUID.ValueString() != "":
		return strings.ToLower(m.DUID.ValueString())
	}
	return m.Hostname.ValueString()
}

func (m *model) id() string {
	id := m.Network.ValueString() + "/" + m.machine()
	if h := m.Hypervisor.ValueString(); h != "" {
		return h + "/" + id
	}
	return id
}

var (
	// duid is two to 130 bytes in hexadecimal (RFC 8415, section 11.1).
	duid     = regexp.MustCompile(`^[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){1,129}$`)
	hostname = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
)

// Validate implements crud.Validator.
func (r reservation) Validate() []service.Problem {
	var found []service.Problem
	add := func(attribute, summary, format string, args ...any) {
		found = append(found, service.Problemf([]any{attribute}, summary, format, args...))
	}
	if r.ip != "" && (!r.IP.IsValid() || r.IP.Zone() != "") {
		add("ip", "Invalid address", "write an IP address such as 10.0.0.1, not %q", r.ip)
	}
	if r.MAC != "" {
		if mac, err := alloc.CanonicalMAC(r.MAC); err != nil {
			add("mac", "Invalid MAC address", "write six bytes such as 52:54:00:aa:6c:b1, not %q", r.MAC)
		} else if strings.ContainsAny(mac[1:2], "13579bdf") {
			add("mac", "Invalid MAC address", "%s is a multicast address, which no machine has", mac)
		}
	}
	if r.ID != "" && !duid.MatchString(r.ID) {
		add("duid", "Invalid DUID", "write bytes in hexadecimal with colons between them, not %q", r.ID)
	}
	if r.Name != "" && !hostname.MatchString(r.Name) {
		add("hostname", "Invalid host name", "write letters, digits, hyphens and dots, not %q", r.Name)
	}
	switch {
	case r.IP.Is4() && r.MAC == "":
		add("mac", "Missing MAC address", "IPv4 reservations are for a MAC address")
	case r.IP.Is4() && r.ID != "":
		add("duid", "DUID of an IPv4 reservation", "leave duid out: IPv4 reservations are for a MAC address")
	case r.IP.Is6() && r.MAC != "":
		add("mac", "MAC address of an IPv6 reservation", "write duid or hostname instead: DHCPv6 does not know machines by their MAC address")
	case r.IP.Is6() && r.ID == "" && r.Name == "":
		add("duid", "Missing machine", "write duid or hostname: IPv6 reservations are for one of them")
	}
	return found
}
