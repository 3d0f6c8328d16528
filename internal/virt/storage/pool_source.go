package storage

import (
	"cmp"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Kinds of pools: a directory, one of another machine, a volume group of LVM, a target of iSCSI, a pool of Ceph's and one of ZFS. What the last
// five are made from is there before, and stays: libvirt is never asked to build it or to delete it, but for the directory that one of another
// machine is mounted at.
const (
	PoolType = "dir"
	NetFS    = "netfs"
	Logical  = "logical"
	ISCSI    = "iscsi"
	RBD      = "rbd"
	ZFS      = "zfs"
)

// PoolTypes are the kinds of pools that are managed.
var PoolTypes = []string{PoolType, NetFS, Logical, ISCSI, RBD, ZFS}

// PoolSource is what a pool is made from, with the names of its attributes.
type PoolSource struct {
	// Hosts serve it: addresses or names, with ":port" where it is not the usual one.
	Hosts []string `attr:"hosts"`
	// Path is what a host exports, Name a volume group or a pool, and Target the name of a target (IQN).
	Path   string `attr:"path"`
	Name   string `attr:"name"`
	Target string `attr:"target"`
	// Format is how a directory of another machine is mounted.
	Format string `attr:"format"`
	// Username and Secret authenticate to Ceph or iSCSI: a user, and the UUID of a secret that libvirt has.
	Username string `attr:"username"`
	Secret   string `attr:"secret_uuid"`
}

// DefaultPath is where a pool's volumes are, where that follows from its kind and its source; "" where it is to be said, or nowhere.
func (p Pool) DefaultPath() string {
	switch {
	case p.Source == nil:
	case p.Type == Logical:
		return "/dev/" + p.Source.Name
	case p.Type == ZFS:
		return "/dev/zvol/" + p.Source.Name
	case p.Type == ISCSI:
		return "/dev/disk/by-path"
	}
	return ""
}

// hasDirectory says whether a pool of a kind is in a directory, which is made where it is missing. Of every other kind libvirt's "build" would
// format what the pool is made from, and its "delete" would destroy that.
func hasDirectory(kind string) bool { return kind == PoolType || kind == NetFS }

// MakesDisks says whether libvirt makes volumes in a pool of a kind that a machine can have as disks: files and block devices. The units of a target are
// there or not, and Ceph's images have no path on the hypervisor.
func MakesDisks(kind string) bool {
	return !slices.Contains([]string{ISCSI, RBD, "iscsi-direct", "scsi", "mpath", "gluster", "sheepdog", "vstorage"}, kind)
}

// NeedsPath says whether the path of a pool has to be said: the directory that it is, or where it is mounted.
func (p Pool) NeedsPath() bool { return hasDirectory(p.Type) }

// iscsiPort is what libvirt says of a target whose port nobody said.
const iscsiPort = "3260"

// needs are the attributes of a source that a kind of pool has to have, and those that it may have.
var needs = map[string]struct{ must, may []string }{
	PoolType: {},
	NetFS:    {must: []string{"hosts", "path"}, may: []string{"format"}},
	Logical:  {must: []string{"name"}},
	ISCSI:    {must: []string{"hosts", "target"}, may: []string{"username", "secret_uuid"}},
	RBD:      {must: []string{"hosts", "name"}, may: []string{"username", "secret_uuid"}},
	ZFS:      {must: []string{"name"}},
}

// Validate finds what no pool of its kind is made from.
func (p Pool) Validate() []service.Problem {
	var problems []service.Problem
	add := func(at []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(at, summary, format, args...))
	}
	need, known := needs[p.Type]
	if !known {
		return nil // the schema says so
	}
	source := cmp.Or(p.Source, &PoolSource{})
	for name, value := range map[string]bool{
		"hosts": len(source.Hosts) > 0, "path": source.Path != "", "name": source.Name != "", "target": source.Target != "", "format": source.Format != "",
		"username": source.Username != "", "secret_uuid": source.Secret != "",
	} {
		switch must := slices.Contains(need.must, name); {
		case must && !value:
			add([]any{"source"}, "Source of a pool is not said", "a pool of type %q is made from %s: write them in `source`", p.Type, strings.Join(need.must, " and "))
		case value && !must && !slices.Contains(need.may, name):
			add([]any{"source", name}, "Not for this type of pool", "a pool of type %q has no %s: leave it out", p.Type, name)
		}
	}
	if len(source.Hosts) > 1 && p.Type != RBD {
		add([]any{"source", "hosts"}, "Several hosts", "a pool of type %q is of one host, and not of %d", p.Type, len(source.Hosts))
	}
	for n, host := range source.Hosts {
		switch _, port, err := splitHost(host); {
		case err != nil:
			add([]any{"source", "hosts", n}, "Invalid host", "%s", err)
		case p.Type == ISCSI && port == iscsiPort:
			add([]any{"source", "hosts"}, "The usual port", "libvirt asks at %s where no port is said: leave it out", iscsiPort)
		}
	}
	if (source.Username == "") != (source.Secret == "") {
		add([]any{"source", "username"}, "User without a secret, or a secret without a user", "write username and secret_uuid, or neither")
	}
	switch path := p.DefaultPath(); {
	case p.Path != "" && p.Type == RBD:
		add([]any{"path"}, "Not for this type of pool", "volumes of Ceph have no path on the hypervisor: leave path out")
	case p.Path != "" && path != "" && p.Type != ISCSI && !SamePath(p.Path, path):
		add([]any{"path"}, "Another path than libvirt's", "the volumes of this pool are in %s: leave path out", path)
	}
	slices.SortFunc(problems, func(a, b service.Problem) int {
		return cmp.Compare(fmt.Sprint(a.Path, a.Summary), fmt.Sprint(b.Path, b.Summary))
	})
	return slices.CompactFunc(problems, func(a, b service.Problem) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
}

// newDefinition returns what libvirt is told of a new pool.
func (p Pool) newDefinition() *libvirtxml.StoragePool {
	d := &libvirtxml.StoragePool{Type: p.Type, Name: p.Name}
	if p.Path != "" {
		d.Target = &libvirtxml.StoragePoolTarget{Path: path.Clean(p.Path)}
	}
	if p.Source == nil {
		return d
	}
	s := &libvirtxml.StoragePoolSource{Name: p.Source.Name}
	for _, host := range p.Source.Hosts {
		name, port, _ := splitHost(host) // Validate refuses what is none
		s.Host = append(s.Host, libvirtxml.StoragePoolSourceHost{Name: name, Port: port})
	}
	if p.Source.Path != "" {
		s.Dir = &libvirtxml.StoragePoolSourceDir{Path: p.Source.Path}
	}
	if p.Source.Target != "" {
		s.Device = []libvirtxml.StoragePoolSourceDevice{{Path: p.Source.Target}}
	}
	switch {
	case p.Type == Logical:
		s.Format = &libvirtxml.StoragePoolSourceFormat{Type: "lvm2"}
	case p.Source.Format != "":
		s.Format = &libvirtxml.StoragePoolSourceFormat{Type: p.Source.Format}
	}
	if p.Source.Username != "" {
		kind := "ceph"
		if p.Type == ISCSI {
			kind = "chap"
		}
		s.Auth = &libvirtxml.StoragePoolSourceAuth{Type: kind, Username: p.Source.Username, Secret: &libvirtxml.StoragePoolSourceAuthSecret{UUID: p.Source.Secret}}
	}
	d.Source = s
	return d
}

// readSource is the inverse of newDefinition; nil for a directory, which is made from nothing.
func readSource(d *libvirtxml.StoragePool) *PoolSource {
	if d.Source == nil || d.Type == PoolType {
		return nil
	}
	s := &PoolSource{Name: d.Source.Name}
	for _, h := range d.Source.Host {
		switch {
		case h.Port != "" && (d.Type != ISCSI || h.Port != iscsiPort):
			s.Hosts = append(s.Hosts, net.JoinHostPort(h.Name, h.Port))
		default:
			s.Hosts = append(s.Hosts, h.Name)
		}
	}
	if d.Source.Dir != nil {
		s.Path = d.Source.Dir.Path
	}
	if len(d.Source.Device) > 0 && d.Type == ISCSI {
		s.Target = d.Source.Device[0].Path
	}
	if f := d.Source.Format; f != nil && d.Type == NetFS && f.Type != "auto" { // what libvirt does where nobody says
		s.Format = f.Type
	}
	if a := d.Source.Auth; a != nil {
		s.Username = a.Username
		if a.Secret != nil {
			s.Secret = a.Secret.UUID
		}
	}
	if d.Type == Logical {
		s.Name = cmp.Or(s.Name, d.Name) // libvirt takes the pool's for that of the group
	}
	return s
}

// isMadeFrom says whether two pools are made from one thing, and in one directory where they have one.
func isMadeFrom(a, b Pool) bool {
	if a.Type != b.Type || !excludeEachOther(a, b) {
		return false
	}
	return a.Source == nil || b.Source == nil || a.Source.Path == b.Source.Path && sameHosts(a.Source.Hosts, b.Source.Hosts)
}

// excludeEachOther says whether there can be only one of two pools, as they are in one directory or made from one source.
func excludeEachOther(a, b Pool) bool {
	if a.Path != "" && b.Path != "" && a.Type != ISCSI && b.Type != ISCSI {
		return SamePath(a.Path, b.Path)
	}
	if a.Type != b.Type || a.Source == nil || b.Source == nil {
		return false
	}
	return a.Source.Name == b.Source.Name && a.Source.Target == b.Source.Target && sameHosts(a.Source.Hosts, b.Source.Hosts)
}
