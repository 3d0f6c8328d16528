package haproxy

import (
	"context"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Status is what a running HAProxy does.
type Status struct {
	Version   string                    `attr:"version,zero"`
	Uptime    int64                     `attr:"uptime_seconds,zero"`
	Frontends map[string]FrontendStatus `attr:"frontends,zero"`
	Backends  map[string]BackendStatus  `attr:"backends,zero"`
}

// FrontendStatus is a frontend; a listen section is one too.
type FrontendStatus struct {
	Status        string       `attr:"status,zero"` // "OPEN", "FULL" or "STOP"
	Sessions      int64        `attr:"sessions,zero"`
	TotalSessions int64        `attr:"total_sessions,zero"`
	Binds         []BindStatus `attr:"binds,zero"`
}

// BindStatus says whether the kernel listens for HAProxy at a bind of the configuration.
type BindStatus struct {
	Address   string `attr:"address,zero"`
	Port      int64  `attr:"port,zero"`
	Listening bool   `attr:"listening"`
}

// BackendStatus is a backend; a listen section is one too.
type BackendStatus struct {
	Status        string                  `attr:"status,zero"` // "UP" or "DOWN"
	Sessions      int64                   `attr:"sessions,zero"`
	TotalSessions int64                   `attr:"total_sessions,zero"`
	Servers       map[string]ServerStatus `attr:"servers,zero"`
}

// ServerStatus is a server.
type ServerStatus struct {
	Address string `attr:"address,zero"`
	Port    int64  `attr:"port,zero"`
	// State is Ready, Drain or Maint; Status is HAProxy's own word, "UP 1/3" for one that is failing.
	State  string `attr:"state,zero"`
	Status string `attr:"status,zero"`
	// Up says whether new connections can go there.
	Up bool `attr:"up"`
	// Check is the last check's result, "L7OK/200: …" or "L4TOUT"; empty without checks.
	Check          string `attr:"check,zero"`
	Sessions       int64  `attr:"sessions,zero"`
	TotalSessions  int64  `attr:"total_sessions,zero"`
	Weight         int64  `attr:"weight,zero"`
	LastChange     int64  `attr:"last_change_seconds,zero"`
	Backup         bool   `attr:"backup"`
	FailedChecks   int64  `attr:"failed_checks,zero"`
	FailedConnects int64  `attr:"failed_connects,zero"`
	Queue          int64  `attr:"queued,zero"`
}

// ReadStatus asks the HAProxy that runs with a configuration.
func ReadStatus(ctx context.Context, h host.Host, t transaction.Tree) (Status, error) {
	api, err := openSocket(h, t, isSocket)
	if err != nil {
		return Status{}, err
	}
	info, err := api.askCommand(ctx, "show info")
	if err != nil {
		return Status{}, err
	}
	stats, err := api.readStats(ctx)
	if err != nil {
		return Status{}, err
	}
	sockets, err := h.Run(ctx, host.Cmd{Argv: []string{"ss", "--no-header", "--listening", "--tcp", "--numeric", "--processes"}})
	if err != nil {
		return Status{}, err
	}
	s := Status{Frontends: map[string]FrontendStatus{}, Backends: map[string]BackendStatus{}}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Version":
			s.Version = value
		case "Uptime_sec":
			s.Uptime, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	s.fillProxies(stats, configuredBinds(t), parseListening(string(sockets)))
	return s, nil
}

// configuredBinds are the binds of each frontend and listen section.
func configuredBinds(t transaction.Tree) map[string][]Bind {
	binds := map[string][]Bind{}
	for _, f := range t {
		d := parseDocument(f.Content)
		for _, s := range d.listSections() {
			if s.kind == "frontend" || s.kind == "listen" {
				binds[s.name] = append(binds[s.name], ParseFrontend(s.name, d.bodyOf(s)).Binds...)
			}
		}
	}
	return binds
}

// parseListening is where the kernel listens for HAProxy, by the endpoint as Bind spells it.
func parseListening(sockets string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(sockets) {
		fields := strings.Fields(line)
		if len(fields) < 5 || !strings.Contains(line, `"haproxy"`) {
			continue
		}
		if address, port, ok := splitEndpoint(fields[3]); ok {
			address, _, _ = strings.Cut(address, "%") // a device after the address
			if address == "*" {                       // ss writes so for a socket that takes both families
				found[joinEndpoint("::", port)] = true
			}
			found[joinEndpoint(CanonicalBindAddress(address), port)] = true
		}
	}
	return found
}

func (s Status) fillProxies(stats statTable, binds map[string][]Bind, kernel map[string]bool) {
	for name, rows := range stats {
		if row, ok := rows["FRONTEND"]; ok {
			f := FrontendStatus{Status: row["status"], Sessions: row.numberOf("scur"), TotalSessions: row.numberOf("stot")}
			for _, b := range binds[name] {
				f.Binds = append(f.Binds, BindStatus{Address: b.Address, Port: b.Port, Listening: kernel[b.Endpoint()]})
			}
			s.Frontends[name] = f
		}
		row, ok := rows["BACKEND"]
		if !ok {
			continue
		}
		b := BackendStatus{Status: row["status"], Sessions: row.numberOf("scur"), TotalSessions: row.numberOf("stot"), Servers: map[string]ServerStatus{}}
		for server, row := range rows {
			if server != "FRONTEND" && server != "BACKEND" {
				b.Servers[server] = row.toServerStatus()
			}
		}
		s.Backends[name] = b
	}
}

func (s stat) toServerStatus() ServerStatus {
	address, port, _ := splitEndpoint(s["addr"])
	status := s["status"]
	out := ServerStatus{
		Address: CanonicalAddress(address), Port: port, Status: status, State: Ready, Check: s["check_status"],
		Sessions: s.numberOf("scur"), TotalSessions: s.numberOf("stot"), Weight: s.numberOf("weight"), LastChange: s.numberOf("lastchg"),
		Backup: s.numberOf("bck") > 0, FailedChecks: s.numberOf("chkfail"), FailedConnects: s.numberOf("econ"), Queue: s.numberOf("qcur"),
	}
	if code := s["check_code"]; code != "" {
		out.Check += "/" + code
	}
	if last := s["last_chk"]; last != "" {
		out.Check += ": " + last
	}
	switch {
	case strings.HasPrefix(status, "MAINT"):
		out.State = Maint
	case strings.HasPrefix(status, "DRAIN"), out.Weight == 0:
		out.State = Drain
	}
	out.Up = out.State == Ready && (strings.HasPrefix(status, "UP") || status == "no check")
	return out
}
