package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/messkit/messkit/internal/daemon/watchdog"
)

// The watchdog of a killed program brings the lamp to its safe state, and terminates.
func TestWatchdogOfKilledProgramSwitchesOff(t *testing.T) {
	for keys, what := range map[string]string{
		"limits: {max_on: 1h}":                   "off is what is safe",
		"limits: {max_on: 3s}, safe: keep":       "its time is over",
		"initial: 'on', limits: {max_on: 300ms}": "on from the start",
	} {
		l := newLampRun(t, keys)
		l.start()
		watchdogPID := l.watchdogPID()
		l.turnOn()
		l.wire.waitForState(t, true)
		l.kill()
		if by := l.wire.waitForState(t, false); by != watchdogPID && what != "on from the start" {
			t.Errorf("%s: process %d has switched the lamp off, want the watchdog %d", what, by, watchdogPID)
		}
		l.waitForEnd(watchdogPID)
	}
}

// The lamp goes off in time while the program is frozen. When the program continues, the lamp
// accepts new requests.
func TestWatchdogOfFrozenProgramSwitchesOff(t *testing.T) {
	l := newLampRun(t, "limits: {max_on: 500ms}, safe: keep")
	l.start()
	watchdogPID := l.watchdogPID()
	l.turnOn()
	l.wire.waitForState(t, true)
	l.signal(syscall.SIGSTOP)
	if by := l.wire.waitForState(t, false); by != watchdogPID && by != l.pid() {
		t.Errorf("process %d has switched it off", by)
	}
	l.signal(syscall.SIGCONT)
	eventually(t, "messkit reports that its time is over", func() bool { return strings.Contains(l.logText(), "switched off after its time") })
	l.turnOn()
	l.wire.waitForState(t, true)
	l.wire.waitForState(t, false)
	l.kill()
	l.waitForEnd(watchdogPID)
}

// The signals that end the program do not end its watchdog. The program replaces a killed
// watchdog, and the new one knows which outputs are on.
func TestKilledWatchdogIsReplaced(t *testing.T) {
	l := newLampRun(t, "limits: {max_on: 1h}")
	l.start()
	l.turnOn()
	l.wire.waitForState(t, true)
	first := l.watchdogPID()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
		if ignored := ignoredSignals(t, first); ignored>>(s-1)&1 == 0 {
			t.Errorf("%v ends a guard; ignored are %b", s, ignored)
		}
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.waitForEnd(first)
	second := l.watchdogPID()
	eventually(t, "the second watchdog has every device", func() bool { return strings.Count(l.logText(), "the watchdog runs") == 2 })
	if list := l.wire.commands(t); !list[len(list)-1].on {
		t.Errorf("the lamp went off with the kill of the watchdog: %v", list)
	}
	l.kill()
	if by := l.wire.waitForState(t, false); by != second {
		t.Errorf("process %d has switched the lamp off, want the watchdog %d", by, second)
	}
	l.waitForEnd(second)
}

// If the program and its watchdog die together, the next start turns the lamp off before it
// serves.
func TestNextStartSwitchesOffAfterBothAreKilled(t *testing.T) {
	l := newLampRun(t, "limits: {max_on: 1h}")
	l.start()
	l.turnOn()
	l.wire.waitForState(t, true)
	watchdogPID := l.watchdogPID()
	l.signal(syscall.SIGSTOP) // it must not start another watchdog
	if err := syscall.Kill(watchdogPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.waitForEnd(watchdogPID)
	l.kill()
	if l.wire.lastState() != "on" {
		t.Fatal("the lamp is off before its time, want on")
	}
	l.start()
	if l.wire.lastState() != "off" {
		t.Error("the lamp is on after the start, want off")
	}
	l.kill()
}

// At a graceful shutdown the program turns the lamp off, and its watchdog terminates.
func TestWatchdogEndsWithProgram(t *testing.T) {
	l := newLampRun(t, "limits: {max_on: 1h}")
	l.start()
	watchdogPID := l.watchdogPID()
	l.turnOn()
	l.wire.waitForState(t, true)
	l.interrupt()
	if by := l.wire.waitForState(t, false); by != l.cmd.ProcessState.Pid() {
		t.Errorf("process %d has switched it off", by)
	}
	l.waitForEnd(watchdogPID)
}

// A lamp with `safe: keep` and max_on stays on when messkit ends, and the watchdog stays for it.
// The watchdog of the next run takes the lamp over, even if the new configuration lacks it.
func TestNextWatchdogTakesOverKeptOutput(t *testing.T) {
	l := newLampRun(t, "limits: {max_on: 1h}, safe: keep")
	l.start()
	first := l.watchdogPID()
	l.turnOn()
	l.wire.waitForState(t, true)
	l.interrupt()
	if !isRunning(t, first) {
		t.Fatal("no process is left to switch the lamp off")
	}
	l.config = outputFile(filepath.Join(l.dir, "another")).writeConfig(t, l.configHead(), "safe: keep")
	l.start()
	second := l.watchdogPID()
	l.waitForEnd(first)
	will := filepath.Join(l.dir, "guard")
	eventually(t, "the second has read what is left", func() bool {
		text, err := os.ReadFile(will)
		return err == nil && len(text) > 0 && strings.TrimSpace(string(text)) == ""
	})
	l.interrupt()
	if !isRunning(t, second) || l.wire.lastState() != "on" {
		t.Errorf("the lamp is %s, and no process is left to switch it off", l.wire.lastState())
	}
	l.start()
	l.waitForEnd(second)
	third := l.watchdogPID()
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
	l := newLampRun(t, "safe: 'off'")
	l.start()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", l.watchdogPID()))
	if err != nil || len(fds) < 3 {
		t.Fatalf("%v, %v", fds, err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") {
			t.Errorf("%s is %s", fd, to)
		}
	}
	l.kill()
	if err := os.WriteFile(l.config, []byte(l.configHead()+"\ndevices: {lamp: {driver: sim-lamp}}\n"), 0o600); err != nil {
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
