package clusterconfig

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the installer publishes: the fields of its Go types (pkg/types, pkg/types/baremetal, pkg/types/agent) and of its CRD
// installconfigs.install.openshift.io, by where they are. What is passed on as it is (platforms of clouds, nmstate's language) has no
// fields here. Those that it gave up (machineCIDR, type, serviceCIDR, clusterNetworks, hostSubnetLength) are refused.
var published = map[string]struct {
	fields []field
	paths  map[string]string
}{
	"install-config.yaml": {installConfig.fields, map[string]string{
		"": "additionalTrustBundle additionalTrustBundlePolicy apiVersion arbiter baseDomain bootstrapInPlace capabilities compute controlPlane cpuPartitioningMode credentialsMode " +
			"featureGates featureSet fips imageContentSources imageDigestSources metadata networking operatorPublishingStrategy platform proxy publish pullSecret sshKey",
		"metadata":                        "name",
		"controlPlane":                    "architecture diskSetup fencing hyperthreading name platform replicas",
		"arbiter":                         "architecture diskSetup fencing hyperthreading name platform replicas",
		"compute":                         "architecture diskSetup fencing hyperthreading name platform replicas",
		"networking":                      "clusterNetwork clusterNetworkMTU machineNetwork networkType ovnKubernetesConfig serviceNetwork",
		"networking.machineNetwork":       "cidr",
		"networking.clusterNetwork":       "cidr hostPrefix",
		"proxy":                           "httpProxy httpsProxy noProxy",
		"imageDigestSources":              "mirrors source sourcePolicy",
		"imageContentSources":             "mirrors source",
		"bootstrapInPlace":                "installationDisk",
		"capabilities":                    "additionalEnabledCapabilities baselineCapabilitySet",
		"platform":                        "aws azure baremetal external gcp ibmcloud none nutanix openstack ovirt powervs vsphere",
		"platform.external":               "cloudControllerManager platformName",
		"platform.baremetal.loadBalancer": "type",
		"platform.baremetal.hosts":        "bmc bootMACAddress bootMode hardwareProfile name networkConfig role rootDeviceHints",
		"platform.baremetal.hosts.bmc":    "address disableCertificateVerification password username",
		"platform.baremetal.hosts.rootDeviceHints": "deviceName hctl minSizeGigabytes model rotational serialNumber vendor wwn wwnVendorExtension wwnWithExtension",
		"platform.baremetal": "additionalNTPServers apiVIP apiVIPs bootstrapExternalStaticDNS bootstrapExternalStaticGateway bootstrapExternalStaticIP bootstrapOSImage bootstrapProvisioningIP " +
			"clusterOSImage clusterProvisioningIP defaultMachinePlatform externalBridge externalMACAddress hosts ingressVIP ingressVIPs libvirtURI loadBalancer provisioningBridge " +
			"provisioningDHCPRange provisioningMACAddress provisioningNetwork provisioningNetworkCIDR provisioningNetworkInterface",
	}},
	"agent-config.yaml": {agentConfig.fields, map[string]string{
		"":                      "additionalNTPSources apiVersion bootArtifactsBaseURL hosts kind metadata minimalISO rendezvousIP",
		"metadata":              "name",
		"hosts":                 "bmc hostname interfaces networkConfig role rootDeviceHints",
		"hosts.interfaces":      "macAddress name",
		"hosts.rootDeviceHints": "deviceName hctl minSizeGigabytes model rotational serialNumber vendor wwn wwnVendorExtension wwnWithExtension",
	}},
}

// A field that the installer gets, and one that it gives up, is one line here.
func TestFieldsAreThoseThatTheInstallerPublishes(t *testing.T) {
	t.Parallel()
	for name, document := range published {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			namesBelow(document.fields, "", got)
			if diff := cmp.Diff(document.paths, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})
	}
}

// namesBelow writes the names of fields by their place.
func namesBelow(fields []field, place string, to map[string]string) {
	if len(fields) == 0 {
		return
	}
	names := map[string]bool{}
	for _, f := range fields {
		names[f.name] = true
		below := f.fields
		if f.items != nil {
			below = f.items.fields
		}
		namesBelow(below, strings.TrimPrefix(place+"."+f.name, "."), to)
	}
	to[place] = strings.Join(slices.Sorted(maps.Keys(names)), " ")
}
