package bmc

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	ipmi "github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport"
	"github.com/bougou/go-ipmi/pkg/types"
)

// lanChannel is the channel that LAN sessions are on.
const lanChannel = 1

// newIPMI returns a server of IPMI 2.0 over LAN for one system, on a socket. Sessions of version 1.5 are refused: their passwords can be
// read on the way.
func newIPMI(s *System, uuid, user, password string, on socket) (*server.Server, error) {
	var guid [16]byte
	_, _ = hex.Decode(guid[:], []byte(strings.ReplaceAll(uuid, "-", ""))) // what is no UUID is zeros
	b := ipmi.New(ipmi.DeviceInfo{DeviceID: 0x20, FirmwareMajor: 1, IPMIVersion: 0x02, AdditionalDeviceSupport: 0x80}, guid, &hardware{s}, ipmi.WithV15Disabled())
	// As many sessions as the machines of a cluster may open at a time; those of clients that were killed stay for a minute.
	b.Sessions = ipmi.NewSessionStoreWithOptions(b.Clock(), ipmi.WithMaxSessions(mostSessions))
	b.Sessions.SetOnRemove(b.SOL.DeactivateBySession)
	// User 1 has no name: nobody logs in as nobody.
	if err := b.Users.Update(1, func(u *ipmi.User) error { u.Enabled = false; return nil }); err != nil {
		return nil, err
	}
	u, err := b.Users.Add(2, user)
	if err != nil {
		return nil, err
	}
	u.Enabled = true
	u.SetPassword([]byte(password))
	u.ChannelAccess = map[uint8]ipmi.UserChannelAccess{lanChannel: {MaxPrivilege: ipmi.PrivilegeLevelAdministrator, Enabled: true}}
	// What changes users is not among the commands: the configuration says who they are.
	reg := handlers.NewRegistry()
	handlers.RegisterAppHandlers(reg)
	handlers.RegisterSessionHandlers(reg)
	handlers.RegisterChassisHandlers(reg)
	handlers.RegisterStorageHandlers(reg)
	handlers.RegisterPayloadHandlers(reg)
	handlers.RegisterSOLHandlers(reg)
	handlers.RegisterTransportHandlers(reg)
	reg.RegisterFunc(types.CommandChassisControl, func(ctx context.Context, _ *handlers.HandlerContext, request []byte) ([]byte, types.CompletionCode, error) {
		code := controlChassis(ctx, s, request)
		return nil, code, nil
	})
	return server.NewServer(b, &guarded{socket: on}, server.WithHandlerRegistry(reg)), nil
}

// chassisActions are those of the command Chassis Control (IPMI 2.0, table 28-4). The soft one is a shutdown, as the table says.
var chassisActions = map[byte]Action{0: ForceOff, 1: On, 2: PowerCycle, 3: ForceRestart, 4: Nmi, 5: GracefulShutdown}

// controlChassis does what Chassis Control asks for.
func controlChassis(ctx context.Context, s *System, request []byte) types.CompletionCode {
	if len(request) != 1 {
		return types.CodeRequestDataLengthInvalid
	}
	action, known := chassisActions[request[0]&0x0f]
	if !known {
		return types.CodeParameterOutOfRange
	}
	if s.switching.isLate() {
		return types.CodeNodeBusy
	}
	done := make(chan error, 1)
	go func() {
		end, err := s.switching.takeTurn()
		if err != nil {
			s.log.Error("power", "action", action, "error", err)
			done <- err
			return
		}
		defer end()
		done <- s.Reset(context.WithoutCancel(ctx), action)
	}()
	select {
	case <-time.After(controlPatience):
		return types.CodeOK // the log has what comes of it
	case err := <-done:
		switch {
		case err == nil:
			return types.CodeOK
		case errors.Is(err, ErrOff):
			return types.CodeNotSupported // in the state that the machine is in
		}
		return types.CodeUnspecifiedError
	}
}

// turns are those of the commands that switch a machine: a script that switches it off and on has both done, one after the other.
type turns struct {
	taken chan struct{} // holds what takes its turn
	began atomic.Pointer[time.Time]
}

