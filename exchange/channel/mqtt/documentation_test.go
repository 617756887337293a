package mqtt_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/messkit/messkit/internal/broker"
)

// pageCommands reads the commands of docs/reference/mqtt.md, for the broker at an address.
func pageCommands(t *testing.T, port string) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/mqtt.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	in := false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```"):
			in = strings.HasPrefix(line, "```sh")
		case in && strings.HasPrefix(line, "mosquitto_"):
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			list = append(list, name+" -p "+port+" "+rest)
		}
	}
	return list
}

// The commands of the page have the documented effect with Debian's mosquitto.
func TestCommandsOfDocumentation(t *testing.T) {
	if _, err := exec.LookPath("mosquitto_pub"); err != nil {
		t.Skip("mosquitto_pub is missing; apt-get install mosquitto mosquitto-clients")
	}
	m := newMosquittoHarness(t, "allow_anonymous true\n")
	m.startAdapter(broker.Address{})
	pi := m.connect(login{id: "pi"}).listen(root+"e/pi/in", root+"e/pi/now")
	pi.publishWith(root+"e/pi/status", `{"state":"ready","epoch":5}`, 1, true)
	m.eventually("the executor is registered", func() bool {
		pi.publish(root+"e/pi/out", `{"id":"reg","MESS":[{"config":{"executor":{"id":"pi","capabilities":["take-photo"],"holding":[]}}}]}`)
		return pi.count(`"re":"reg"`) > 0
	})
	_, port, _ := strings.Cut(m.addr, ":")
	commands := pageCommands(t, port)
	if len(commands) != 8 {
		t.Fatalf("%d commands in the page: %q", len(commands), commands)
	}
	received := &output{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	sub := exec.CommandContext(ctx, "sh", "-c", "exec "+commands[0])
	sub.Stdout = received
	if err := sub.Start(); err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { _ = sub.Wait() })
	defer wg.Wait()
	defer cancel()
	m.eventually("a client has subscribed", func() bool { // repeats a message until the subscriber gets one
		m.connect(login{id: "probe"}).publish(root+"a/me/in", `probe`)
		return received.has("probe")
	})
	for i, want := range map[int][]string{1: {`"re":"fridge-1"`, "what is in the fridge?"}} {
		run(t, commands[i])
		m.eventually(commands[i], func() bool { return received.has(want[0]) && pi.count(want[1]) > 0 })
	}
	ref := m.offeredRef(pi)
	m.claim(pi, ref)
	m.eventually("the claim has arrived", func() bool { return received.has(`"code":"claimed"`) })
	run(t, commands[2])
	m.eventually(commands[2], func() bool { return received.has("take-photo") })
	run(t, commands[3])
	m.eventually(commands[3], func() bool { return received.has(`"re":"clean-1"`) })
	run(t, commands[4])
	m.eventually(commands[4], func() bool { return received.has(`"status":"cancelled"`) })
	shown := run(t, commands[5])
	for _, want := range []string{root + "x/status {\"state\":\"ready\"", root + "e/pi/status", root + "t/", `"status":"claimed"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s does not show %s:\n%s", commands[5], want, shown)
		}
	}
	run(t, commands[6])
	pi.waitForText("by anna")
	run(t, commands[7])
	if n := m.threads(); n != 2 {
		t.Errorf("%d threads", n)
	}
}

// run runs a command of the page.
func run(t *testing.T, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput()
	if e, ok := err.(*exec.ExitError); ok && e.ExitCode() == 27 && strings.Contains(command, "-W ") {
		err = nil // its time was over
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// output is the output of a background program.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) has(s string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(o.text.String(), s)
}
