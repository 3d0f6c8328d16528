package main

import (
	"encoding/binary"
	"log"
	"os"
	"path/filepath"
)

// readPowerButtons returns what reads the kernel's input events: libvirt's shutdown presses the ACPI power button.
func readPowerButtons() func() {
	opened := map[string]bool{}
	return func() {
		paths, _ := filepath.Glob("/dev/input/event*")
		for _, path := range paths {
			if !opened[path] {
				opened[path] = true
				go readKeys(path)
			}
		}
	}
}

// readKeys switches the machine off when the device reports the power key (linux/input-event-codes.h: EV_KEY 1, KEY_POWER 116).
func readKeys(path string) {
	device, err := os.Open(path)
	if err != nil {
		log.Print(err)
		return
	}
	defer device.Close()
	var event struct {
		Seconds, Microseconds int64
		Kind, Code            uint16
		Value                 int32
	}
	for binary.Read(device, binary.NativeEndian, &event) == nil {
		if event.Kind == 1 && event.Code == 116 && event.Value == 1 {
			log.Print("power button: switching off")
			powerOff()
		}
	}
}
