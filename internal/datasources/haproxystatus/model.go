package haproxystatus

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

type model struct {
	ID          types.String        `tfsdk:"id"`
	ServiceNode types.String        `tfsdk:"service_node"`
	Running     types.Bool          `tfsdk:"running"`
	Version     types.String        `tfsdk:"version"`
	Uptime      types.Int64         `tfsdk:"uptime_seconds"`
	Frontends   map[string]frontend `tfsdk:"frontends"`
	Backends    map[string]backend  `tfsdk:"backends"`
}

type frontend struct {
	Status        string `tfsdk:"status"`
	Sessions      int64  `tfsdk:"sessions"`
	TotalSessions int64  `tfsdk:"total_sessions"`
	Binds         []bind `tfsdk:"binds"`
}

type bind struct {
	Address   string `tfsdk:"address"`
	Port      int64  `tfsdk:"port"`
	Listening bool   `tfsdk:"listening"`
}

type backend struct {
	Status        string            `tfsdk:"status"`
	Sessions      int64             `tfsdk:"sessions"`
	TotalSessions int64             `tfsdk:"total_sessions"`
	Servers       map[string]server `tfsdk:"servers"`
}

type server struct {
	Address        string `tfsdk:"address"`
	Port           int64  `tfsdk:"port"`
	State          string `tfsdk:"state"`
	Status         string `tfsdk:"status"`
	Up             bool   `tfsdk:"up"`
	Check          string `tfsdk:"check"`
	Sessions       int64  `tfsdk:"sessions"`
	TotalSessions  int64  `tfsdk:"total_sessions"`
	Queued         int64  `tfsdk:"queued"`
	Weight         int64  `tfsdk:"weight"`
	Backup         bool   `tfsdk:"backup"`
	FailedChecks   int64  `tfsdk:"failed_checks"`
	FailedConnects int64  `tfsdk:"failed_connects"`
	LastChange     int64  `tfsdk:"last_change_seconds"`
}

func (m *model) fillModel(s haproxy.Status, running bool) {
	m.Running, m.Version, m.Uptime = types.BoolValue(running), types.StringValue(s.Version), types.Int64Value(s.Uptime)
	m.Frontends, m.Backends = map[string]frontend{}, map[string]backend{}
	for name, f := range s.Frontends {
		out := frontend{Status: f.Status, Sessions: f.Sessions, TotalSessions: f.TotalSessions, Binds: []bind{}}
		for _, b := range f.Binds {
			out.Binds = append(out.Binds, bind(b))
		}
		m.Frontends[name] = out
	}
	for name, b := range s.Backends {
		out := backend{Status: b.Status, Sessions: b.Sessions, TotalSessions: b.TotalSessions, Servers: map[string]server{}}
		for name, v := range b.Servers {
			out.Servers[name] = server{
				Address: v.Address, Port: v.Port, State: v.State, Status: v.Status, Up: v.Up, Check: v.Check, Sessions: v.Sessions, TotalSessions: v.TotalSessions,
				Queued: v.Queue, Weight: v.Weight, Backup: v.Backup, FailedChecks: v.FailedChecks, FailedConnects: v.FailedConnects, LastChange: v.LastChange,
			}
		}
		m.Backends[name] = out
	}
}
