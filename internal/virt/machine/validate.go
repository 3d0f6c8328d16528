package machine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/cloudinit"
)

// Validate says what is wrong with a machine without asking any hypervisor. What is unknown is not looked at.
func (s *Spec) Validate() []service.Problem {
	all := s.validateUses()
	problem := func(path []any, summary, format string, args ...any) {
		all = append(all, service.Problemf(path, summary, format, args...))
	}
	if s.MaxMemoryMiB != 0 && s.MemoryMiB > s.MaxMemoryMiB {
		problem(pathTo("max_memory_mib"), "Maximum below the memory", "write at least memory_mib, which is %d", s.MemoryMiB)
	}
	if s.MaxVCPUs != 0 && s.VCPUs > s.MaxVCPUs {
		problem(pathTo("max_vcpus"), "Maximum below the number of vCPUs", "write at least vcpus, which is %d", s.VCPUs)
	}
	if s.Firmware == "uefi-secure" && s.Chipset != "" && !SameChipset("q35", s.Chipset) {
		problem(pathTo("machine"), "Secure Boot needs a q35 machine", "write machine = \"q35\", or firmware = \"uefi\"")
	}
	if s.WaitFor == "guest_agent" && !s.GuestAgent && !s.Unknown.Has("guest_agent") {
		problem(pathTo("wait_for"), "No guest agent to wait for", "set guest_agent = true, or wait for \"lease\"")
	}
	if s.CPU.Mode == "custom" && s.CPU.Model == "" && !s.Unknown.Has("cpu", "model") {
		problem(pathTo("cpu", "model"), "Missing processor model", "mode \"custom\" needs a model such as \"EPYC\"")
	}
	if s.CPU.Model != "" && s.CPU.Mode != "" && s.CPU.Mode != "custom" {
		problem(pathTo("cpu", "model"), "Model without mode \"custom\"", "mode %q chooses the model itself: leave out one of the two", s.CPU.Mode)
	}
	if s.CPU.Nested != nil && *s.CPU.Nested && s.Type == "qemu" {
		problem(pathTo("cpu", "nested"), "Nested virtualisation needs type \"kvm\"", "an emulated processor has none to pass on")
	}
	if s.Console.Type == "none" && s.Console.LogFile != "" {
		problem(pathTo("console", "log_file"), "Log of no console", "type \"none\" is no console, so nothing would be logged: leave out log_file, or write type = \"pty\"")
	}
	if c := s.Console; c.Type == "tcp" && c.Port == 0 && !s.Unknown.Has("console", "port") {
		problem(pathTo("console", "port"), "Missing port", "type \"tcp\" listens at a port of the hypervisor: write one")
	}
	if c := s.Console; c.Type != "tcp" && c.Type != "" && (c.Address != "" || c.Port != 0 || c.Protocol != "") {
		problem(pathTo("console", "type"), "Listener of no TCP console", "address, port and protocol are those of a console of type \"tcp\", not %q: leave them out, or write type = \"tcp\"", c.Type)
	}
	if t := s.TPM; t.Model == none && t.Version != DefaultTPM.Version && t.Version != "" {
		problem(pathTo("tpm", "version"), "Version of no TPM", "model \"none\" is no TPM: leave out version, or write another model")
	}
	if t := s.TPM; t.Model == "tpm-crb" && t.Version == "1.2" {
		problem(pathTo("tpm", "version"), "TPM 1.2 by another interface", "\"tpm-crb\" is an interface of TPM 2.0: write version = \"2.0\", or model = \"tpm-tis\"")
	}
	if w := s.Watchdog; w.Model == none && w.Action != DefaultWatchdog.Action && w.Action != "" {
		problem(pathTo("watchdog", "action"), "Action of no watchdog", "model \"none\" is no watchdog: leave out action, or write another model")
	}
	if s.Boot.Kernel == "" && !s.Unknown.Has("boot", "kernel") && (s.Boot.Initrd != "" || s.Boot.Cmdline != "") {
		problem(pathTo("boot", "kernel"), "Missing kernel", "initrd and cmdline go with a kernel that is booted directly")
	}
	if c := s.CDROM; c != nil && c.Image != "" && c.URL != "" {
		problem(pathTo("cdrom", "url"), "Two discs in one drive", "image is one, and url another: write only one of them")
	}
	all = append(all, s.validateLayout()...)
	all = append(all, s.validateDisks()...)
	all = append(all, s.validateFilesystems()...)
	all = append(all, s.validateHostDevices()...)
	all = append(all, s.validatePatch()...)
	all = append(all, s.validateInterfaces()...)
	all = append(all, s.validateRollout()...)
	return append(all, s.validateFirstBoot()...)
}

