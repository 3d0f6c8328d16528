package main

import (
	"log"
	"net"
	"os/exec"

	"golang.org/x/sys/unix"
)

// dhcpOnEveryCard returns what starts a DHCP client on each network card that has none, and stops the clients of cards that
// were pulled out.
func dhcpOnEveryCard() func() {
	if err := setUp("lo"); err != nil {
		log.Printf("lo: %v", err)
	}
	clients := map[int]*exec.Cmd{}
	return func() {
		interfaces, err := net.Interfaces()
		if err != nil {
			log.Print(err)
			return
		}
		present := map[int]bool{}
		for _, card := range interfaces {
			if card.Flags&net.FlagLoopback != 0 || len(card.HardwareAddr) == 0 {
				continue
			}
			present[card.Index] = true
			if clients[card.Index] == nil {
				clients[card.Index] = startDHCP(card.Name)
			}
		}
		for index, client := range clients {
			if !present[index] {
				kill(client)
				delete(clients, index)
			}
		}
	}
}

// setUp is "ip link set NAME up", without a process.
func setUp(name string) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

// startDHCP runs BusyBox's client until it is killed; /dhcp applies what it gets.
func startDHCP(name string) *exec.Cmd {
	if err := setUp(name); err != nil {
		log.Printf("%s up: %v", name, err)
	}
	client := exec.Command("/bin/busybox", "udhcpc", "-f", "-i", name, "-s", "/dhcp", "-O", "hostname", "-t", "10", "-T", "1", "-A", "2")
	if err := client.Start(); err != nil {
		log.Printf("dhcp on %s: %v", name, err)
		return client
	}
	go func() { _ = client.Wait() }()
	return client
}
