package hypervisor

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// TestMessageIsSentByWhatThereIs runs release.sh by each of its programs, to another port than that of DHCP servers.
func TestMessageIsSentByWhatThereIs(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, program := range []string{"python3", "perl"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(program)
			if err != nil {
				t.Skip(err) // the script takes whichever of the two a machine has
			}
			server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			port := fmt.Sprint(server.LocalAddr().(*net.UDPAddr).Port)
			end := hosttest.Script{
				Text: strings.NewReplacer(", 67)", ", "+port+")", "(67,", "("+port+",", "/usr/libexec/platform-python", "none").Replace(releaseScript),
				Args: []string{"lo", "127.0.0.1", "0101ff"}, Alone: true,
				Programs: map[string]string{program: "PATH=/usr/bin:/bin exec " + host.Quote([]string{path}) + ` "$@"`},
			}.Run(t)
			if end.Status != 0 {
				t.Fatalf("%+v", end)
			}
			message := make([]byte, 16)
			if err := server.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if n, err := server.Read(message); err != nil || string(message[:n]) != "\x01\x01\xff" {
				t.Errorf("%q, %v", message[:n], err)
			}
		})
	}
}

// TestMachineThatCannotSendSaysSo runs release.sh where there is neither of its programs.
func TestMachineThatCannotSendSaysSo(t *testing.T) {
	t.Parallel()
	end := hosttest.Script{Text: strings.ReplaceAll(releaseScript, "/usr/libexec/platform-python", "none"), Args: []string{"lo", "127.0.0.1", "00"}, Alone: true}.Run(t)
	if end.Status != 69 || !strings.Contains(end.Stderr, "neither python3 nor perl is installed") {
		t.Errorf("%+v", end)
	}
}
