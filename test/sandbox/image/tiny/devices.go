package main

import (
	"bytes"
	"log"
	"time"

	"golang.org/x/sys/unix"
)

// watchDevices calls each of look now, and again whenever the kernel tells of a change of what they look at: network cards,
// input devices and virtio serial ports. Nothing is done in between: an idle guest costs an emulator nothing that way.
func watchDevices(look ...func()) {
	for {
		socket, err := openEvents()
		for err == nil {
			// Only once the socket is open: what appeared before has no event in it.
			for _, each := range look {
				each()
			}
			err = nextEvent(socket)
		}
		log.Printf("device events: %v", err)
		_ = unix.Close(socket)
		time.Sleep(time.Second)
	}
}

// openEvents subscribes to the kernel's device events, as udev does (netlink(7), NETLINK_KOBJECT_UEVENT; group 1 is the
// kernel's own).
func openEvents() (int, error) {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return -1, err
	}
	return socket, unix.Bind(socket, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1})
}

// nextEvent waits for an event that matters.
func nextEvent(socket int) error {
	buffer := make([]byte, 16<<10)
	for {
		n, _, err := unix.Recvfrom(socket, buffer, 0)
		switch {
		case err == unix.EINTR:
		case err == unix.ENOBUFS: // some are lost
			return nil
		case err != nil:
			return err
		case matters(buffer[:n]):
			return nil
		}
	}
}

// matters tells whether an event (ACTION@PATH and KEY=VALUE, each ended by a zero byte) is about a kind of device that is
// looked at.
func matters(event []byte) bool {
	for _, kind := range []string{"net", "input", "virtio-ports"} {
		if bytes.Contains(event, []byte("\x00SUBSYSTEM="+kind+"\x00")) {
			return true
		}
	}
	return false
}
