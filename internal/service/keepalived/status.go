package keepalived

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Status is what a running keepalived says of one instance.
type Status struct {
	Name     string
	RouterID int
	// State is "INIT", "BACKUP", "MASTER" or "FAULT".
	State string
	// Priority is the configured one; Effective has the weights of what is tracked in it.
	Priority, Effective int
	LastTransition      time.Time
	Addresses           []netip.Prefix
	AuthPass            string
	AdvertInterval      float64
	NoPreempt           bool
}

// dumpScript asks keepalived for its data as JSON and prints it once it is whole.
//
//go:embed dump.sh
var dumpScript string

// Dump asks the running keepalived for its VRRP instances.
func Dump(ctx context.Context, h host.Host) ([]Status, error) {
	out, err := h.Run(ctx, host.RepeatableScript("ask keepalived for its state", dumpScript, host.LockDir, host.LockDirScript))
	var exit *host.ExitError
	if errors.As(err, &exit) && exit.Code == 3 {
		return nil, errNotRunning
	}
	if err != nil {
		return nil, err
	}
	return parseDump(out)
}

func parseDump(out []byte) ([]Status, error) {
	var raw []struct {
		Data struct {
			Name           string   `json:"iname"`
			RouterID       int      `json:"vrid"`
			State          int      `json:"state"`
			Base           int      `json:"base_priority"`
			Effective      int      `json:"effective_priority"`
			LastTransition float64  `json:"last_transition"`
			VIPs           []string `json:"vips"`
			EVIPs          []string `json:"evips"`
			AuthPass       string   `json:"auth_data"`
			Advert         float64  `json:"adver_int"`
			NoPreempt      bool     `json:"nopreempt"`
		} `json:"data"`
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		return nil, fmt.Errorf("read keepalived's data: %w", err)
	}
	var all []Status
	for _, r := range raw {
		s := Status{
			Name: r.Data.Name, RouterID: r.Data.RouterID, State: "INIT", Priority: r.Data.Base, Effective: r.Data.Effective,
			AuthPass: r.Data.AuthPass, AdvertInterval: r.Data.Advert, NoPreempt: r.Data.NoPreempt,
		}
		if states := []string{"INIT", "BACKUP", "MASTER", "FAULT"}; r.Data.State >= 0 && r.Data.State < len(states) {
			s.State = states[r.Data.State]
		}
		if r.Data.LastTransition > 0 {
			s.LastTransition = time.UnixMicro(int64(r.Data.LastTransition * 1e6)).UTC()
		}
		for _, text := range append(r.Data.VIPs, r.Data.EVIPs...) {
			word, _, _ := strings.Cut(text, " ")
			if p, err := prefixOf(word); err == nil {
				s.Addresses = append(s.Addresses, p)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// describeDifference says in words what the daemon has other than the configuration; "" is nothing.
func (s Status) describeDifference(in Instance) string {
	for _, a := range in.Addresses {
		if !slices.Contains(s.Addresses, a) {
			return fmt.Sprintf("it does not have the address %s", a)
		}
	}
	switch {
	case s.RouterID != in.RouterID:
		return fmt.Sprintf("virtual_router_id is %d, not %d", s.RouterID, in.RouterID)
	case s.Priority != in.Priority:
		return fmt.Sprintf("priority is %d, not %d", s.Priority, in.Priority)
	case s.NoPreempt != in.NoPreempt:
		return fmt.Sprintf("nopreempt is %t, not %t", s.NoPreempt, in.NoPreempt)
	case s.AuthPass != in.AuthPass && in.Version == 2:
		return "it has another password"
	}
	return ""
}

// Elected says whether the members of a VIP have come to an end about who holds its addresses: holder is the one that has them, ""
// for none, and served is what those that run say of it. They have not while one of them has not begun, while another one is to
// take the addresses from the holder, and while nobody has them that could.
func Elected(holder string, served map[string]Status) bool {
	held, runs := served[holder]
	if runs && held.State != "MASTER" {
		return false
	}
	for id, s := range served {
		switch {
		case s.State == "INIT":
			return false
		case id == holder || s.State == "FAULT":
		case holder == "", s.State == "MASTER", runs && !s.NoPreempt && s.Effective > held.Effective:
			return false
		}
	}
	return true
}
