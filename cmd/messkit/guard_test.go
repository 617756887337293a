package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/daemon/watchdog"
)

// note is one line of a wire file: one switch command.
type note struct {
	at time.Time
	on bool
	by int // process ID
}

func (w wire) notes(t *testing.T) []note {
	t.Helper()
	text, err := os.ReadFile(string(w))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var list []note
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		at, err := time.Parse(time.RFC3339Nano, words[0])
		by, err2 := strconv.Atoi(words[2])
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		list = append(list, note{at, words[1] == "on", by})
	}
	return list
}

// turns waits until the wire is on or off, and returns the ID of the process that switched it.
func (w wire) turns(t *testing.T, on bool) (by int) {
	t.Helper()
	eventually(t, "the lamp is "+map[bool]string{true: "on", false: "off"}[on], func() bool {
		list := w.notes(t)
		if len(list) == 0 || list[len(list)-1].on != on {
			return false
		}
		by = list[len(list)-1].by
		return true
	})
	return by
}

func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if ask() {
			return
		}
	}
	t.Fatalf("%s: not within %v", what, patience)
}

// lit is a messkit run in a separate process, with a lamp and a watchdog.
type lit struct {
	*testing.T
	wire   wire
	dir    string
	config string
	cmd    *exec.Cmd
	door   *door
	log    *os.File // a file, because a remaining watchdog keeps it open, and exec would wait for the end of a pipe
	asked  int
}

// newLit prepares a messkit run without starting it. keys are the YAML keys of the lamp.
func newLit(t *testing.T, keys string) *lit {
	l := &lit{T: t, dir: t.TempDir()}
	l.wire = wire(filepath.Join(l.dir, "wire"))
	l.config = l.wire.config(t, l.head(), keys)
	var err error
	if l.log, err = os.Create(filepath.Join(l.dir, "said")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("messkit said:\n%s", l.said())
		}
		_ = l.log.Close()
	})
	return l
}

// said returns the log so far.
func (l *lit) said() string {
	text, err := os.ReadFile(l.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// head returns the configuration without the devices.
func (l *lit) head() string {
	return fmt.Sprintf("exchange: {data: %[1]s, listen: '127.0.0.1:0'}\nagent: {data: %[1]s}", l.dir)
}

// start runs messkit until it serves. The process ends with the test.
func (l *lit) start() {
	l.Helper()
	l.cmd = exec.Command(os.Args[0], "run", "--config", l.config)
	l.cmd.Args[0] = "messkit" // this name makes the test binary run as messkit
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	l.cmd.Stderr = l.log
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		l.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		l.Fatalf("%v\n%s", err, l.said())
	}
	key, err := operatorKey(l.dir)
	if err != nil {
		l.Fatal(err)
	}
	l.door = newDoor(strings.TrimSpace(line[strings.Index(line, "http://"):])+"/api/v1/exchanges/home", key, "")
}

func (l *lit) pid() int { return l.cmd.Process.Pid }

func (l *lit) signal(s syscall.Signal) {
	l.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.Fatal(err)
	}
}

// kill ends the process and the rest of its process group with SIGKILL.
func (l *lit) kill() {
	l.Helper()
	if err := syscall.Kill(-l.pid(), syscall.SIGKILL); err != nil {
		l.Fatal(err)
	}
	_ = l.cmd.Wait() // its error reports the kill
}

// interrupt ends the process with SIGINT, as Ctrl-C does.
func (l *lit) interrupt() {
	l.Helper()
	l.signal(syscall.SIGINT)
	if err := l.cmd.Wait(); err != nil {
		l.Error(err)
	}
}

// turnOn requests light, and does not wait for the result.
func (l *lit) turnOn() {
	l.Helper()
	l.asks("turn on the lamp")
}

// asks sends a request, and does not wait for the result.
func (l *lit) asks(intent string) {
	l.Helper()
	l.asked++
	body := fmt.Sprintf(`{"id":"r-%d-%d","intent":%q}`, l.pid(), l.asked, intent)
	if code, data, err := l.door.call(l.door.operator, http.MethodPost, "/requests", body); err != nil || code != http.StatusCreated {
		l.Fatalf("asked to %s: %d %s, %v", intent, code, data, err)
	}
}

