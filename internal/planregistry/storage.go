package planregistry

import "fmt"

// PoolClaim is the claim that a plan's storage pool lays: whoever needs a pool that is not on the
// hypervisor yet looks for its holder. Hypervisor "" is the provider's own.
func PoolClaim(hypervisor, pool string) Claim {
	return Claim{Kind: "storage pool", Scope: nameScope(hypervisor), Value: pool}
}

// DirectoryClaim is the claim that a plan's storage pool lays to its directory.
func DirectoryClaim(hypervisor, path string) Claim {
	return Claim{Kind: "directory", Scope: nameScope(hypervisor), Value: path}
}

// VolumeClaim is the claim to a volume's name, laid by images, volumes and nodes' disks.
func VolumeClaim(hypervisor, pool, volume string) Claim {
	return Claim{Kind: "volume", Scope: fmt.Sprintf("storage pool %q of %s", pool, nameScope(hypervisor)), Value: volume}
}

func nameScope(name string) string {
	if name == "" {
		return "the provider's hypervisor"
	}
	return fmt.Sprintf("hypervisor %q", name)
}
