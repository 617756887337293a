package main

import (
	"bufio"
	"errors"
	"fmt"
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
)

// switchCommand is one line of a wire file: one switch command.
type switchCommand struct {
	at time.Time
	on bool
	by int // process ID
}

func (w outputFile) commands(t *testing.T) []switchCommand {
	t.Helper()
	text, err := os.ReadFile(string(w))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var list []switchCommand
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		at, err := time.Parse(time.RFC3339Nano, words[0])
		by, err2 := strconv.Atoi(words[2])
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		list = append(list, switchCommand{at, words[1] == "on", by})
	}
	return list
}

// waitForState waits until the wire is on or off, and returns the ID of the process that switched it.
func (w outputFile) waitForState(t *testing.T, on bool) (by int) {
	t.Helper()
	eventually(t, "the lamp is "+map[bool]string{true: "on", false: "off"}[on], func() bool {
		list := w.commands(t)
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

// lampRun is a messkit run in a separate process, with a lamp and a watchdog.
type lampRun struct {
	*testing.T
	wire   outputFile
	dir    string
	config string
	cmd    *exec.Cmd
	client *apiClient
	log    *os.File // a file, because a remaining watchdog keeps it open, and exec would wait for the end of a pipe
	asked  int
}

// newLampRun prepares a messkit run without starting it. keys are the YAML keys of the lamp.
func newLampRun(t *testing.T, keys string) *lampRun {
	l := &lampRun{T: t, dir: t.TempDir()}
	l.wire = outputFile(filepath.Join(l.dir, "wire"))
	l.config = l.wire.writeConfig(t, l.configHead(), keys)
	var err error
	if l.log, err = os.Create(filepath.Join(l.dir, "said")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of messkit:\n%s", l.logText())
		}
		_ = l.log.Close()
	})
	return l
}

// logText returns the log so far.
func (l *lampRun) logText() string {
	text, err := os.ReadFile(l.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// configHead returns the configuration without the devices.
func (l *lampRun) configHead() string {
	return fmt.Sprintf("exchange: {data: %[1]s, listen: '127.0.0.1:0'}\nagent: {data: %[1]s}", l.dir)
}

// start runs messkit until it serves. The process ends with the test.
func (l *lampRun) start() {
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
		l.Fatalf("%v\n%s", err, l.logText())
	}
	key, err := operatorKey(l.dir)
	if err != nil {
		l.Fatal(err)
	}
	l.client = newAPIClient(strings.TrimSpace(line[strings.Index(line, "http://"):])+"/api/v1/exchanges/home", key, "")
}

func (l *lampRun) pid() int { return l.cmd.Process.Pid }

func (l *lampRun) signal(s syscall.Signal) {
	l.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.Fatal(err)
	}
}

// kill ends the process and the rest of its process group with SIGKILL.
func (l *lampRun) kill() {
	l.Helper()
	if err := syscall.Kill(-l.pid(), syscall.SIGKILL); err != nil {
		l.Fatal(err)
	}
	_ = l.cmd.Wait() // its error reports the kill
}

// interrupt ends the process with SIGINT, as Ctrl-C does.
func (l *lampRun) interrupt() {
	l.Helper()
	l.signal(syscall.SIGINT)
	if err := l.cmd.Wait(); err != nil {
		l.Error(err)
	}
}

// turnOn requests light, and does not wait for the result.
func (l *lampRun) turnOn() {
	l.Helper()
	l.request("turn on the lamp")
}

// request sends a request, and does not wait for the result.
func (l *lampRun) request(intent string) {
	l.Helper()
	l.asked++
	body := fmt.Sprintf(`{"id":"r-%d-%d","intent":%q}`, l.pid(), l.asked, intent)
	if code, data, err := l.client.call(l.client.operator, http.MethodPost, "/requests", body); err != nil || code != http.StatusCreated {
		l.Fatalf("asked to %s: %d %s, %v", intent, code, data, err)
	}
}

// watchdogPID returns the process ID of the watchdog.
func (l *lampRun) watchdogPID() (pid int) {
	l.Helper()
	eventually(l.T, "the watchdog runs", func() bool {
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

func isRunning(t *testing.T, pid int) bool {
	return slices.ContainsFunc(processes(t), func(p proc) bool { return p.pid == pid })
}

func (l *lampRun) waitForEnd(pid int) {
	l.Helper()
	eventually(l.T, fmt.Sprintf("process %d has ended", pid), func() bool { return !isRunning(l.T, pid) })
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
