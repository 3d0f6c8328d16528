package bmc

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/bougou/go-ipmi/pkg/types"
)

// serveIPMI serves a system by IPMI until the test ends.
func serveIPMI(t *testing.T, s *System) *net.UDPAddr {
	t.Helper()
	socket, err := udp.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := newIPMI(s, "5d0a2c1e-0000-4000-8000-000000000001", "admin", testPassword, socket)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(context.Background()) })
	t.Cleanup(func() {
		_ = server.Close()
		running.Wait()
	})
	return socket.LocalAddr().(*net.UDPAddr)
}

func TestIPMIPowersAndBoots(t *testing.T) {
	m, s := newToy(t)
	at := serveIPMI(t, s)
	c, err := client.NewClient(at.IP.String(), at.Port, "admin", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := c.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if err := c.SetBootDevice(ctx, types.BootDeviceSelectorForcePXE, types.BIOSBootTypeLegacy, false); err != nil {
		t.Fatal(err)
	}
	if got := bootOf(t, s); got.Enabled != Once || got.Target != Pxe {
		t.Errorf("the override is %+v", got)
	}
	// Who opens the serial console is told where it is, and ipmitool takes no other port than the one it came by.
	var console types.SOLConfigParam_PayloadPort
	if err := c.GetSOLConfigParamFor(ctx, lanChannel, &console); err != nil || int(console.Port) != at.Port {
		t.Errorf("the console is at port %d, and not at %d: %v", console.Port, at.Port, err)
	}
	status, err := c.GetChassisStatus(ctx)
	if err != nil || status.PowerIsOn {
		t.Errorf("status %+v: %v", status, err)
	}
	if _, err := c.ChassisControl(ctx, chassis.ChassisControlPowerCycle); err == nil {
		t.Error("a machine that is off was cycled")
	}
	for control, want := range map[chassis.ChassisControl]Action{
		chassis.ChassisControlPowerUp: On, chassis.ChassisControlHardReset: ForceRestart, chassis.ChassisControlPowerCycle: PowerCycle,
		chassis.ChassisControlDiagnosticInterrupt: Nmi, chassis.ChassisControlSoftShutdown: GracefulShutdown, chassis.ChassisControlPowerDown: ForceOff,
	} {
		t.Run(string(want), func(t *testing.T) {
			m.On = want != On
			if _, err := c.ChassisControl(ctx, control); err != nil || m.actions[len(m.actions)-1] != want {
				t.Errorf("%v: %v", m.actions, err)
			}
		})
	}
	if m.starts[0].Target != Pxe && m.starts[1].Target != Pxe {
		t.Errorf("started as %+v", m.starts)
	}
}

func TestASlowPowerCycleIsAnsweredBeforeItIsAskedForAgain(t *testing.T) {
	m, s := newToy(t)
	m.On, m.switching = true, 3*time.Second
	at := serveIPMI(t, s)
	c, err := client.NewClient(at.IP.String(), at.Port, "admin", testPassword)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := c.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	began := time.Now()
	if _, err := c.ChassisControl(ctx, chassis.ChassisControlPowerCycle); err != nil || time.Since(began) > m.switching/2 {
		t.Errorf("answered after %s: %v", time.Since(began), err)
	}
	if _, err := s.View(ctx); err != nil || len(m.actions) != 1 { // waits for the end
		t.Errorf("it was switched %v: %v", m.actions, err)
	}
}

func TestPowerIsSwitchedInTurnAndNotMuchLater(t *testing.T) {
	for name, c := range map[string]struct {
		switching time.Duration
		answers   []types.CompletionCode
		actions   []Action
	}{
		"a script that switches off and on": {time.Second, []types.CompletionCode{types.CodeOK, types.CodeOK}, []Action{ForceOff, On}},
		"the machine takes long":            {20 * time.Second, []types.CompletionCode{types.CodeOK, types.CodeOK, types.CodeNodeBusy}, []Action{ForceOff}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := newToy(t)
				m.On, m.switching = true, c.switching
				for i, want := range c.answers {
					if got := controlChassis(t.Context(), s, []byte{byte(i)}); got != want {
						t.Errorf("command %d is answered by %v, not %v", i, got, want)
					}
					time.Sleep(3 * time.Second)
				}
				time.Sleep(2 * time.Minute)
				if !slices.Equal(m.actions, c.actions) {
					t.Errorf("it was switched %v, not %v", m.actions, c.actions)
				}
			})
		})
	}
}

