package kea

import (
	"bufio"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readOffers returns what segment.py takes a packet for that answers question "\x01\x02\x03\x04" from 10.0.0.9: the address of a server, or None.
func readOffers(tb testing.TB) func(packet []byte) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "segment.py"), []byte(segmentProgram), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command("python3", "-c", `import sys
sys.path.insert(0, sys.argv[1])
import segment
for line in sys.stdin: print(segment.read_offer(bytes.fromhex(line), bytes([1, 2, 3, 4]), "10.0.0.9"), flush=True)`, dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	answers := bufio.NewReader(out)
	return func(packet []byte) string {
		if _, err := io.WriteString(in, hex.EncodeToString(packet)+"\n"); err != nil {
			return err.Error()
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(line)
	}
}

// offer is a packet of DHCP that answers a question, with options.
func offer(number, options string) []byte {
	return []byte("\x02\x01\x06\x00" + number + strings.Repeat("\x00", 228) + "\x63\x82\x53\x63" + options)
}

func TestOffersOnTheWireAreTold(t *testing.T) {
	t.Parallel()
	read := readOffers(t)
	for name, c := range map[string]struct {
		packet []byte
		want   string
	}{
		"a server that says who it is":     {offer("\x01\x02\x03\x04", "\x35\x01\x02\x36\x04\x0a\x00\x00\x01\xff"), "10.0.0.1"},
		"one that does not":                {offer("\x01\x02\x03\x04", "\x35\x01\x02\xff"), "10.0.0.9"},
		"padding before it":                {offer("\x01\x02\x03\x04", "\x00\x00\x36\x04\x0a\x00\x00\x02"), "10.0.0.2"},
		"an answer to somebody else":       {offer("\x04\x03\x02\x01", "\x36\x04\x0a\x00\x00\x01\xff"), "None"},
		"a question":                       {append([]byte{1}, offer("\x01\x02\x03\x04", "\xff")[1:]...), "None"},
		"an option that is cut off":        {offer("\x01\x02\x03\x04", "\x36\x04\x0a\x00"), "10.0.0.9"},
		"a packet without options":         {offer("\x01\x02\x03\x04", ""), "None"},
		"a length beyond the packet's end": {offer("\x01\x02\x03\x04", "\x35\xff\x02\x36\x04\x0a\x00\x00\x01"), "10.0.0.9"},
		"a server identifier of two bytes": {offer("\x01\x02\x03\x04", "\x36\x02\x0a\x00\xff"), "10.0.0.9"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(c.packet); got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
}

// FuzzOffersOnTheWire has segment.py read a packet of anybody's: it tells an address, or that it is none.
func FuzzOffersOnTheWire(f *testing.F) {
	read := readOffers(f)
	for _, options := range []string{"\x36\x04\x0a\x00\x00\x01\xff", "\x36\x04\x0a", "\x00\x35\x01", ""} {
		f.Add(offer("\x01\x02\x03\x04", options))
	}
	f.Add([]byte("\x02"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if got := read(packet); got != "None" {
			if _, err := netip.ParseAddr(got); err != nil {
				t.Fatalf("%x is taken for %q", packet, got)
			}
		}
	})
}
