package main

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// state is what a test may want to know about the machine from its inside.
type state struct {
	Hostname   string            `json:"hostname"`
	Uptime     string            `json:"uptime"`
	Cmdline    string            `json:"cmdline"`
	CPUsOnline string            `json:"cpus_online"` // the kernel's list, such as 0-1
	CPUs       int               `json:"cpus"`        // how many that are
	MemoryKiB  int               `json:"memory_kib"`  // MemTotal: less than given, the kernel keeps some
	Interfaces []card            `json:"interfaces"`
	Disks      []disk            `json:"disks"`
	FwCfg      []string          `json:"fw_cfg"`
	Ports      []string          `json:"virtio_ports"`
	Resolv     string            `json:"resolv_conf"`
	Routes     string            `json:"routes"` // /proc/net/route as it is
	Seed       map[string]string `json:"seed"`   // the files of the NoCloud disk
	Product    map[string]string `json:"smbios"`
	UEFI       bool              `json:"uefi"`
	TPM        bool              `json:"tpm"`
	Devices    []string          `json:"virtio_devices"` // driver names in use
}

type card struct {
	Name      string   `json:"name"`
	MAC       string   `json:"mac"`
	MTU       int      `json:"mtu"`
	Up        bool     `json:"up"`
	Carrier   bool     `json:"carrier"`
	Addresses []string `json:"addresses"`
}

type disk struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	Serial   string `json:"serial"`
	ReadOnly bool   `json:"read_only"`
}

func readState(seed seed) state {
	name, _ := os.Hostname()
	online := readLine("/sys/devices/system/cpu/online")
	return state{
		Hostname: name, Uptime: uptime(), Cmdline: readLine("/proc/cmdline"),
		CPUsOnline: online, CPUs: countCPUs(online), MemoryKiB: memoryKiB(),
		Interfaces: readCards(), Disks: readDisks(), FwCfg: readFwCfg(),
		Ports: entries("/dev/virtio-ports"), Resolv: readFile("/etc/resolv.conf"), Routes: readFile("/proc/net/route"),
		Seed: seed.Files, Product: readSMBIOS(), UEFI: exists("/sys/firmware/efi"), TPM: exists("/sys/class/tpm/tpm0"),
		Devices: readVirtio(),
	}
}

func readCards() []card {
	cards := []card{}
	interfaces, _ := net.Interfaces()
	for _, found := range interfaces {
		if found.Flags&net.FlagLoopback != 0 {
			continue
		}
		one := card{
			Name: found.Name, MAC: found.HardwareAddr.String(), MTU: found.MTU, Up: found.Flags&net.FlagUp != 0,
			Carrier: readLine("/sys/class/net/"+found.Name+"/carrier") == "1", Addresses: []string{},
		}
		addresses, _ := found.Addrs()
		for _, address := range addresses {
			one.Addresses = append(one.Addresses, address.String())
		}
		cards = append(cards, one)
	}
	return cards
}

func readDisks() []disk {
	disks := []disk{}
	for _, name := range entries("/sys/block") {
		sectors, _ := strconv.ParseInt(readLine("/sys/block/"+name+"/size"), 10, 64)
		disks = append(disks, disk{
			Name: name, Bytes: sectors * 512, Serial: readLine("/sys/block/" + name + "/serial"),
			ReadOnly: readLine("/sys/block/"+name+"/ro") == "1",
		})
	}
	return disks
}

func readFwCfg() []string {
	names := []string{}
	_ = filepath.WalkDir(fwCfg, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&fs.ModeSymlink != 0 {
			names = append(names, strings.TrimPrefix(path, fwCfg+"/"))
		}
		return nil
	})
	return names
}

func readSMBIOS() map[string]string {
	facts := map[string]string{}
	for _, name := range []string{"sys_vendor", "product_name", "product_serial", "product_uuid", "chassis_asset_tag"} {
		if value := readLine("/sys/class/dmi/id/" + name); value != "" {
			facts[name] = value
		}
	}
	return facts
}

func readVirtio() []string {
	drivers := []string{}
	for _, name := range entries("/sys/bus/virtio/devices") {
		if target, err := os.Readlink("/sys/bus/virtio/devices/" + name + "/driver"); err == nil {
			drivers = append(drivers, filepath.Base(target))
		}
	}
	return drivers
}

func memoryKiB() int {
	for line := range strings.Lines(readFile("/proc/meminfo")) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			value, _ := strconv.Atoi(fields[1])
			return value
		}
	}
	return 0
}

// countCPUs counts a kernel list such as 0-1,3.
func countCPUs(list string) int {
	count := 0
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil {
			return runtime.NumCPU()
		}
		count += to - from + 1
	}
	return count
}

func entries(directory string) []string {
	names := []string{}
	found, _ := os.ReadDir(directory)
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

func readFile(path string) string {
	content, _ := os.ReadFile(path)
	return string(content)
}

func readLine(path string) string { return strings.TrimSpace(readFile(path)) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
