package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli"
)

// outputFile is a file in which the simulated lamp logs its switch commands, independently of messkit's
// reports.
type outputFile string

// newOutputFile returns a wire that an earlier run has left on.
func newOutputFile(t *testing.T) outputFile {
	t.Helper()
	w := outputFile(filepath.Join(t.TempDir(), "wire"))
	if err := os.WriteFile(string(w), []byte("2026-11-21T09:00:00Z on 1 \"before\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// lastState returns the last state of the wire: on or off.
func (w outputFile) lastState() string {
	notes, err := os.ReadFile(string(w))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(notes)), "\n")
	return strings.Fields(lines[len(lines)-1])[1]
}

// writeConfig writes a configuration with the lamp, and returns its file name.
func (w outputFile) writeConfig(t *testing.T, head, lamp string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "messkit.yaml")
	text := fmt.Sprintf("%s\ndevices:\n  lamp: {driver: sim-lamp, file: %s, %s}\n", head, w, lamp)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Outputs are in their safe state at the start, even without the exchange, its disk or the
// journal.
func TestOutputsAreSafeWithoutExchange(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	folder := t.TempDir()
	inTheWay := filepath.Join(folder, "file")
	corrupt := filepath.Join(folder, "corrupt")
	for _, err := range []error{
		os.WriteFile(inTheWay, nil, 0o600), os.MkdirAll(filepath.Join(corrupt, "log"), 0o700),
		os.WriteFile(filepath.Join(corrupt, "log", "00000000000000000001.wal"), []byte("no log"), 0o600),
		os.WriteFile(filepath.Join(corrupt, "operator.key"), []byte("\x00"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	own := func(data, listen string) string {
		return fmt.Sprintf("exchange: {data: %s, listen: '%s'}\nagent: {data: %s}", data, listen, data)
	}
	for name, head := range map[string]string{
		"no folder":       own(inTheWay, "127.0.0.1:0"),
		"corrupt folder":  own(corrupt, "127.0.0.1:0"),
		"no port":         own(filepath.Join(folder, "a"), taken.Addr().String()),
		"no journal":      fmt.Sprintf("exchange: {data: %s, listen: '127.0.0.1:0'}\nagent: {data: %s}", filepath.Join(folder, "b"), inTheWay),
		"no exchange":     fmt.Sprintf("connect: {url: 'http://127.0.0.1:1', key_file: %s}", filepath.Join(folder, "key")),
		"a key in a file": fmt.Sprintf("connect: {url: 'http://127.0.0.1:1', key_file: %s}", filepath.Join(inTheWay, "key")),
	} {
		for lamp, what := range map[string]string{
			"initial: 'off', safe: keep": "the initial state", "initial: keep, safe: 'off'": "the safe state",
		} {
			w := newOutputFile(t)
			var errs bytes.Buffer
			if code := cli.Main([]string{"run", "--config", w.writeConfig(t, head, lamp)}, strings.NewReader(""), io.Discard, &errs); code != cli.ExitFailed {
				t.Errorf("%s: exit %d\n%s", name, code, &errs)
			}
			if w.lastState() != "off" {
				t.Errorf("%s: %s was not taken: %s\n%s", name, what, w.lastState(), &errs)
			}
		}
	}
}

// The program puts outputs into their safe state before its first message to a remote exchange.
func TestOutputsAreSafeBeforeTheNetwork(t *testing.T) {
	w := newOutputFile(t)
	received := make(chan string, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		select {
		case received <- w.lastState():
		default:
		}
		rw.WriteHeader(http.StatusForbidden)
	}))
	defer elsewhere.Close()
	head := fmt.Sprintf("connect: {url: '%s', key_file: %s}", elsewhere.URL, filepath.Join(t.TempDir(), "key"))
	if code := cli.Main([]string{"run", "--config", w.writeConfig(t, head, "initial: 'off'")}, strings.NewReader(""), io.Discard, io.Discard); code != cli.ExitFailed {
		t.Errorf("exit %d", code)
	}
	select {
	case first := <-received:
		if first != "off" {
			t.Errorf("the lamp was %s at the first message to the exchange, want off", first)
		}
	default:
		t.Error("the exchange has received no message")
	}
}
