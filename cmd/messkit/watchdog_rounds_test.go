package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// faultRounds lists the faults of the rounds. Each hits messkit or its watchdog at a random
// moment while the lamp goes on.
var faultRounds = []struct {
	name string
	safe string // the lamp's safe state
	harm func(*lampRun, int)
}{
	{"killed, the lamp's time runs on", "keep", func(l *lampRun, watchdog int) { l.kill(); l.waitForEnd(watchdog) }},
	{"killed, the lamp goes off at once", "'off'", func(l *lampRun, watchdog int) { l.kill(); l.waitForEnd(watchdog) }},
	{"frozen", "keep", func(l *lampRun, _ int) { l.signal(syscall.SIGSTOP) }},
	{"watchdog killed", "keep", func(_ *lampRun, watchdog int) { _ = syscall.Kill(watchdog, syscall.SIGKILL) }},
	{"watchdog frozen", "keep", func(_ *lampRun, watchdog int) { _ = syscall.Kill(watchdog, syscall.SIGSTOP) }},
}

const (
	roundDuration = 300 * time.Millisecond // max_on of the lamp
	late          = 100 * time.Millisecond // allowed delay (I10)
)

// The lamp goes off after a fault of messkit or of its watchdog at any moment. `make guard`
// measures the delay, alone on the machine.
func TestLampGoesOffAfterFault(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes for some seconds")
	}
	rounds, err := strconv.Atoi(os.Getenv("MESSKIT_GUARD"))
	measured := err == nil
	if !measured {
		rounds = len(faultRounds)
	}
	over := make([][]time.Duration, len(faultRounds)) // delays beyond max_on, one for each time on
	for i := range rounds {
		kind := i % len(faultRounds)
		over[kind] = append(over[kind], runFaultRound(t, kind)...)
	}
	on, inTime := 0, 0
	for kind, list := range over {
		slices.Sort(list)
		in := len(list)
		for in > 0 && list[in-1] > late {
			in--
		}
		on, inTime = on+len(list), inTime+in
		t.Logf("%-34s %s", faultRounds[kind].name, formatDelays(list, in))
	}
	t.Logf("%d rounds: the lamp was on %d times, and off within max_on + %v in %d of %d", rounds, on, late, inTime, on)
	if measured && (inTime < on || on < rounds/2) {
		t.Error("the lamp was on for too long, or too few rounds give a result")
	}
}

// formatDelays formats sorted delays beyond max_on.
func formatDelays(list []time.Duration, inTime int) string {
	if len(list) == 0 {
		return "was never on"
	}
	at := func(part float64) time.Duration {
		return list[int(part*float64(len(list)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("in time %d of %d; beyond max_on: least %v, median %v, p90 %v, p99 %v, most %v",
		inTime, len(list), at(0), at(0.5), at(0.9), at(0.99), at(1))
}

// runFaultRound runs one round, and returns the delay beyond max_on of each time that the lamp was on.
func runFaultRound(t *testing.T, kind int) (over []time.Duration) {
	t.Helper()
	what := faultRounds[kind]
	l := newLampRun(t, fmt.Sprintf("limits: {max_on: %v}, safe: %s", roundDuration, what.safe))
	l.start()
	watchdogPID := l.watchdogPID()
	l.turnOn()
	<-time.After(time.Duration(rand.Int64N(int64(roundDuration))))
	what.harm(l, watchdogPID)
	if l.cmd.ProcessState == nil {
		l.waitUntilOff()
		// A frozen or restarted watchdog terminates with the program.
		_ = syscall.Kill(watchdogPID, syscall.SIGCONT)
		l.kill()
	}
	list := l.wire.commands(t)
	for i, n := range list {
		switch {
		case !n.on:
		case i == len(list)-1:
			t.Fatalf("%s: it stays on: %v", what.name, list)
		default:
			over = append(over, list[i+1].at.Sub(n.at)-roundDuration)
			if i == len(list)-2 { // the write itself, by the kernel's clock, may be later
				over[len(over)-1] = max(over[len(over)-1], l.wire.lastWritten(t).Sub(n.at)-roundDuration)
			}
		}
	}
	return over
}

// lastWritten returns the time of the last switch command, by the kernel's clock.
func (w outputFile) lastWritten(t *testing.T) time.Time {
	t.Helper()
	info, err := os.Stat(string(w))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// waitUntilOff waits until the lamp stays off: it was on before, or the frozen program will never
// turn it on.
func (l *lampRun) waitUntilOff() {
	l.Helper()
	quiet := time.Now()
	seen, was := 0, false
	eventually(l.T, "the lamp is off for good", func() bool {
		list := l.wire.commands(l.T)
		if len(list) != seen {
			seen, quiet = len(list), time.Now()
			was = slices.ContainsFunc(list, func(n switchCommand) bool { return n.on })
		}
		return seen > 0 && !list[seen-1].on && (was || time.Since(quiet) > 3*roundDuration)
	})
}
