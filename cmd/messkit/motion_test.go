package main

import (
	"fmt"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// newRover prepares a messkit run with a rover instead of a lamp.
func newRover(t *testing.T) *lampRun {
	l := newLampRun(t, "")
	text := l.configHead() + fmt.Sprintf("\ndevices: {rover: {driver: sim-rover, file: %s, limits: {confirm: never}}}\n", l.wire)
	if err := os.WriteFile(l.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// startMotion requests a motion, and waits until the rover moves.
func (l *lampRun) startMotion(words string) {
	l.Helper()
	l.asked++
	body := fmt.Sprintf(`{"id":"r-%d-%d","intent":%q}`, l.pid(), l.asked, words)
	if code, data, err := l.client.call(l.client.operator, http.MethodPost, "/requests", body); err != nil || code != http.StatusCreated {
		l.Fatalf("asked to %s: %d %s, %v", words, code, data, err)
	}
	l.wire.waitForState(l.T, true)
}

// lastMotion returns the duration of the last motion in the rover's own log.
func (l *lampRun) lastMotion() time.Duration {
	l.Helper()
	list := l.wire.commands(l.T)
	return list[len(list)-1].at.Sub(list[len(list)-2].at)
}

// A rover drives for the requested time, and its program ends the motion. The watchdog ends it
// only if the program is late, on a busy machine.
func TestTimedDriveEnds(t *testing.T) {
	for {
		l := newRover(t)
		l.start()
		watchdogPID := l.watchdogPID()
		l.startMotion("drive the rover forward for 1 second")
		by := l.wire.waitForState(t, false)
		if d := l.lastMotion(); d < 900*time.Millisecond {
			t.Errorf("the rover moved for %v, want 900ms at least", d)
		}
		l.kill()
		if by == l.pid() {
			return
		}
		if by != watchdogPID {
			t.Fatalf("process %d has stopped the rover, want the watchdog %d", by, watchdogPID)
		}
		t.Log("the watchdog has stopped the rover on a machine that is too busy; again")
	}
}

// The watchdog stops a rover after a kill or a freeze of its program. The rover stays stopped
// when the program continues.
func TestWatchdogStopsRover(t *testing.T) {
	for name, injectFault := range map[string]func(*lampRun){
		"killed": (*lampRun).kill,
		"frozen": func(l *lampRun) { l.signal(syscall.SIGSTOP) },
	} {
		for !checkRoverStops(t, name, injectFault) {
			t.Logf("%s: the rover stopped before the fault, on a machine that is too busy to renew a lease; again", name)
		}
	}
}

// checkRoverStops harms the program of a moving rover. It reports false if the program itself has
// stopped the rover before.
func checkRoverStops(t *testing.T, name string, injectFault func(*lampRun)) bool {
	l := newRover(t)
	l.start()
	watchdogPID := l.watchdogPID()
	l.startMotion("drive the rover forward for one minute")
	<-time.After(300 * time.Millisecond)
	at := time.Now()
	injectFault(l)
	by := l.wire.waitForState(t, false)
	inTime := by != l.pid()
	if inTime {
		if by != watchdogPID {
			t.Errorf("%s: process %d has stopped it, and the guard is %d", name, by, watchdogPID)
		}
		list := l.wire.commands(t)
		t.Logf("%s: the rover stopped after %v, and a lease is %v at most", name, list[len(list)-1].at.Sub(at), drivers.MaxLease)
	}
	if name == "frozen" {
		l.signal(syscall.SIGCONT)
		<-time.After(time.Second)
		if l.wire.lastState() != "off" {
			t.Error("the rover continues after the restart of its program")
		}
		l.kill()
	}
	l.waitForEnd(watchdogPID)
	return inTime
}