// controlTurn is how long a command waits for the one before: one that came after minutes would not be expected any more.
const controlTurn = 5 * time.Second

// isLate says whether a command has its turn for so long that another one would not have it in time.
func (t *turns) isLate() bool {
	began := t.began.Load()
	return began != nil && time.Since(*began) >= controlTurn
}

// takeTurn returns once the commands before have ended, and what ends this turn; an error where that takes too long.
func (t *turns) takeTurn() (end func(), err error) {
	select {
	case t.taken <- struct{}{}:
	case <-time.After(controlTurn):
		return nil, errors.New("not done: the command before takes too long")
	}
	now := time.Now()
	t.began.Store(&now)
	return func() {
		t.began.Store(nil)
		<-t.taken
	}, nil
}

// controlPatience is after how long Chassis Control is answered at the latest. Clients ask again after a second, and a power cycle that is
// asked for twice would be two.
const controlPatience = 500 * time.Millisecond

// hardware is a System as the IPMI server asks for it.
type hardware struct{ *System }

func (h *hardware) Chassis() hal.ChassisHAL { return h }
func (h *hardware) Console() hal.ConsoleHAL { return h }
func (*hardware) Sensors() hal.SensorHAL    { return nil }
func (*hardware) Storage() hal.StorageHAL   { return nil }
func (*hardware) Network() hal.NetworkHAL   { return nil }
func (*hardware) GPIO() hal.GPIOHAL         { return nil }
func (*hardware) I2C() hal.I2CHAL           { return nil }
func (*hardware) Close() error              { return nil }

func (h *hardware) PowerState(ctx context.Context) (bool, error) {
	v, err := h.View(ctx)
	return v.On, err
}

// SetPower and PowerCycle are not asked for: controlChassis does what they would.
func (*hardware) SetPower(context.Context, bool) error { return hal.ErrNotSupported }
func (*hardware) PowerCycle(context.Context) error     { return hal.ErrNotSupported }

// ColdReset and WarmReset are of the controller itself, by `mc reset`: it has nothing to forget.
func (*hardware) ColdReset(context.Context) error { return nil }
func (*hardware) WarmReset(context.Context) error { return nil }

func (h *hardware) Identify(ctx context.Context, seconds uint8) error {
	if seconds == 0 {
		return h.SetLED(ctx, "Off")
	}
	return h.SetLED(ctx, "Blinking")
}

func (*hardware) IntrusionState(context.Context) (bool, error) { return false, hal.ErrNotSupported }

// bootDevices are the device selectors of boot flags (IPMI 2.0, table 28-14).
var bootDevices = map[types.BootDeviceSelector]Target{
	types.BootDeviceSelectorNoOverride: None, types.BootDeviceSelectorForcePXE: Pxe, types.BootDeviceSelectorForceHardDrive: Hdd,
	types.BootDeviceSelectorForceCDROM: Cd, types.BootDeviceSelectorForceRemoteCDROM: Cd,
}

func (h *hardware) SetBootFlags(ctx context.Context, flags *types.BootOptionParam_BootFlags) error {
	target, known := bootDevices[flags.BootDeviceSelector]
	if !known {
		return types.CodeParameterOutOfRange
	}
	enabled := Once
	switch {
	case !flags.BootFlagsValid || target == None:
		enabled, target = Disabled, None
	case flags.Persist:
		enabled = Continuous
	}
	return h.SetBoot(ctx, enabled, target)
}

func (h *hardware) GetBootFlags(ctx context.Context) (*types.BootOptionParam_BootFlags, error) {
	v, err := h.View(ctx)
	if err != nil {
		return nil, err
	}
	device := map[Target]types.BootDeviceSelector{
		Pxe: types.BootDeviceSelectorForcePXE, UefiHTTP: types.BootDeviceSelectorForcePXE,
		Hdd: types.BootDeviceSelectorForceHardDrive, Cd: types.BootDeviceSelectorForceCDROM,
	}[v.Boot.Target]
	return &types.BootOptionParam_BootFlags{
		BootFlagsValid: v.Boot.Enabled != Disabled, Persist: v.Boot.Enabled == Continuous, BIOSBootType: types.BIOSBootType(v.UEFI), BootDeviceSelector: device,
	}, nil
}