func (s *Spec) validateDisks() []service.Problem {
	var all []service.Problem
	if r := s.Root; r != nil && r.Image == "" && r.SizeGiB == 0 && r.Volume == "" && !s.Unknown.Has("root_disk", "volume") && !s.Unknown.Has("root_disk", "image") && !s.Unknown.Has("root_disk", "size_gib") {
		all = append(all, service.Problemf(pathTo("root_disk"), "Missing size", "a root disk without an image needs a size_gib, or a volume that is there"))
	}
	if s.Root != nil {
		all = append(all, s.validateTuning(s.Root.DiskTuning, Root, s.Root.Bus)...)
		all = append(all, s.validateFormat(s.Root.Format, Root)...)
	}
	volumes := map[string]string{}
	if s.isAttached(Root) {
		volumes[s.Root.Volume] = Root
	}
	for _, key := range slices.Sorted(maps.Keys(s.Disks)) {
		d := s.Disks[key]
		here := s.diskPath(key)
		all = append(all, s.validateTuning(d.DiskTuning, key, d.Bus)...)
		all = append(all, s.validateFormat(d.Format, key)...)
		if d.Volume != "" {
			if other, twice := volumes[d.Volume]; twice {
				all = append(all, service.Problemf(pathBelow(here, "volume"), "Duplicate volume", "disk %q of this node has it already: write another one", other))
			}
			volumes[d.Volume] = key
		}
		if err := CheckKey(key); err != nil {
			here = pathTo("disks", service.Key(key))
			all = append(all, service.Problemf(here, "Invalid disk name", "%v", err))
		}
		unknown := s.Unknown.Has(pathBelow(here, "volume")...) || s.Unknown.Has(pathBelow(here, "size_gib")...)
		switch {
		case d.Volume != "" && d.SizeGiB != 0:
			all = append(all, service.Problemf(pathBelow(here, "size_gib"), "Size of an attached volume", "the volume has its own size: set it there, and leave out size_gib here"))
		case d.Volume != "" && d.Pool != "":
			all = append(all, service.Problemf(pathBelow(here, "pool"), "Pool of an attached volume", "the volume is in its own pool: leave out pool here"))
		case d.isMissing() && !unknown:
			all = append(all, service.Problemf(here, "Missing size", "write size_gib for a new volume, or volume for one that is there"))
		}
	}
	return all
}

// validateFormat finds a format of what is the machine's own.
func (s *Spec) validateFormat(format, key string) []service.Problem {
	here := s.diskPath(key)
	if format == "" || s.isAttached(key) || s.Unknown.Has(pathBelow(here, "volume")...) {
		return nil
	}
	return []service.Problem{service.Problemf(pathBelow(here, "format"), "Format of the node's own disk", "the node's own volume is qcow2, or raw in a pool without files: leave format out, or write volume, of a virtcluster_volume with format = %q", format)}
}

