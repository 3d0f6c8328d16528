package robustness

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// belonging is something that a person makes by hand, or does to what a state has.
type belonging struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Machine string   `json:"machine"`
	Values  []string `json:"values,omitempty"`
}

//go:embed person.sh
var personScript string

// habit is what a person does: how values for it are drawn (nil is not now), and what is there then. Where Volatile is set it is gone
// after a reboot.
type habit struct {
	kind     string
	weight   int
	volatile bool
	// far says that it is on the first further hypervisor, and not on a service node.
	far    bool
	draw   func(w *world, machine string) []string
	claims func(b belonging) []claim
}

var habits = []habit{
	{kind: "hosts", weight: 3, draw: func(w *world, _ string) []string { return []string{strconv.Itoa(w.persons % 250)} },
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " hosts 10.8.0." + b.Values[0], []string{b.Name + ".example"}}}
		}},
	{kind: "file", weight: 1, draw: func(*world, string) []string { return []string{} },
		claims: func(b belonging) []claim {
			sum := sha256.Sum256([]byte(b.Name + "\n"))
			return []claim{{b.Machine + " file /srv/" + b.Name, []string{"640 nobody:nogroup " + hex.EncodeToString(sum[:])[:12]}}}
		}},
	{kind: "networkd", weight: 2, draw: drawAddress,
		claims: func(b belonging) []claim {
			return []claim{{Thing: b.Machine + " file /etc/systemd/network/10-eth1.network.d/" + b.Name + ".conf"}, {"lan address " + b.Values[0], []string{b.Machine}}}
		}},
	{kind: "address", weight: 2, volatile: true, draw: drawAddress,
		claims: func(b belonging) []claim { return []claim{{"lan address " + b.Values[0], []string{b.Machine}}} }},
	{kind: "rules", weight: 3, volatile: true, draw: func(w *world, machine string) []string {
		return []string{strconv.Itoa(30000 + w.rng.IntN(4)), addressOf(1 - slices.Index(machines, machine))}
	},
		claims: func(b belonging) []claim {
			return []claim{{Thing: b.Machine + " table ip " + b.Name},
				{b.Machine + " open " + lanOf(b.Machine) + ":" + b.Values[0], []string{"person-" + machines[1-slices.Index(machines, b.Machine)]}}}
		}},
	{kind: "haproxy", weight: 2, draw: func(w *world, _ string) []string { return []string{strconv.Itoa(15000 + w.rng.IntN(5))} },
		claims: func(b belonging) []claim {
			return []claim{{Thing: b.Machine + " haproxy " + b.Name}, {b.Machine + " http " + b.Values[0], []string{b.Name}}}
		}},
	{kind: "zone", weight: 2, draw: func(w *world, machine string) []string {
		if machine == machines[1] { // its name server has views, beside which BIND has no zones
			return nil
		}
		return []string{fmt.Sprintf("10.250.0.%d", w.persons%250)}
	},
		claims: func(b belonging) []claim {
			return []claim{{Thing: b.Machine + " zones " + b.Name}, {Thing: b.Machine + " file /etc/bind/" + b.Name + ".zone"},
				{b.Machine + " dns x." + b.Name + ".example", []string{b.Values[0]}}}
		}},
	{kind: "instance", weight: 2, draw: func(w *world, machine string) []string {
		return append(drawAddress(w, machine), strconv.Itoa(100+w.persons%150))
	},
		claims: func(b belonging) []claim {
			return []claim{{Thing: b.Machine + " keepalived " + b.Name}, {"lan address " + b.Values[0], []string{b.Machine}}}
		}},
	{kind: "route", weight: 1, volatile: true, draw: func(w *world, _ string) []string { return []string{fmt.Sprintf("10.78.%d.0/24", w.persons%250)} },
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " route " + b.Values[0], []string{"10.0.100.253"}}}
		}},
	{kind: "volume", weight: 4, draw: func(w *world, _ string) []string {
		return []string{fmt.Sprintf("s%d", w.rng.IntN(2)), volumeNames[w.rng.IntN(len(volumeNames))]}
	},
		claims: func(b belonging) []claim {
			return []claim{{"hypervisor volume " + b.Values[0] + "/" + b.Values[1], []string{"5242880"}}}
		}},
	{kind: "domain", weight: 2, draw: func(w *world, _ string) []string {
		return []string{fmt.Sprintf("n%d", w.rng.IntN(3)), strconv.Itoa(60 + w.persons%90)}
	},
		claims: func(b belonging) []claim {
			return []claim{{"hypervisor domain " + b.Name, []string{"32"}}, {"hypervisor reservation " + b.Values[0] + " " + macOf(b), []string{"10.63." + b.Values[0][1:] + "." + b.Values[1]}}}
		}},
	{kind: "export", weight: 2, draw: func(w *world, _ string) []string {
		return []string{exportPaths[w.rng.IntN(2)], fmt.Sprintf("10.8.0.%d", w.persons%250)}
	},
		claims: func(b belonging) []claim {
			return []claim{{Thing: b.Machine + " file /etc/exports.d/" + b.Name + ".exports"}, {b.Machine + " export " + b.Values[0], []string{b.Values[1] + "(ro)"}}}
		}},
	{kind: "resolver", weight: 1, draw: func(*world, string) []string { return []string{} },
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " asks " + b.Name, []string{"search " + b.Name + ".example"}}}
		}},
	{kind: "bridge", weight: 1, volatile: true, draw: func(w *world, _ string) []string { return []string{fmt.Sprintf("br%d", w.rng.IntN(2))} },
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " link " + b.Values[0], []string{"bridge of"}}}
		}},
	{kind: "spare", weight: 1, volatile: true, draw: func(w *world, _ string) []string { return []string{fmt.Sprintf("10.18.0.%d/24", 1+w.persons%250)} },
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " on spare0 " + b.Values[0], []string{"there"}}, {Thing: "name " + b.Machine + " interface spare0"}}
		}},
	{kind: "segment", weight: 2, far: true, draw: func(w *world, _ string) []string { return []string{fmt.Sprintf("n%d", w.rng.IntN(3))} },
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " segment " + b.Values[0], []string{"without addresses"}}, {b.Machine + " port " + b.Name, []string{b.Values[0]}}}
		}},
	{kind: "router", weight: 1, far: true, draw: func(w *world, _ string) []string {
		return []string{fmt.Sprintf("r%d", w.rng.IntN(2)), fmt.Sprintf("10.8.0.%d", w.persons%250)}
	},
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " router " + b.Values[0], []string{b.Values[1] + "/16"}}}
		}},
	{kind: "balancer", weight: 1, far: true, draw: func(w *world, _ string) []string {
		return []string{fmt.Sprintf("b%d", w.rng.IntN(2)), fmt.Sprintf("10.8.0.%d:80=10.8.0.1:80", w.persons%250)}
	},
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " balancer " + b.Values[0], []string{b.Values[1]}}}
		}},
	{kind: "port", weight: 2, far: true, draw: drawTheirs("MACHINE segment "),
		claims: func(b belonging) []claim { return []claim{{b.Machine + " port " + b.Name, []string{b.Values[0]}}} }},
	{kind: "listener", weight: 1, far: true, volatile: true, draw: func(w *world, _ string) []string { return []string{strconv.Itoa(8400 + w.rng.IntN(3))} },
		claims: func(b belonging) []claim {
			return []claim{{b.Machine + " listener " + b.Name, []string{"active"}}, {b.Machine + " redfish " + b.Values[0], []string{""}}}
		}},
	{kind: "unrow", weight: 1, far: true, draw: drawTheirs("MACHINE segment ")},
	{kind: "stop", weight: 2, draw: func(w *world, _ string) []string { return []string{stoppable[w.rng.IntN(len(stoppable))]} }},
	{kind: "forget", weight: 2, draw: func(*world, string) []string { return []string{} }},
	{kind: "undefine", weight: 1, draw: drawTheirs("hypervisor domain m")},
	{kind: "unwrite", weight: 1, draw: drawTheirs("MACHINE hosts 10.9.")},
	{kind: "unroute", weight: 1, draw: drawTheirs("MACHINE route 10.77.")},
	{kind: "unlink", weight: 1, draw: drawTheirs("MACHINE link br")},
	{kind: "delete-volume", weight: 1, draw: drawTheirs("hypervisor volume s")},
}

