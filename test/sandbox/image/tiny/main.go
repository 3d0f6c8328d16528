// Command tiny is the first process of the tiny test machine: it loads drivers, asks DHCP for addresses, answers HTTP with
// the machine's name on the ports an OpenShift node serves, and switches off when the power button says so.
package main

import (
	"bufio"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("tiny: ")
	mountAll()
	loadModules("/modules.order")
	// A machine without any other name still has one to answer with.
	if err := unix.Sethostname([]byte("tiny")); err != nil {
		log.Print(err)
	}
	seed := readSeed()
	if seed.Hostname != "" {
		if err := unix.Sethostname([]byte(seed.Hostname)); err != nil {
			log.Print(err)
		}
	}
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	go serve(seed)
	go watchDevices(dhcpOnEveryCard(), readPowerButtons(), agentOnItsChannel())
	log.Printf("up after %s", uptime())
	for range deaths {
		reapOrphans()
	}
}

func mountAll() {
	for _, m := range []struct{ source, target, kind string }{
		{"proc", "/proc", "proc"},
		{"sysfs", "/sys", "sysfs"},
		{"devtmpfs", "/dev", "devtmpfs"},
		{"tmpfs", "/run", "tmpfs"},
		{"tmpfs", "/tmp", "tmpfs"},
	} {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			log.Print(err)
		}
		if err := unix.Mount(m.source, m.target, m.kind, 0, ""); err != nil && err != unix.EBUSY {
			log.Printf("mount %s: %v", m.target, err)
		}
	}
	// The kernel opened no console before /dev was there.
	if console, err := os.OpenFile("/dev/console", os.O_RDWR, 0); err == nil {
		for fd := range 3 {
			if err := unix.Dup2(int(console.Fd()), fd); err != nil {
				log.Print(err)
			}
		}
	}
}

// loadModules inserts the modules listed in a file, one path a line, dependencies first.
func loadModules(list string) {
	content, err := os.ReadFile(list)
	if err != nil {
		log.Print(err)
		return
	}
	for path := range strings.FieldsSeq(string(content)) {
		file, err := os.Open(path)
		if err != nil {
			log.Print(err)
			continue
		}
		// A driver whose device is absent (firmware configuration, say) refuses to load; that is no fault.
		if err := unix.FinitModule(int(file.Fd()), "", 0); err != nil && err != unix.EEXIST && err != unix.ENODEV {
			log.Printf("load %s: %v", path, err)
		}
		file.Close()
	}
}

// agentOnItsChannel returns what runs the QEMU guest agent once the machine has a channel for it.
func agentOnItsChannel() func() {
	const channel = "/dev/virtio-ports/org.qemu.guest_agent.0"
	var started bool
	return func() {
		linkPorts()
		if started || !exists(channel) {
			return
		}
		started = true
		go func() {
			for {
				agent := exec.Command("/usr/sbin/qemu-ga", "--method=virtio-serial", "--path="+channel, "--statedir=/run")
				log.Printf("guest agent: %v", agent.Run())
				time.Sleep(time.Second)
			}
		}()
	}
}

// linkPorts does what udev does elsewhere: it names virtio serial ports under /dev/virtio-ports.
func linkPorts() {
	entries, _ := os.ReadDir("/sys/class/virtio-ports")
	for _, entry := range entries {
		name, err := os.ReadFile("/sys/class/virtio-ports/" + entry.Name() + "/name")
		if err != nil || strings.TrimSpace(string(name)) == "" {
			continue
		}
		if err := os.MkdirAll("/dev/virtio-ports", 0o755); err != nil {
			log.Print(err)
		}
		_ = os.Symlink("../"+entry.Name(), "/dev/virtio-ports/"+strings.TrimSpace(string(name)))
	}
}

// reapOrphans waits for dead children that nobody else waits for: those that a dead child left behind.
func reapOrphans() {
	dead := zombies()
	if len(dead) == 0 {
		return
	}
	// Children of exec.Command are waited for where they were started, long before this.
	time.Sleep(time.Second)
	still := zombies()
	for pid := range dead {
		if still[pid] {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// zombies returns the children that are dead and not waited for.
func zombies() map[int]bool {
	found := map[int]bool{}
	for field := range strings.FieldsSeq(readFile("/proc/1/task/1/children")) {
		if pid, err := strconv.Atoi(field); err == nil && strings.Contains(readFile("/proc/"+field+"/stat"), ") Z ") {
			found[pid] = true
		}
	}
	return found
}

func uptime() string {
	file, err := os.Open("/proc/uptime")
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	line, _ := bufio.NewReader(file).ReadString(' ')
	return strings.TrimSpace(line) + " s"
}

func powerOff() {
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		log.Printf("power off: %v", err)
	}
}

// kill stops a child; a child that is gone already is what was wanted.
func kill(command *exec.Cmd) {
	if command.Process != nil {
		_ = command.Process.Signal(syscall.SIGTERM)
	}
}
