package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// seed is what a NoCloud disk says: its files by name, and the machine's name out of meta-data.
type seed struct {
	Hostname string
	Files    map[string]string
}

// readSeed looks for a NoCloud disk (ISO 9660 or FAT with a meta-data file) among the machine's disks.
func readSeed() seed {
	found := seed{Files: map[string]string{}}
	disks, _ := filepath.Glob("/sys/class/block/*")
	for _, disk := range disks {
		device := "/dev/" + filepath.Base(disk)
		if kind := fileSystem(device); kind != "" && mountSeed(device, kind, &found) {
			return found
		}
	}
	return found
}

// fileSystem tells by the superblocks whether a device holds ISO 9660 or FAT; mounting to find out is slow and noisy.
func fileSystem(device string) string {
	file, err := os.Open(device)
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, 0x8006)
	n, _ := io.ReadFull(file, head)
	switch {
	case n == len(head) && string(head[0x8001:]) == "CD001":
		return "iso9660"
	case n > 0x5a && (string(head[0x36:0x39]) == "FAT" || string(head[0x52:0x57]) == "FAT32"):
		return "vfat"
	}
	return ""
}

func mountSeed(device, kind string, found *seed) bool {
	const target = "/run/seed"
	if os.MkdirAll(target, 0o755) != nil || unix.Mount(device, target, kind, unix.MS_RDONLY, "") != nil {
		return false
	}
	defer func() { _ = unix.Unmount(target, 0) }()
	for _, name := range []string{"meta-data", "user-data", "network-config", "vendor-data"} {
		if content, err := os.ReadFile(filepath.Join(target, name)); err == nil {
			found.Files[name] = string(content)
		}
	}
	for line := range strings.Lines(found.Files["meta-data"]) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.Trim(strings.TrimSpace(key), `"`) == "local-hostname" {
			found.Hostname = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return len(found.Files) > 0
}
