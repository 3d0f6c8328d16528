package acctest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// peerRole is the variable that makes a test's binary a server or a client instead: it is run again in the network namespace of
// another machine.
const peerRole = "ACCTEST_PEER"

func init() {
	role, rest, _ := strings.Cut(os.Getenv(peerRole), " ")
	switch role {
	case "serve":
		servePeers(strings.Fields(rest))
	case "talk":
		c, err := net.DialTimeout("tcp", rest, 2*time.Second)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() {
			_, _ = io.Copy(c, os.Stdin)
			os.Exit(0) // with whoever began it
		}()
		_, _ = io.Copy(os.Stdout, c)
		os.Exit(0)
	case "load":
		address, least, _ := strings.Cut(rest, " ")
		measureLoad(address, least)
	case "ask":
		network, address, _ := strings.Cut(rest, " ")
		answer, err := askPeer(network, address, 2*time.Second)
		fmt.Print(answer)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// servePeers answers whoever asks at words[1:], such as "tcp:8080", with words[0] and the address that asked; at "echo:7000" with what
// is said, for as long as the connection is open.
func servePeers(words []string) {
	for _, place := range words[1:] {
		network, port, _ := strings.Cut(place, ":")
		if network == "tcp" || network == "echo" {
			network, echoes := "tcp", network == "echo"
			l, err := net.Listen(network, ":"+port)
			if err != nil {
				panic(err)
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						panic(err)
					}
					if echoes {
						go func() { _, _ = io.Copy(c, c) }()
						continue
					}
					fmt.Fprintf(c, "%s %s\n", words[0], c.RemoteAddr().(*net.TCPAddr).IP)
					_ = c.Close()
				}
			}()
			continue
		}
		c, err := net.ListenPacket(network, ":"+port)
		if err != nil {
			panic(err)
		}
		go func() {
			buffer := make([]byte, 100)
			for {
				_, from, err := c.ReadFrom(buffer)
				if err != nil {
					panic(err)
				}
				_, _ = c.WriteTo(fmt.Appendf(nil, "%s %s\n", words[0], from.(*net.UDPAddr).IP), from)
			}
		}()
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with whoever began it
	os.Exit(0)
}

// askPeer connects, says a word, and returns the first line of the answer. Connecting and answering may each take as long as the limit.
func askPeer(network, address string, limit time.Duration) (string, error) {
	c, err := net.DialTimeout(network, address, limit)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(limit))
	if network == "udp" {
		if _, err := c.Write([]byte("who\n")); err != nil {
			return "", err
		}
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), err
}

// Guest is a machine on the service nodes' network, whose gateway is one of these. It answers at places such as "tcp:8080" with its
// name and the address that asked.
func Guest(t *testing.T, name, address, gateway string, places ...string) {
	t.Helper()
	port := "p-" + name
	t.Cleanup(func() {
		// The kernel removes a namespace's devices some time after it, and the next guest's would have the same name.
		_, _ = Try(context.Background(), "hypervisor", "sh", "-c", "ip link del \"$1\"; ip netns del \"$2\"", "sh", port, name)
	})
	On(t, "hypervisor", "sh", "-ec", `ip netns add "$1"
ip link add "$2" type veth peer name eth0 netns "$1"
ip link set "$2" master svcbr0 up
ip -n "$1" link set lo up
ip -n "$1" address add "$3/24" dev eth0
ip -n "$1" link set eth0 up
ip -n "$1" route add default via "$4"
# Who knew the address of an earlier guest learns where it is now.
ip netns exec "$1" ping -q -c1 -W1 "$4" >/dev/null || :`, "sh", name, port, address, gateway)
	server := exec.Command("ip", "netns", "exec", name, ownExecutable(t))
	server.Env = append(os.Environ(), peerRole+"=serve "+name+" "+strings.Join(places, " "))
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = server.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%s does not serve: %q %v", name, line, err)
	}
}

// Ask is what is answered at an address of a network ("tcp", "udp") to a machine of the sandbox: "lan-client", "hypervisor", or a Guest.
func Ask(t *testing.T, machine, network, address string) (string, error) {
	t.Helper()
	argv := []string{ownExecutable(t)}
	if machine != "hypervisor" {
		argv = append([]string{"ip", "netns", "exec", machine}, argv...)
	}
	client := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	client.Env = append(os.Environ(), peerRole+"=ask "+network+" "+address)
	out, err := client.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return string(out), nil
}

// Talk is a TCP connection of a machine of the sandbox that stays open: what is written to it is sent, and the lines that come back
// are read from the channel, which is closed when the other side ends it.
func Talk(t *testing.T, machine, address string) (io.Writer, <-chan string) {
	t.Helper()
	client := exec.Command("ip", "netns", "exec", machine, ownExecutable(t))
	client.Env = append(os.Environ(), peerRole+"=talk "+address)
	in, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err == nil {
		err = client.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = client.Wait()
	})
	lines := make(chan string, 10)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return in, lines
}

func ownExecutable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
