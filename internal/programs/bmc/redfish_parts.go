package bmc

import (
	"net/http"
	"strings"
)

// addParts adds what a system consists of, read-only.
func (r *service) addParts(get func(path string, describe func(s *System, v View, req *http.Request) object)) {
	of := func(s *System, rest string) string { return root + "/Systems/" + s.ID + rest }
	get("/Systems/{system}/Processors", func(s *System, _ View, _ *http.Request) object {
		return newCollection(of(s, "/Processors"), "Processor", "Processors", of(s, "/Processors/CPU1"))
	})
	get("/Systems/{system}/Processors/CPU1", func(s *System, v View, _ *http.Request) object {
		architecture, set := "x86", "x86-64"
		if strings.HasPrefix(v.Architecture, "aarch64") {
			architecture, set = "ARM", "ARM-A64"
		}
		return newResource(of(s, "/Processors/CPU1"), "Processor.v1_5_0.Processor", "CPU1", "Processor", object{
			"ProcessorType": "CPU", "ProcessorArchitecture": architecture, "InstructionSet": set, "Manufacturer": "QEMU", "Model": v.Architecture,
			"TotalCores": v.VCPUs, "TotalThreads": v.VCPUs, "Status": healthy,
		})
	})
	get("/Systems/{system}/EthernetInterfaces", func(s *System, v View, _ *http.Request) object {
		var members []string
		for _, mac := range v.MACs {
			members = append(members, of(s, "/EthernetInterfaces/"+mac))
		}
		return newCollection(of(s, "/EthernetInterfaces"), "EthernetInterface", "Ethernet Interfaces", members...)
	})
	get("/Systems/{system}/EthernetInterfaces/{mac}", func(s *System, v View, req *http.Request) object {
		for _, mac := range v.MACs {
			if strings.EqualFold(mac, req.PathValue("mac")) {
				return newResource(of(s, "/EthernetInterfaces/"+mac), "EthernetInterface.v1_5_1.EthernetInterface", mac, "Interface "+mac, object{
					"MACAddress": mac, "PermanentMACAddress": mac, "InterfaceEnabled": true, "LinkStatus": "LinkUp", "Status": healthy,
				})
			}
		}
		return nil
	})
	drive := func(s *System, d Disk) string { return of(s, "/Storage/1/Drives/"+d.Name) }
	get("/Systems/{system}/Storage", func(s *System, _ View, _ *http.Request) object {
		return newCollection(of(s, "/Storage"), "Storage", "Storage", of(s, "/Storage/1"))
	})
	get("/Systems/{system}/Storage/1", func(s *System, v View, _ *http.Request) object {
		var drives []string
		for _, d := range v.Disks {
			drives = append(drives, drive(s, d))
		}
		return newResource(of(s, "/Storage/1"), "Storage.v1_7_1.Storage", "1", "Disks", object{
			"Drives": linksTo(drives...), "Drives@odata.count": len(drives), "Volumes": linkTo(of(s, "/Storage/1/Volumes")), "Status": healthy,
			"StorageControllers": []object{{
				"@odata.id": of(s, "/Storage/1#/StorageControllers/0"), "MemberId": "0", "Name": "Controller", "Manufacturer": "QEMU", "Status": healthy,
				"SupportedDeviceProtocols": []string{"SAS"},
			}},
		})
	})
	get("/Systems/{system}/Storage/1/Volumes", func(s *System, _ View, _ *http.Request) object {
		return newCollection(of(s, "/Storage/1/Volumes"), "Volume", "Volumes")
	})
	get("/Systems/{system}/Storage/1/Drives/{drive}", func(s *System, v View, req *http.Request) object {
		for _, d := range v.Disks {
			if d.Name == req.PathValue("drive") {
				return newResource(drive(s, d), "Drive.v1_7_0.Drive", d.Name, "Disk "+d.Name, object{
					"CapacityBytes": d.Bytes, "MediaType": "SSD", "Protocol": protocolOf(d), "Manufacturer": "QEMU", "Model": d.Bus + " disk",
					"SerialNumber": v.UUID[:min(8, len(v.UUID))] + "-" + d.Name, "Status": healthy,
				})
			}
		}
		return nil
	})
	get("/Systems/{system}/SimpleStorage", func(s *System, _ View, _ *http.Request) object {
		return newCollection(of(s, "/SimpleStorage"), "SimpleStorage", "Simple Storage", of(s, "/SimpleStorage/1"))
	})
	get("/Systems/{system}/SimpleStorage/1", func(s *System, v View, _ *http.Request) object {
		devices := []object{}
		for _, d := range v.Disks {
			devices = append(devices, object{"Name": d.Name, "CapacityBytes": d.Bytes, "Manufacturer": "QEMU", "Model": d.Bus + " disk", "Status": healthy})
		}
		return newResource(of(s, "/SimpleStorage/1"), "SimpleStorage.v1_2_3.SimpleStorage", "1", "Disks", object{"Devices": devices, "Status": healthy})
	})
	get("/Systems/{system}/Bios", func(s *System, _ View, _ *http.Request) object {
		return newResource(of(s, "/Bios"), "Bios.v1_1_0.Bios", "Bios", "Firmware Settings", object{"Attributes": object{}})
	})
	get("/Systems/{system}/SecureBoot", func(s *System, v View, _ *http.Request) object { return describeSecureBoot(s, v) })
	chassis := func(s *System, rest string) string { return root + "/Chassis/" + s.ID + rest }
	get("/Chassis/{system}", func(s *System, v View, _ *http.Request) object {
		return newResource(chassis(s, ""), "Chassis.v1_9_1.Chassis", s.ID, "Chassis of "+v.Name, object{
			"ChassisType": "RackMount", "Manufacturer": "QEMU", "Model": v.Chipset, "SerialNumber": v.UUID, "PowerState": powerState(v),
			"IndicatorLED": v.LED, "Status": healthy, "Power": linkTo(chassis(s, "/Power")), "Thermal": linkTo(chassis(s, "/Thermal")),
			"Links": object{"ComputerSystems": linksTo(root + "/Systems/" + s.ID), "ManagedBy": linksTo(root + "/Managers/" + s.ID)},
		})
	})
	get("/Chassis/{system}/Power", func(s *System, _ View, _ *http.Request) object {
		return newResource(chassis(s, "/Power"), "Power.v1_5_0.Power", "Power", "Power", object{"PowerControl": []object{}, "PowerSupplies": []object{}, "Voltages": []object{}})
	})
	get("/Chassis/{system}/Thermal", func(s *System, _ View, _ *http.Request) object {
		return newResource(chassis(s, "/Thermal"), "Thermal.v1_5_0.Thermal", "Thermal", "Thermal", object{"Fans": []object{}, "Temperatures": []object{}})
	})
}

// describeSecureBoot is the document of what a machine's firmware checks.
func describeSecureBoot(s *System, v View) object {
	path := root + "/Systems/" + s.ID + "/SecureBoot"
	current := "Disabled"
	if v.SecureBoot {
		current = "Enabled"
	}
	return newResource(path, "SecureBoot.v1_1_0.SecureBoot", "SecureBoot", "UEFI Secure Boot", object{
		"SecureBootEnable": v.SecureBoot, "SecureBootCurrentBoot": current, "SecureBootMode": map[bool]string{true: "UserMode", false: "SetupMode"}[v.SecureBoot],
		"Actions": object{"#SecureBoot.ResetKeys": object{"target": path + "/Actions/SecureBoot.ResetKeys", "ResetKeysType@Redfish.AllowableValues": []string{AllKeysToDefault}}},
	})
}

// protocolOf is the nearest that Redfish has to a disk's bus.
func protocolOf(d Disk) string {
	switch d.Bus {
	case "sata", "ide":
		return "SATA"
	case "usb":
		return "USB"
	case "nvme":
		return "NVMe"
	}
	return "SAS"
}
