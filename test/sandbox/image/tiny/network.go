package main

import (
	"log"
	"net"
	"os/exec"
	"time"
)

// watchInterfaces starts a DHCP client on every network card, also on those plugged in later, and stops the clients of
// cards that were pulled out.
func watchInterfaces() {
	if err := exec.Command("/bin/busybox", "ip", "link", "set", "lo", "up").Run(); err != nil {
		log.Printf("lo: %v", err)
	}
	clients := map[int]*exec.Cmd{}
	for {
		interfaces, err := net.Interfaces()
		if err != nil {
			log.Print(err)
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
		time.Sleep(200 * time.Millisecond)
	}
}

// startDHCP runs BusyBox's client until it is killed; /dhcp applies what it gets.
func startDHCP(name string) *exec.Cmd {
	if err := exec.Command("/bin/busybox", "ip", "link", "set", name, "up").Run(); err != nil {
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