// stoppable are the units that a person stops.
var stoppable = []string{"named", "haproxy", "nfs-server"}

func macOf(b belonging) string {
	n, _ := strconv.Atoi(b.Values[1])
	return fmt.Sprintf("52:54:00:64:00:%02x", n)
}

// drawAddress draws an address of the LAN among those that states want too.
func drawAddress(w *world, _ string) []string {
	if w.rng.IntN(2) == 0 {
		return []string{drawOnLAN(w.rng)}
	}
	return []string{fmt.Sprintf("10.19.41.%d", 200+w.rng.IntN(10*len(w.states)))}
}

// drawTheirs draws a thing that a state has, by the beginning of its name.
func drawTheirs(prefix string) func(*world, string) []string {
	return func(w *world, machine string) []string {
		var all []string
		for thing, f := range w.model.facts {
			if strings.HasPrefix(thing, strings.ReplaceAll(prefix, "MACHINE", machine)) && f.Owner != person && f.Owner != anyone && len(f.Values) <= 1 {
				all = append(all, thing)
			}
		}
		if len(all) == 0 {
			return nil
		}
		slices.Sort(all)
		thing := all[w.rng.IntN(len(all))]
		return []string{thing[strings.LastIndex(thing, " ")+1:]}
	}
}

func habitOf(kind string) habit {
	return habits[slices.IndexFunc(habits, func(h habit) bool { return h.kind == kind })]
}

