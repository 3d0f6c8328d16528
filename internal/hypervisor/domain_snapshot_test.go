package hypervisor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

func TestADiskHasALayerUntilItIsMergedWhereverTheLayerIsInItsChain(t *testing.T) {
	t.Parallel()
	const domain = `<domain type='qemu'><name>a</name><devices>
<disk type='file' device='cdrom'><target dev='sda'/></disk>
<disk type='file' device='disk'><source file='/p/root.vcsnap-late'/>
  <backingStore type='file'><source file='/p/root.vcsnap-early'/>
    <backingStore type='file'><source file='/p/root'/><backingStore/></backingStore></backingStore>
  <target dev='vda'/></disk>
<disk type='file' device='disk'><source file='/p/data'/><target dev='vdb'/></disk></devices></domain>`
	var d libvirtxml.Domain
	if err := d.Unmarshal(domain); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		target, file string
		want         bool
	}{
		"the disk is in it":         {"vda", "/p/root.vcsnap-late", true},
		"another one lies upon it":  {"vda", "/p/root.vcsnap-early", true},
		"the disk is in the volume": {"vdb", "/p/data.vcsnap-late", false},
		"another disk has it":       {"vdb", "/p/root.vcsnap-late", false},
		"the disk is gone":          {"vdc", "/p/root.vcsnap-late", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := &Volume{XML: libvirtxml.StorageVolume{Target: &libvirtxml.StorageVolumeTarget{Path: c.file}}}
			if got := hasLayer(&d, c.target, file); got != c.want {
				t.Errorf("%s has %s: %t, want %t", c.target, c.file, got, c.want)
			}
		})
	}
}

func TestAFreezeIsNotLeftBehindWhereTheRunIsCancelled(t *testing.T) {
	t.Parallel()
	const freezes, getTime, setTimeout = 335, 337, 420 // REMOTE_PROC_DOMAIN_FSFREEZE, …_GET_TIME and …_AGENT_SET_RESPONSE_TIMEOUT
	for name, c := range map[string]struct {
		cancelledAt uint32
		told        bool
	}{
		"the agent is about to answer": {getTime, false},
		"its limit is being set":       {setTimeout, false},
		"it was told to hold them":     {freezes, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := make(chan uint32, 100)
			d := &daemon{answer: func(proc uint32) (uint32, []byte, bool) {
				asked <- proc
				if proc == c.cancelledAt {
					cancel()
					time.Sleep(100 * time.Millisecond) // a call that does not wait returns meanwhile
				}
				return 0, make([]byte, 16), true
			}}
			told, err := newClient(t, d.serve(t)).FreezeDomain(ctx, "11111111-2222-4333-8444-555555555555", 5, 10)
			wasTold := false
			for range len(asked) {
				wasTold = <-asked == freezes || wasTold
			}
			if told != c.told || wasTold != c.told || (err == nil) != c.told || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the agent was told: %t, which is said: %t, %v", wasTold, told, err)
			}
			time.Sleep(200 * time.Millisecond)
			for range len(asked) {
				if <-asked == freezes {
					t.Error("the agent was told later")
				}
			}
		})
	}
}

func TestAJobThatKeepsALayerFromBeingMergedIsToldFromAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind libvirt.DomainBlockJobType
		want string
	}{
		"the layer upon it is merged": {libvirt.DomainBlockJobTypeActiveCommit, "apply again"},
		"a copy":                      {libvirt.DomainBlockJobTypeCopy, "copied by somebody"},
		"a pull":                      {libvirt.DomainBlockJobTypePull, "copied by somebody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := newOtherJobError("u", "vda", c.kind); !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
