package ovn

import (
	"reflect"

	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
)

// The rows of OVN's and Open vSwitch's databases, with the columns that are used here (ovn-nb(5), ovn-sb(5), ovs-vswitchd.conf.db(5)). All
// of them are in every release from OVN 20.09 on.

// Global is the one row of NB_Global. Config counts changes.
type Global struct {
	UUID        string            `ovsdb:"_uuid"`
	Config      int               `ovsdb:"nb_cfg"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
	Options     map[string]string `ovsdb:"options"`
}

// Switch is a logical switch.
type Switch struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Ports       []string          `ovsdb:"ports"`
	Balancers   []string          `ovsdb:"load_balancer"`
	ACLs        []string          `ovsdb:"acls"`
	OtherConfig map[string]string `ovsdb:"other_config"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Port is a port of a logical switch.
type Port struct {
	UUID         string            `ovsdb:"_uuid"`
	Name         string            `ovsdb:"name"`
	Type         string            `ovsdb:"type"`
	Addresses    []string          `ovsdb:"addresses"`
	PortSecurity []string          `ovsdb:"port_security"`
	Options      map[string]string `ovsdb:"options"`
	DHCPv4       *string           `ovsdb:"dhcpv4_options"`
	Drawn        *string           `ovsdb:"dynamic_addresses"`
	Up           *bool             `ovsdb:"up"`
	ExternalIDs  map[string]string `ovsdb:"external_ids"`
}

// DHCPOptions is what ports that refer to it are told by DHCP.
type DHCPOptions struct {
	UUID        string            `ovsdb:"_uuid"`
	CIDR        string            `ovsdb:"cidr"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// PortGroup is a set of ports, with what passes them.
type PortGroup struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Ports       []string          `ovsdb:"ports"`
	ACLs        []string          `ovsdb:"acls"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// ACL is what is done with what matches.
type ACL struct {
	UUID        string            `ovsdb:"_uuid"`
	Direction   string            `ovsdb:"direction"`
	Priority    int               `ovsdb:"priority"`
	Match       string            `ovsdb:"match"`
	Action      string            `ovsdb:"action"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// AddressSet is a set of addresses that matches name.
type AddressSet struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Addresses   []string          `ovsdb:"addresses"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// RouterRow is a logical router.
type RouterRow struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Ports       []string          `ovsdb:"ports"`
	NAT         []string          `ovsdb:"nat"`
	Routes      []string          `ovsdb:"static_routes"`
	Policies    []string          `ovsdb:"policies"`
	Balancers   []string          `ovsdb:"load_balancer"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Balancer is a load balancer: what each address leads to, with commas between.
type Balancer struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	VIPs        map[string]string `ovsdb:"vips"`
	Protocol    *string           `ovsdb:"protocol"`
	Checks      []string          `ovsdb:"health_check"`
	Askers      map[string]string `ovsdb:"ip_port_mappings"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// HealthCheckRow is how an address of a load balancer asks what it leads to.
type HealthCheckRow struct {
	UUID    string            `ovsdb:"_uuid"`
	VIP     string            `ovsdb:"vip"`
	Options map[string]string `ovsdb:"options"`
}

// RouterPort is a port of a logical router.
type RouterPort struct {
	UUID     string   `ovsdb:"_uuid"`
	Name     string   `ovsdb:"name"`
	MAC      string   `ovsdb:"mac"`
	Networks []string `ovsdb:"networks"`
	Group    *string  `ovsdb:"ha_chassis_group"`
	// Advertises is what the router tells guests of IPv6.
	Advertises  map[string]string `ovsdb:"ipv6_ra_configs"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// NAT is an address that a router translates.
type NAT struct {
	UUID     string `ovsdb:"_uuid"`
	Type     string `ovsdb:"type"`
	External string `ovsdb:"external_ip"`
	Logical  string `ovsdb:"logical_ip"`
	// MAC and Port are there where the chassis of that port translates, and not the way out.
	MAC         *string           `ovsdb:"external_mac"`
	Port        *string           `ovsdb:"logical_port"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// StaticRoute is a route of a router.
type StaticRoute struct {
	UUID   string `ovsdb:"_uuid"`
	Prefix string `ovsdb:"ip_prefix"`
	Via    string `ovsdb:"nexthop"`

	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// ChassisGroup are the chassis of which one has what refers to the group: the first one that lives.
type ChassisGroup struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Members     []string          `ovsdb:"ha_chassis"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// GroupMember is a chassis of a group: the highest priority comes first.
type GroupMember struct {
	UUID     string `ovsdb:"_uuid"`
	Chassis  string `ovsdb:"chassis_name"`
	Priority int    `ovsdb:"priority"`
}

// SouthGlobal is the one row of SB_Global.
type SouthGlobal struct {
	UUID        string   `ovsdb:"_uuid"`
	Connections []string `ovsdb:"connections"`
	SSL         *string  `ovsdb:"ssl"`
}

// SSL names the files by which a database's server, or who uses a machine's Open vSwitch, proves itself.
type SSL struct {
	UUID        string            `ovsdb:"_uuid"`
	Key         string            `ovsdb:"private_key"`
	Certificate string            `ovsdb:"certificate"`
	Authority   string            `ovsdb:"ca_cert"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Connection is where a database listens.
type Connection struct {
	UUID        string            `ovsdb:"_uuid"`
	Target      string            `ovsdb:"target"`
	Role        string            `ovsdb:"role"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// ChassisRow is a machine that follows the southbound database.
type ChassisRow struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Hostname    string            `ovsdb:"hostname"`
	Encaps      []string          `ovsdb:"encaps"`
	OtherConfig map[string]string `ovsdb:"other_config"`
}

// Progress is how far a chassis has followed: Config is the change that it has.
type Progress struct {
	UUID   string `ovsdb:"_uuid"`
	Name   string `ovsdb:"name"`
	Config int    `ovsdb:"nb_cfg"`
}

// Encap is an address of a chassis that others send to.
type Encap struct {
	UUID    string `ovsdb:"_uuid"`
	Chassis string `ovsdb:"chassis_name"`
	IP      string `ovsdb:"ip"`
	Type    string `ovsdb:"type"`
}

// OpenVSwitch is the one row of Open_vSwitch. NextConfig counts changes, and CurrentConfig is the one that Open vSwitch has made so.
type OpenVSwitch struct {
	UUID          string            `ovsdb:"_uuid"`
	NextConfig    int               `ovsdb:"next_cfg"`
	CurrentConfig int               `ovsdb:"cur_cfg"`
	ExternalIDs   map[string]string `ovsdb:"external_ids"`
	Bridges       []string          `ovsdb:"bridges"`
	Datapaths     map[string]string `ovsdb:"datapaths"`
	SSL           *string           `ovsdb:"ssl"`
}

// Datapath is what Open vSwitch forwards packets by. Capabilities are what it can do, as Open vSwitch writes there when it begins to have it.
type Datapath struct {
	UUID         string            `ovsdb:"_uuid"`
	Capabilities map[string]string `ovsdb:"capabilities"`
	ExternalIDs  map[string]string `ovsdb:"external_ids"`
}

// Bridge is a bridge of Open vSwitch.
type Bridge struct {
	UUID     string   `ovsdb:"_uuid"`
	Name     string   `ovsdb:"name"`
	Type     string   `ovsdb:"datapath_type"`
	FailMode *string  `ovsdb:"fail_mode"`
	Ports    []string `ovsdb:"ports"`
}

// SwitchPort is a port of a bridge of Open vSwitch.
type SwitchPort struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Kind is one of the databases.
type Kind struct {
	// Name is the schema's, and Socket where its server listens.
	Name, Socket string
	tables       map[string]model.Model
}

// The databases.
var (
	NorthDB = Kind{"OVN_Northbound", "/run/ovn/ovnnb_db.sock", map[string]model.Model{
		"NB_Global": &Global{}, "Logical_Switch": &Switch{}, "Logical_Switch_Port": &Port{}, "DHCP_Options": &DHCPOptions{}, "Port_Group": &PortGroup{}, "ACL": &ACL{}, "Address_Set": &AddressSet{}, "Logical_Router": &RouterRow{},
		"Logical_Router_Port": &RouterPort{}, "NAT": &NAT{}, "Load_Balancer": &Balancer{}, "Load_Balancer_Health_Check": &HealthCheckRow{}, "Logical_Router_Static_Route": &StaticRoute{}, "HA_Chassis_Group": &ChassisGroup{}, "HA_Chassis": &GroupMember{},
	}}
	SouthDB = Kind{"OVN_Southbound", "/run/ovn/ovnsb_db.sock", map[string]model.Model{
		"SB_Global": &SouthGlobal{}, "Connection": &Connection{}, "Chassis": &ChassisRow{}, "Chassis_Private": &Progress{}, "Encap": &Encap{}, "SSL": &SSL{},
	}}
	SwitchDB = Kind{"Open_vSwitch", "/run/openvswitch/db.sock", map[string]model.Model{
		"Open_vSwitch": &OpenVSwitch{}, "Bridge": &Bridge{}, "Port": &SwitchPort{}, "Datapath": &Datapath{}, "SSL": &SSL{},
	}}
)

// newMonitor asks for the columns that the row types have, and no others: the client takes a change of a column that it has no field for as a
// broken cache.
func (k Kind) newMonitor(c client.Client) *client.Monitor {
	m := c.NewMonitor()
	for name, row := range k.tables {
		table := client.TableMonitor{Table: name}
		for _, field := range reflect.VisibleFields(typeOf(row)) {
			if column := field.Tag.Get("ovsdb"); column != "_uuid" {
				table.Fields = append(table.Fields, column)
			}
		}
		m.Tables = append(m.Tables, table)
	}
	return m
}

// tableOf returns the name of the table that has rows of a type.
func (k Kind) tableOf(row any) string {
	for name, m := range k.tables {
		if typeOf(m) == typeOf(row) {
			return name
		}
	}
	panic("no table of " + k.Name + " has such rows") // a mistake in this package
}
