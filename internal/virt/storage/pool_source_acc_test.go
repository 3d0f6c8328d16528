package storage_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// What the sandbox's kernel has nothing for libvirt's test driver takes: it reads the definition as any libvirt does, and makes nothing of it.
func TestAccPoolsOfEveryTypeAreKeptByLibvirtAsTheyAreTold(t *testing.T) {
	acctest.InSandbox(t)
	c, err := hypervisor.New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	const secret = "2ec115d7-3a88-3ceb-bc12-0ac909a6fd87"
	for kind, p := range map[string]storage.Pool{
		storage.NetFS:   {Path: "/mnt/p", Source: &storage.PoolSource{Hosts: []string{"10.0.0.5"}, Path: "/srv/images", Format: "nfs"}},
		storage.Logical: {Path: "/dev/vg0", Source: &storage.PoolSource{Name: "vg0"}},
		storage.ISCSI:   {Path: "/dev/disk/by-path", Source: &storage.PoolSource{Hosts: []string{"san.example:3261"}, Target: "iqn.2013-06.com.example:a", Username: "u", Secret: secret}},
		storage.RBD:     {Source: &storage.PoolSource{Hosts: []string{"10.0.0.6", "10.0.0.7:6789"}, Name: "rbd", Username: "u", Secret: secret}},
		storage.ZFS:     {Path: "/dev/zvol/tank/vm", Source: &storage.PoolSource{Name: "tank/vm"}},
	} {
		t.Run(kind, func(t *testing.T) {
			p.Type, p.Name, p.Active = kind, "acc-"+kind, true
			s := &storage.PoolStore{Client: c, Name: p.Name, Owner: new(owner.Run).New()}
			if _, err := s.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			got, err := s.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.UUID, p.CapacityBytes, p.AvailableBytes = got.UUID, got.CapacityBytes, got.AvailableBytes
			if !reflect.DeepEqual(got, p) {
				t.Errorf("libvirt keeps %+v with %+v, and was told %+v", got, got.Source, p)
			}
			other := &storage.PoolStore{Client: c, Name: p.Name + "-other", Owner: new(owner.Run).New()}
			if _, err := other.Create(t.Context(), p); err == nil {
				t.Error("a second pool is made from the same source")
			}
			if err := s.Delete(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(t.Context()); !errors.Is(err, service.ErrAbsent) {
				t.Errorf("it is still there: %v", err)
			}
		})
	}
}
