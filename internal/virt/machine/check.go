package machine

import (
	"context"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// Checker finds what can be known about a planned machine only by asking its hypervisor. What it finds of a subject is found by a checker of
// that, which is a Checker: of the hardware, devices of the hypervisor, storage, networks, addresses on these, bridges, ports of OVN, turns,
// and the move to another hypervisor.
type Checker struct {
	Client *hypervisor.Client
	Cache  *HypervisorCache
	// Want is planned; Was is what is there, be it replaced, and empty where there is nothing.
	Want, Was *Spec
	// Fresh is set for a machine that is to be made.
	Fresh bool
	// From is the hypervisor that the machine comes from, as it is; nil for one that stays where it is. Was is then what it is on arrival.
	From *hypervisor.Client
	// Plan is what the plan holds, and Hypervisors are all that it knows, by their names.
	Plan        plan.View
	Hypervisors map[string]*hypervisor.Client
	// Northbounds finds the databases of the networks of OVN.
	Northbounds Northbounds
	// Owner is the mark of the planned machine: machines with a mark of the same workspace may give up addresses in the same plan.
	Owner owner.Mark
	// Run is the one that plans it.
	Run      *owner.Run
	problems []service.Problem
	// namesake is the machine that has the name already. Its addresses are no problems of their own: they follow from the name.
	namesake *Machine
}

func (k *Checker) addProblem(path []any, summary, format string, args ...any) {
	k.problems = append(k.problems, service.Problemf(path, summary, format, args...))
}

// isNewHere says whether the machine is not on the hypervisor yet: it is made there, or comes from another one.
func (k *Checker) isNewHere() bool { return k.Fresh || k.From != nil }

// Check returns what is wrong. The error is a hypervisor that does not answer.
func (k *Checker) Check(ctx context.Context) ([]service.Problem, error) {
	hardware, devices, disks, networks, bridges := hardwareChecker{k}, deviceChecker{k}, storageChecker{k}, networkChecker{k}, bridgeChecker{k}
	for _, check := range []func(context.Context) error{
		k.checkName, hardware.checkHardware, hardware.checkPinning, hardware.checkHugepages, hardware.checkFirmware, hardware.checkTPM, hardware.checkConsole,
		devices.checkFilesystems, devices.checkHostDevices, disks.checkStorage, disks.checkCDROM, networks.checkNetworks, portChecker{k}.checkPorts, bridges.checkBridges,
		bridges.checkDirect, networks.checkMACs, networks.checkRemotes, turnChecker{k}.checkTurn, disks.checkLayers, moveChecker{k}.checkMove,
	} {
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	return k.problems, nil
}

// CheckPlan returns what is wrong with the addresses on networks that the plan makes or changes. It asks nobody. A network that is
// planned after the machine finds the machine's addresses in its ranges.
func (k *Checker) CheckPlan() []service.Problem {
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		switch here := pathTo("network_interfaces", n); {
		case i.Network == "":
		case network.Changes(k.Plan, k.Want.Hypervisor, i.Network):
			addressChecker{k}.checkPlannedAddresses(i.Network, i, here)
		}
	}
	return k.problems
}

// CheckLeft returns what is wrong with the addresses of a node that stays as it is, on networks that the plan moves to other
// subnets: the network would leave it behind. It warns of rules that name no machine, too.
func (k *Checker) CheckLeft(ctx context.Context) ([]service.Problem, error) {
	changes := false
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		if i.Network == "" {
			continue
		}
		name, err := k.Cache.NetworkName(ctx, k.Client, i.Network)
		if err != nil || !network.Changes(k.Plan, k.Want.Hypervisor, name) {
			continue
		}
		changes = true
		networkChecker{k}.checkStaysInside(ctx, name, i, pathTo("network_interfaces", n))
	}
	if changes {
		all, err := k.Client.PlanNetworks(ctx)
		if err != nil {
			return k.problems, err
		}
		networkChecker{k}.checkSuccessions(all)
	}
	return k.problems, networkChecker{k}.checkRemotes(ctx)
}

// checkName finds a domain that somebody else has called so, and where a machine moves to, one of its UUID that it did not leave there.
func (k *Checker) checkName(ctx context.Context) error {
	if k.From == nil && (!k.Fresh || k.Was.Name == k.Want.Name && k.Was.Hypervisor == k.Want.Hypervisor) {
		return nil
	}
	all, err := k.Cache.listDomains(ctx, k.Client)
	if err != nil {
		return err
	}
	for _, d := range all {
		m := Read(d.Config)
		if k.From != nil && d.UUID == k.Was.UUID && !m.Mark.isMoving() {
			k.addProblem(pathTo("hypervisor"), "Domain of its UUID there", "%v", newStrangerError(d, plan.NameHypervisor(k.Want.Hypervisor)))
		}
		if d.Name == k.Want.Name && k.isStranger(d, m) {
			k.namesake = m
			k.addProblem(pathTo("name"), "Name taken", "the hypervisor has a domain %q already: choose another name, or take it over with `terraform import ADDRESS %s`", d.Name, d.UUID)
		}
	}
	return nil
}

// isStranger says whether a domain, with what its XML says, is neither the machine, nor a node in state, nor one that an interrupted create left behind,
// which the next one removes. One that was finished in this workspace may be in state: resources are planned beside each other, and what those of a
// state want of the same is a matter of the plan.
func (k *Checker) isStranger(d *hypervisor.Domain, m *Machine) bool {
	mark := m.Mark.ownerMark()
	return d.UUID != k.Was.UUID && !k.Cache.isNodeInState(d.UUID) && !k.Run.LeftBehind(mark) && !k.Run.MayBeInState(mark)
}

// askCapabilities asks what the hypervisor offers to such a machine; nil where that is not known yet.
func (k *Checker) askCapabilities(ctx context.Context) (*libvirtxml.DomainCaps, error) {
	if k.Want.Type == "" || k.Want.Chipset == "" {
		return nil, nil
	}
	return k.Cache.askCapabilities(ctx, k.Client, k.Want.Type, k.Want.Chipset)
}