func (b belonging) claims() []claim {
	if h := habitOf(b.Kind); h.claims != nil {
		return h.claims(b)
	}
	return nil
}

// errSenseless is what makes no sense now: nothing was done.
var errSenseless = fmt.Errorf("it makes no sense now")

// do adds or removes what is a person's.
func (b belonging) do(ctx context.Context, verb string) error {
	switch b.Kind {
	case "volume", "domain", "undefine", "delete-volume":
		return b.doOnHypervisor(ctx, verb)
	}
	argv := append([]string{"sh", "-c", personScript, "person.sh", verb, b.Kind, b.Name}, b.Values...)
	return sensible(acctest.Try(ctx, b.Machine, argv...))
}

func sensible(out string, err error) error {
	var exit *exec.ExitError
	if asExit(err, &exit) && exit.ExitCode() == 9 {
		return errSenseless
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

//go:embed hypervisor.sh
var hypervisorScript string

func (b belonging) doOnHypervisor(ctx context.Context, verb string) error {
	argv := append([]string{"bash", "-c", hypervisorScript, "hypervisor.sh", verb, b.Kind, b.Name}, b.Values...)
	if b.Kind == "domain" {
		argv = append(argv, macOf(b))
	}
	return sensible(acctest.Try(ctx, "hypervisor", argv...))
}

// done notes in the model what a person did.
func (w *world) done(b belonging, verb string) []violation {
	if verb == "remove" {
		for _, c := range b.claims() {
			delete(w.model.facts, c.Thing)
		}
		if b.Kind == "stop" {
			delete(w.model.stopped, b.Machine+" "+b.Values[0])
		}
		w.belongings = slices.DeleteFunc(w.belongings, func(each belonging) bool { return each.Name == b.Name })
		return nil
	}
	mayLack := func(matches func(thing string) bool) {
		w.model.allowLacking(slices.DeleteFunc(slices.Collect(maps.Keys(w.model.facts)), func(thing string) bool { return !matches(thing) }))
	}
	switch b.Kind {
	case "stop":
		w.model.stopped[b.Machine+" "+b.Values[0]] = true
	case "forget":
		mayLack(func(thing string) bool {
			return strings.HasPrefix(thing, "lan drawn ") || strings.HasPrefix(thing, b.Machine+" pool ")
		})
		return nil
	case "undefine", "delete-volume":
		mayLack(func(thing string) bool {
			return strings.HasPrefix(thing, "hypervisor") && strings.HasSuffix(thing, " "+b.Values[0])
		})
		return nil
	case "unwrite", "unroute", "unlink", "unrow":
		mayLack(func(thing string) bool {
			return strings.HasPrefix(thing, b.Machine) && (strings.HasSuffix(thing, " "+b.Values[0]) || strings.Contains(thing, " on "+b.Values[0]+" "))
		})
		return nil
	}
	w.belongings = append(w.belongings, b)
	return w.model.give(person, b.Name, b.claims())
}