// guard returns the process ID of the watchdog.
func (l *lit) guard() (pid int) {
	l.Helper()
	eventually(l.T, "there is a guard", func() bool {
		for _, p := range processes(l.T) {
			if p.parent == l.pid() && p.name == "messkit-guard" {
				pid = p.pid
				return true
			}
		}
		return false
	})
	return pid
}

// proc is a process of this machine.
type proc struct {
	pid, parent int
	name        string
}

// processes lists all processes of this machine that still run.
func processes(t *testing.T) []proc {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Fatalf("no processes, %v", err)
	}
	var list []proc
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var p proc
		var state string
		open, end := strings.IndexByte(string(data), '('), strings.LastIndexByte(string(data), ')')
		p.name = string(data[open+1 : end])
		_, err = fmt.Sscan(string(data[:open]), &p.pid)
		_, err2 := fmt.Sscan(string(data[end+1:]), &state, &p.parent)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if state != "Z" {
			list = append(list, p)
		}
	}
	return list
}

func isThere(t *testing.T, pid int) bool {
	return slices.ContainsFunc(processes(t), func(p proc) bool { return p.pid == pid })
}

func (l *lit) ends(pid int) {
	l.Helper()
	eventually(l.T, fmt.Sprintf("process %d has ended", pid), func() bool { return !isThere(l.T, pid) })
}

// The watchdog of a killed program brings the lamp to its safe state, and terminates.
func TestWatchdogOfKilledProgramSwitchesOff(t *testing.T) {
	for keys, what := range map[string]string{
		"limits: {max_on: 1h}":                   "off is what is safe",
		"limits: {max_on: 3s}, safe: keep":       "its time is over",
		"initial: 'on', limits: {max_on: 300ms}": "on from the start",
	} {
		l := newLit(t, keys)
		l.start()
		guard := l.guard()
		l.turnOn()
		l.wire.turns(t, true)
		l.kill()
		if by := l.wire.turns(t, false); by != guard && what != "on from the start" {
			t.Errorf("%s: process %d has switched it off, and the guard is %d", what, by, guard)
		}
		l.ends(guard)
	}
}

// The lamp goes off in time while the program is frozen. When the program continues, the lamp
// accepts new requests.
func TestWatchdogOfFrozenProgramSwitchesOff(t *testing.T) {
	l := newLit(t, "limits: {max_on: 500ms}, safe: keep")
	l.start()
	guard := l.guard()
	l.turnOn()
	l.wire.turns(t, true)
	l.signal(syscall.SIGSTOP)
	if by := l.wire.turns(t, false); by != guard && by != l.pid() {
		t.Errorf("process %d has switched it off", by)
	}
	l.signal(syscall.SIGCONT)
	eventually(t, "messkit knows that its time is over", func() bool { return strings.Contains(l.said(), "switched off after its time") })
	l.turnOn()
	l.wire.turns(t, true)
	l.wire.turns(t, false)
	l.kill()
	l.ends(guard)
}

// The signals that end the program do not end its watchdog. The program replaces a killed
// watchdog, and the new one knows which outputs are on.
func TestKilledWatchdogIsReplaced(t *testing.T) {
	l := newLit(t, "limits: {max_on: 1h}")
	l.start()
	l.turnOn()
	l.wire.turns(t, true)
	first := l.guard()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
		if ignored := ignoredSignals(t, first); ignored>>(s-1)&1 == 0 {
			t.Errorf("%v ends a guard; ignored are %b", s, ignored)
		}
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.ends(first)
	second := l.guard()
	eventually(t, "the second guard knows everything", func() bool { return strings.Count(l.said(), "the watchdog runs") == 2 })
	if list := l.wire.notes(t); !list[len(list)-1].on {
		t.Errorf("the lamp went off when the guard was killed: %v", list)
	}
	l.kill()
	if by := l.wire.turns(t, false); by != second {
		t.Errorf("process %d has switched it off, and the guard is %d", by, second)
	}
	l.ends(second)
}

