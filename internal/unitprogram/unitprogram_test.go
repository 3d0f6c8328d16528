package unitprogram

import (
	"net"
	"path/filepath"
	"testing"
)

func TestAFileIsReadBackWithoutItsFirstLine(t *testing.T) {
	t.Parallel()
	type config struct{ Name string }
	content, err := Encode("whose it is", config{"x"})
	if err != nil || string(content) != "// whose it is\n{\n  \"Name\": \"x\"\n}\n" {
		t.Fatalf("%v: %s", err, content)
	}
	var back config
	if err := Decode(content, &back); err != nil || back.Name != "x" {
		t.Errorf("%v: %+v", err, back)
	}
	if err := Decode([]byte(`{"Other": 1}`), &back); err == nil {
		t.Error("what has no place is taken")
	}
}

func TestSystemdIsToldWhereItAsks(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := Ready(); err != nil {
		t.Error(err)
	}
	at := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenPacket("unixgram", at)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", at)
	if err := Ready(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 64)
	if n, _, err := socket.ReadFrom(said); err != nil || string(said[:n]) != "READY=1" {
		t.Errorf("%v: %q", err, said[:n])
	}
}