// ValidateChange says what is wrong with a change of a machine that is there.
func (s *Spec) ValidateChange(was *Spec) []service.Problem {
	var all []service.Problem
	shrink := func(path []any, was, is int64) {
		if is != 0 && is < was {
			all = append(all, service.Problemf(path, "A disk cannot shrink", "it has %d GiB, and what is beyond the new end would be lost: write at least %d", was, was))
		}
	}
	if s.Root != nil && was.Root != nil {
		shrink(pathTo("root_disk", "size_gib"), was.Root.SizeGiB, s.Root.SizeGiB)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Disks)) {
		d, here := s.Disks[key], pathTo("disks", service.Key(key))
		old, existed := was.Disks[key]
		if !existed || old.Volume != "" || d.Volume != "" || s.Unknown.Has(pathBelow(here, "volume")...) {
			continue
		}
		shrink(pathBelow(here, "size_gib"), old.SizeGiB, d.SizeGiB)
		if old.Pool != "" && d.Pool != "" && old.Pool != d.Pool {
			all = append(all, service.Problemf(pathBelow(here, "pool"), "A disk cannot move to another pool", "give the new disk another name, copy its content inside the guest, and remove the old one"))
		}
	}
	all = append(all, s.warnOfAddresses(was)...)
	unknown := s.Unknown.Has("ignition") || s.Unknown.Has("butane") || s.Unknown.Has("cloud_init")
	if !unknown && (!samePointed(was.CloudInit, s.CloudInit) || was.Ignition != s.Ignition || was.Butane != s.Butane) {
		all = append(all, service.Warningf(pathTo("name"), "The guest has booted before", "cloud-init and Ignition look at their configuration at the first boot of a machine only: the new one is put in place for the day the node is made anew (terraform apply -replace)"))
	}
	return all
}

// warnOfAddresses says which addresses may not be in force at once: nothing can tell a guest that runs its new one.
func (s *Spec) warnOfAddresses(was *Spec) []service.Problem {
	if len(compareFixed(was, s)) > 0 {
		return nil
	}
	var all []service.Problem
	for _, n := range findReaddressedInterfaces(was, s) {
		i := s.Interfaces[n]
		old := was.Interfaces[slices.IndexFunc(was.Interfaces, func(old InterfaceSpec) bool { return old.MAC == i.MAC })]
		attribute, what, fate := "ip", "address", fmt.Sprintf("goes on with %s", old.IP)
		if movesNetwork(old.Network, i.Network) {
			attribute, what, fate = "network", "network", "is reached by nobody"
		}
		all = append(all, service.Warningf(pathTo("network_interfaces", n, attribute), "The guest is to change its "+what+" while it runs",
			"node %q runs: its link goes down for a second, so that the guest asks DHCP again and has %s at once. A guest that does not heed its link, such as BusyBox, %s until half of its lease is over "+
				"(half an hour, unless its network has another lease_seconds): have it ask, or restart it. The attribute addresses says which one it has", s.Name, i.IP, fate))
	}
	return all
}

// validateFirstBoot says what cloud-init and Ignition would complain about when nobody is there to read it.
func (s *Spec) validateFirstBoot() []service.Problem {
	var all []service.Problem
	check := func(path []any, text string, with func(string) error, kind string) {
		if text == "" {
			return
		}
		if err := with(text); err != nil {
			all = append(all, service.Problemf(path, "Malformed "+kind, "%v", err))
		}
	}
	if c := s.CloudInit; c != nil {
		check(pathTo("cloud_init", "user_data"), c.UserData, cloudinit.CheckUserData, "user data")
		check(pathTo("cloud_init", "vendor_data"), c.VendorData, cloudinit.CheckUserData, "vendor data")
		check(pathTo("cloud_init", "meta_data"), c.MetaData, cloudinit.CheckMapping, "metadata")
		check(pathTo("cloud_init", "network_config"), c.NetworkConfig, cloudinit.CheckNetworkConfig, "network configuration")
	}
	if s.Ignition != "" && s.Butane != "" {
		all = append(all, service.Problemf(pathTo("butane"), "Two Ignition configurations", "Butane is translated to Ignition: write only one of ignition and butane"))
	}
	check(pathTo("ignition"), s.Ignition, checkIgnition, "Ignition configuration")
	check(pathTo("butane"), s.Butane, func(text string) error {
		_, err := TranslateButane(text)
		return err
	}, "Butane configuration")
	if warnings := s.listIgnitionWarnings(); warnings != "" {
		all = append(all, service.Warningf(s.diskPath(Ignition), "Doubtful first-boot configuration", "%s", warnings))
	}
	return all
}