// SetBootInfoAcknowledge is what clients write before boot flags; nobody reads it.
func (*hardware) SetBootInfoAcknowledge(context.Context, *types.BootOptionParam_BootInfoAcknowledge) error {
	return nil
}

func (*hardware) GetBootInfoAcknowledge(context.Context) (*types.BootOptionParam_BootInfoAcknowledge, error) {
	return &types.BootOptionParam_BootInfoAcknowledge{}, nil
}

// Open implements hal.ConsoleHAL: the serial console, for as long as somebody is connected to it.
func (h *hardware) Open(context.Context) (hal.ConsoleConn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := h.machine.OpenConsole(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	c := &serial{write: stream.Write, close: func() error {
		cancel()
		return stream.Close()
	}}
	go c.collectOutput(stream)
	return c, nil
}

// serial is a console whose output waits until it is asked for.
type serial struct {
	write func([]byte) (int, error)
	close func() error

	mu      sync.Mutex
	pending []byte
	err     error
}

// mostPending is how much output may wait; what is older is dropped.
const mostPending = 64 << 10

// collectOutput reads until the console ends.
func (c *serial) collectOutput(stream interface{ Read([]byte) (int, error) }) {
	buffer := make([]byte, 4096)
	for {
		n, err := stream.Read(buffer)
		c.mu.Lock()
		c.pending = append(c.pending, buffer[:n]...)
		c.pending = c.pending[max(0, len(c.pending)-mostPending):]
		c.err = err
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// ReadAvailable implements hal.ConsoleConn.
func (c *serial) ReadAvailable(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	if n == 0 {
		return 0, c.err
	}
	return n, nil
}

// Write implements io.Writer.
func (c *serial) Write(p []byte) (int, error) { return c.write(p) }

// Close implements io.Closer.
func (c *serial) Close() error { return c.close() }

// SendBreak implements hal.ConsoleConn: libvirt's consoles know none.
func (*serial) SendBreak(context.Context) error { return hal.ErrNotSupported }

// socket is where a server listens. Its address is part of it because who opens the serial console is told the port.
type socket interface {
	transport.PacketConn
	LocalAddr() net.Addr
}

// guarded is a socket whose clients wait after wrong passwords. A session that was begun counts as a wrong password until it is open: a
// client knows by the second message that its password is wrong, and sends no third one.
type guarded struct {
	socket
	slow brake
}

// payload types of the messages that open a session (IPMI 2.0, table 13-16).
const (
	openSessionRequest = 0x10
	rakpMessage2       = 0x13
	rakpMessage4       = 0x15
)

// ReadFrom implements transport.PacketConn. It drops what begins a session too early; the client asks again.
func (g *guarded) ReadFrom(buffer []byte) (int, net.Addr, error) {
	for {
		n, from, err := g.socket.ReadFrom(buffer)
		if err != nil || payloadType(buffer[:n]) != openSessionRequest || g.slow.Wait(from.String()) == 0 {
			return n, from, err
		}
	}
}

// WriteTo implements transport.PacketConn.
func (g *guarded) WriteTo(data []byte, to net.Addr) (int, error) {
	switch payloadType(data) {
	case rakpMessage2:
		g.slow.Fail(to.String())
	case rakpMessage4:
		if _, _, _, _, payload, ok := protocol.ParseRMCPPlusHeader(data); ok && len(payload) > 1 && payload[1] == 0 {
			g.slow.Forget(to.String())
		}
	}
	return g.socket.WriteTo(data, to)
}

// payloadType is what a packet of RMCP+ carries; 0xff for any other packet.
func payloadType(packet []byte) byte {
	if len(packet) < 5 || packet[3]&0x1f != 0x07 || packet[4] != 0x06 {
		return 0xff
	}
	_, _, kind, _, _, ok := protocol.ParseRMCPPlusHeader(packet)
	if !ok {
		return 0xff
	}
	return kind
}