func TestIPMIRefusesWrongPasswordsAndSlowsThemDown(t *testing.T) {
	_, s := newToy(t)
	at := serveIPMI(t, s)
	try := func(user, password string) error {
		c, err := client.NewClient(at.IP.String(), at.Port, user, password)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := c.Connect(ctx); err != nil {
			return err
		}
		return c.Close(ctx)
	}
	for i, c := range [][2]string{{"admin", "wrong"}, {"", ""}, {"root", testPassword}, {"admin", ""}, {"admin", "wrong"}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if err := try(c[0], c[1]); err == nil {
				t.Errorf("%v comes in", c)
			}
		})
	}
	began := time.Now()
	var err error
	for time.Since(began) < 20*time.Second {
		if err = try("admin", testPassword); err == nil {
			break
		}
	}
	if took := time.Since(began); err != nil || took < firstWait/2 {
		t.Errorf("after five wrong passwords the right one came in after %v: %v", took, err)
	}
}

// wire is a console that two ends share.
type wire struct {
	net.Conn
}

func TestTheSerialConsoleGoesOverIPMI(t *testing.T) {
	m, s := newToy(t)
	m.On = true
	here, there := net.Pipe()
	m.console = wire{there}
	h := &hardware{s}
	c, err := h.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = here.Write([]byte("login: ")) }()
	var got bytes.Buffer
	buffer := make([]byte, 16)
	for deadline := time.Now().Add(5 * time.Second); got.String() != "login: " && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		n, err := c.ReadAvailable(buffer)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(buffer[:n])
	}
	if got.String() != "login: " {
		t.Fatalf("read %q", got.String())
	}
	go func() { _, _ = c.Write([]byte("root\r")) }()
	if n, err := here.Read(buffer); err != nil || string(buffer[:n]) != "root\r" {
		t.Errorf("wrote %q: %v", buffer[:n], err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// packets is a transport that has one packet after the other, and takes all answers.
type packets struct {
	in chan []byte
}

func (p packets) ReadFrom(buffer []byte) (int, net.Addr, error) {
	packet, more := <-p.in
	if !more {
		return 0, nil, net.ErrClosed
	}
	return copy(buffer, packet), &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, nil
}
func (packets) WriteTo(data []byte, _ net.Addr) (int, error) { return len(data), nil }
func (packets) Close() error                                 { return nil }
func (packets) LocalAddr() net.Addr                          { return &net.UDPAddr{} }

// FuzzIPMIPacket has the server read a packet of anybody's: it neither ends nor does anything to the machine.
func FuzzIPMIPacket(f *testing.F) {
	for _, seed := range []string{
		"\x06\x00\xff\x06\x00\x00\x11\xbe\x80\x00\x00\x00",
		"\x06\x00\xff\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09\x20\x18\xc8\x81\x00\x38\x8e\x04\xb5",
		"\x06\x00\xff\x07\x06\x10\x00\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00\x00\x00\xa4\xa3\xa2\xa0\x00\x00\x00\x08\x01\x00\x00\x00\x01\x00\x00\x08\x01\x00\x00\x00\x02\x00\x00\x08\x01\x00\x00\x00",
		"\x06\x00\xff\x07\x06\x12\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"\x06\x00\xff\x07\x06\xc0\x01\x00\x00\x00\x01\x00\x00\x00\x07\x00\x20\x00\xe0\x81\x04\x02\x00",
	} {
		f.Add([]byte(seed))
	}
	m := &toy{Description: Description{Name: "w1", UUID: "u"}}
	s := NewSystem("w1", m, f.TempDir(), slog.New(slog.DiscardHandler))
	in := packets{make(chan []byte)}
	server, err := newIPMI(s, "", "admin", testPassword, in)
	if err != nil {
		f.Fatal(err)
	}
	go func() { _ = server.Serve(context.Background()) }()
	f.Fuzz(func(t *testing.T, packet []byte) {
		payloadType(packet)
		in.in <- packet
		if len(m.actions) > 0 {
			t.Fatalf("%x did %v", packet, m.actions)
		}
	})
}
