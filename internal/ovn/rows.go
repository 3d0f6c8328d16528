package ovn

import (
	"reflect"

	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
)

// The rows of OVN's databases, with the columns that are used here (ovn-nb(5), ovn-sb(5)). All
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

// ChassisRow is a machine that follows the southbound database.
type ChassisRow struct {
	UUID     string `ovsdb:"_uuid"`
	Name     string `ovsdb:"name"`
	Hostname string `ovsdb:"hostname"`
}

// Progress is how far a chassis has followed: Config is the change that it has.
type Progress struct {
	UUID   string `ovsdb:"_uuid"`
	Name   string `ovsdb:"name"`
	Config int    `ovsdb:"nb_cfg"`
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
		"NB_Global": &Global{}, "Logical_Switch": &Switch{}, "Logical_Switch_Port": &Port{}, "DHCP_Options": &DHCPOptions{},
	}}
	SouthDB = Kind{"OVN_Southbound", "/run/ovn/ovnsb_db.sock", map[string]model.Model{"Chassis": &ChassisRow{}, "Chassis_Private": &Progress{}}}
)

// monitor asks for the columns that the row types have, and no others: the client takes a change of a column that it has no field for as a
// broken cache.
func (k Kind) monitor(c client.Client) *client.Monitor {
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
