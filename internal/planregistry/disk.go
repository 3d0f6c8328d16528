package planregistry

// DiskClaim is the claim of a machine that runs to a volume that outlives it: QEMU lets only one write to it.
func DiskClaim(hypervisor, path string) Claim {
	return Claim{Kind: "use of volume", Scope: nameScope(hypervisor), Value: path}
}