// ignoredSignals returns a bit mask of the ignored signals; bit 0 is signal 1.
func ignoredSignals(t *testing.T, pid int) (mask uint64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "SigIgn:")
	if _, err := fmt.Sscanf(rest, "%x", &mask); err != nil {
		t.Fatal(err)
	}
	return mask
}

// If the program and its watchdog die together, the next start turns the lamp off before it
// serves.
func TestNextStartSwitchesOffAfterBothAreKilled(t *testing.T) {
	l := newLit(t, "limits: {max_on: 1h}")
	l.start()
	l.turnOn()
	l.wire.turns(t, true)
	guard := l.guard()
	l.signal(syscall.SIGSTOP) // it must not start another watchdog
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.ends(guard)
	l.kill()
	if l.wire.last() != "on" {
		t.Fatal("somebody else has switched it off")
	}
	l.start()
	if l.wire.last() != "off" {
		t.Error("it serves, and the lamp is on")
	}
	l.kill()
}

// At a graceful shutdown the program turns the lamp off, and its watchdog terminates.
func TestWatchdogEndsWithProgram(t *testing.T) {
	l := newLit(t, "limits: {max_on: 1h}")
	l.start()
	guard := l.guard()
	l.turnOn()
	l.wire.turns(t, true)
	l.interrupt()
	if by := l.wire.turns(t, false); by != l.cmd.ProcessState.Pid() {
		t.Errorf("process %d has switched it off", by)
	}
	l.ends(guard)
}

// A lamp with `safe: keep` and max_on stays on when messkit ends, and the watchdog stays for it.
// The watchdog of the next run takes the lamp over, even if the new configuration lacks it.
func TestNextWatchdogTakesOverKeptOutput(t *testing.T) {
	l := newLit(t, "limits: {max_on: 1h}, safe: keep")
	l.start()
	first := l.guard()
	l.turnOn()
	l.wire.turns(t, true)
	l.interrupt()
	if !isThere(t, first) {
		t.Fatal("nobody is left to switch the lamp off")
	}
	l.config = wire(filepath.Join(l.dir, "another")).config(t, l.head(), "safe: keep")
	l.start()
	second := l.guard()
	l.ends(first)
	will := filepath.Join(l.dir, "guard")
	eventually(t, "the second has read what is left", func() bool {
		text, err := os.ReadFile(will)
		return err == nil && len(text) > 0 && strings.TrimSpace(string(text)) == ""
	})
	l.interrupt()
	if !isThere(t, second) || l.wire.last() != "on" {
		t.Errorf("the lamp is %s, and nobody is left to switch it off", l.wire.last())
	}
	l.start()
	l.ends(second)
	third := l.guard()
	l.kill()
	if err := syscall.Kill(third, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// A log without a reader does not block a watchdog.
func TestUnreadLogDoesNotBlockWatchdog(t *testing.T) {
	r, w := io.Pipe()
	n := watchdog.NewLog(w)
	for range 1000 {
		if _, err := n.Write([]byte("made safe\n")); err != nil {
			t.Fatal(err)
		}
	}
	line := make([]byte, 100)
	if got, err := r.Read(line); err != nil || string(line[:got]) != "made safe\n" {
		t.Errorf("%q, %v", line[:got], err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	n.End()
}

// A watchdog opens no network sockets. Without a device that needs it there is no watchdog.
func TestWatchdogOpensNoSockets(t *testing.T) {
	l := newLit(t, "safe: 'off'")
	l.start()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", l.guard()))
	if err != nil || len(fds) < 3 {
		t.Fatalf("%v, %v", fds, err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") {
			t.Errorf("%s is %s", fd, to)
		}
	}
	l.kill()
	if err := os.WriteFile(l.config, []byte(l.head()+"\ndevices: {lamp: {driver: sim-lamp}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	for _, p := range processes(t) {
		if p.parent == l.pid() {
			t.Errorf("%+v", p)
		}
	}
	l.kill()
}
