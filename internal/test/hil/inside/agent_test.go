//go:build linux

package inside_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// agent is the complete messkit program: an executor with its exchange.
type agent struct {
	home string
	cmd  *exec.Cmd
}

// log returns the log of messkit and its watchdog. The log is a file, since the watchdog outlives
// the reader of a pipe.
func (a *agent) log() string {
	text, _ := os.ReadFile(filepath.Join(a.home, "log")) // empty before the file exists
	return string(text)
}

var served = regexp.MustCompile(`at (http://[0-9.:]+)`)

// launch runs messkit with devices.
func launch(t *testing.T, devices string) *agent {
	t.Helper()
	a := &agent{home: t.TempDir()}
	config := filepath.Join(a.home, "messkit.yaml")
	if err := os.WriteFile(config, []byte("agent: {clock: trusted}\ndevices:\n"+devices), 0o600); err != nil {
		t.Fatal(err)
	}
	a.cmd = exec.Command("/messkit", "run", "--config", config, "--listen", "127.0.0.1:0")
	a.cmd.Env = append(os.Environ(), "HOME="+a.home)
	log, err := os.Create(filepath.Join(a.home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	a.cmd.Stdout, a.cmd.Stderr = log, log
	if err := errors.Join(a.cmd.Start(), log.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.end(t)
		if t.Failed() {
			t.Logf("messkit's log:\n%s", a.log())
		}
	})
	eventually(t, "messkit serves", func() error {
		if served.FindString(a.log()) == "" {
			return errors.New(a.log())
		}
		return nil
	})
	return a
}

// end kills messkit and waits for its watchdog. Otherwise the watchdog would switch off devices
// of the next test.
func (a *agent) end(t *testing.T) {
	t.Helper()
	a.kill()
	eventually(t, "the watchdog has ended", waitForNoWatchdog)
}

// waitForNoWatchdog returns nil if no watchdog runs. A process without a command line has ended already,
// even if its parent has not waited for it.
func waitForNoWatchdog() error {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		if line, _ := os.ReadFile(name); strings.HasPrefix(string(line), "messkit\x00guard") {
			return fmt.Errorf("%s is one", name)
		}
	}
	return nil
}

// kill ends messkit like a crash. It does not kill the watchdog.
func (a *agent) kill() {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait() // killed above
}

// request sends a request in plain English and returns the output for a person.
func (a *agent) request(t *testing.T, words string, flags ...string) (string, error) {
	t.Helper()
	out, err := a.startRequest(words, append([]string{"--wait", "--save", a.home}, flags...)...).CombinedOutput()
	return string(out), err
}

// startRequest returns the ask command. Without --wait, the command ends when the exchange has accepted
// the request.
func (a *agent) startRequest(words string, flags ...string) *exec.Cmd {
	url := served.FindStringSubmatch(a.log())[1]
	c := exec.Command("/messkit", append([]string{"ask", words, "--url", url}, flags...)...)
	c.Env = append(os.Environ(), "HOME="+a.home)
	return c
}

// wantCompleted sends a request and expects completion, with evidence from a state readback.
func (a *agent) wantCompleted(t *testing.T, words string) {
	t.Helper()
	output, err := a.request(t, words)
	t.Logf("$ messkit ask %q --wait\n%s", words, output)
	if err != nil || !strings.Contains(output, "completed") || !strings.Contains(output, "read back") {
		t.Fatalf("%q: %v", words, err)
	}
}

// wantKernelLevel returns the line of the kernel's GPIO list (debugfs) with the device's label.
func wantKernelLevel(t *testing.T, device string) string {
	t.Helper()
	list, err := os.ReadFile("/sys/kernel/debug/gpio")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range strings.Split(string(list), "\n") {
		if strings.Contains(row, "|messkit ") && strings.Contains(row, device) {
			return row
		}
	}
	return ""
}

const porch = `
  porch-light:
    driver: gpiorelay
    class: light
    chip: cp2112_gpio
    line: "3"
    limits: {max_on: %s}
`

// A request in plain English passes the exchange, the safety policy and the driver. The kernel
// then reports the right level.
func TestBridgeAgentSwitches(t *testing.T) {
	b := plug(t)
	a := launch(t, fmt.Sprintf(porch, "1h"))
	if row := wantKernelLevel(t, "porch"); !strings.Contains(row, "out lo") {
		t.Errorf("at the start: %q", row)
	}
	a.wantCompleted(t, "turn on the porch light")
	if row := wantKernelLevel(t, "porch"); !strings.Contains(row, "out hi") || !b.level(t, 3) {
		t.Errorf("on: %q", row)
	}
	a.wantCompleted(t, "please switch off the porch light")
	if row := wantKernelLevel(t, "porch"); !strings.Contains(row, "out lo") || b.level(t, 3) {
		t.Errorf("off: %q", row)
	}
}

// After kill -9 with the relay on, the watchdog switches the relay to its safe level.
func TestBridgeWatchdogAfterKill(t *testing.T) {
	b := plug(t)
	a := launch(t, fmt.Sprintf(porch, "1h"))
	a.wantCompleted(t, "turn on the porch light")
	if !b.level(t, 3) {
		t.Fatal("the line is low, want high")
	}
	a.kill()
	eventually(t, "the relay is off", off(t, b, 3))
}

// If messkit freezes with the relay on, the watchdog takes over the line after max_on and
// switches it off.
func TestBridgeWatchdogAfterFreeze(t *testing.T) {
	b := plug(t)
	a := launch(t, fmt.Sprintf(porch, "12s"))
	a.wantCompleted(t, "turn on the porch light")
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if !b.level(t, 3) {
		t.Fatal("the line is low already, want high")
	}
	eventually(t, "the relay is off", off(t, b, 3))
}

func off(t *testing.T, b *remote, line int) func() error {
	return func() error {
		if b.level(t, line) {
			return errors.New("it is on")
		}
		return nil
	}
}

// If the bridge disappears during a task, the task fails, and the device works again when the
// bridge is back.
func TestBridgeDisappearsDuringTask(t *testing.T) {
	b := plug(t)
	a := launch(t, `
  gate-button:
    driver: gpiorelay
    label: gate button
    class: switch
    chip: cp2112_gpio
    line: "4"
    pulse: 4s
`)
	output := make(chan string)
	go func() {
		out, err := a.request(t, "turn on the gate button")
		output <- fmt.Sprint(out, err)
	}()
	eventually(t, "the button is pressed", func() error {
		if !b.level(t, 4) {
			return errors.New("it is not")
		}
		return nil
	})
	b.unplug()
	out := <-output
	t.Logf("$ messkit ask \"turn on the gate button\" --wait\n%s", out)
	if strings.Contains(out, "completed") || !strings.Contains(out, "failed") {
		t.Errorf("output is %s, want failed", out)
	}
	b = plug(t)
	if out, err := a.request(t, "turn on the gate button"); err != nil || !strings.Contains(out, "completed") {
		t.Errorf("when it is back: %v\n%s", err, out)
	}
	if b.level(t, 4) {
		t.Error("the button is still pressed")
	}
	a.end(t) // before the bridge disappears
}
