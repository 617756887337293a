// Package firmware_test runs the programs for microcontrollers on this machine, against a real
// exchange, and checks the log of their pins.
package firmware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

const (
	program = "micropython-relay"
	enrol   = "abc-123"
	root    = "/api/v1/exchanges/home"
	soon    = time.Minute // timeout for each expected event on a busy machine
)

// python returns the command that runs the programs. The programs use the common part of
// MicroPython and Python, so python3 can replace micropython.
func python(t *testing.T) []string {
	t.Helper()
	for _, cmd := range [][]string{{"micropython"}, {"python3", "-B"}} {
		if path, err := exec.LookPath(cmd[0]); err == nil {
			t.Log("runs under", path)
			return append([]string{path}, cmd[1:]...)
		}
	}
	t.Skip("neither micropython nor python3 is installed, so the firmware is not run; on Debian: apt-get install micropython")
	return nil
}

// bench contains an exchange, a requester, and a board's files.
type bench struct {
	testing.TB
	python []string
	dir    string // the board's flash, and its pin's log
	url    string
	key    string // the agent's
	x      *exchange.Exchange
	cut    atomic.Pointer[cut]
	board  *exec.Cmd
	ended  chan struct{}
}

// cut describes a fault for the next message with a status code.
type cut struct {
	code   mess.Code
	arrive bool          // the message arrives, and only its answer is lost
	hung   chan struct{} // if set, the message hangs, and wire closes the channel
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{TB: t, python: python(t), dir: t.TempDir()}
	log := slog.New(slog.DiscardHandler)
	k, err := keys.Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	if b.x, err = exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), time.Now, log); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.x.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	if b.key, err = k.Issue("agent", exchange.Requester); err != nil {
		t.Fatal(err)
	}
	api := httpapi.New(b.x, k, httpapi.Config{EnrollmentCode: enrol}, log)
	s := httptest.NewServer(b.wire(api.Handler()))
	t.Cleanup(s.Close)
	b.url = s.URL
	b.flash()
	return b
}

// wire simulates the network between board and exchange. The HTTP API sees the board as another
// machine.
func (b *bench) wire(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "192.0.2.7:5000"
		c := b.cut.Load()
		if c == nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/mess") {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if m, err := mess.Parse(body); err != nil || !hasStatus(m, c.code) || !b.cut.CompareAndSwap(c, nil) {
			next.ServeHTTP(w, r)
			return
		}
		if c.arrive {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		if c.hung != nil {
			close(c.hung)
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler) // the connection breaks
	})
}

func hasStatus(m mess.Message, code mess.Code) bool {
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok && s.Code == code {
			return true
		}
	}
	return false
}

// flash copies the program to the board, with a config for this exchange.
func (b *bench) flash() {
	b.Helper()
	for _, from := range []string{"main.py", "board.py", "testdata/machine.py", "testdata/network.py"} {
		data, err := os.ReadFile(filepath.Join(program, from))
		if err != nil {
			b.Fatal(err)
		}
		b.file(filepath.Base(from), string(data))
	}
	b.config(nil)
}

// config writes the example's config.json for this exchange, with changed values.
func (b *bench) config(change map[string]any) {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(program, "config.json"))
	if err != nil {
		b.Fatal(err)
	}
	var cfg map[string]any
	if err := json.Unmarshal(data, &cfg); err != nil {
		b.Fatal(err)
	}
	var port int
	if _, err := fmt.Sscanf(b.url, "http://127.0.0.1:%d", &port); err != nil {
		b.Fatal(err)
	}
	cfg["wifi"], cfg["host"], cfg["port"], cfg["enrol"] = nil, "127.0.0.1", port, enrol
	for k, v := range change {
		cfg[k] = v
	}
	if data, err = json.Marshal(cfg); err != nil {
		b.Fatal(err)
	}
	b.file("config.json", string(data))
}

func (b *bench) file(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) remove(name string) {
	b.Helper()
	if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
		b.Fatal(err)
	}
}

// power switches the board on. The test log gets the board's output at the end.
func (b *bench) power() {
	b.Helper()
	var out strings.Builder
	b.board = exec.Command(b.python[0], append(b.python[1:], "main.py")...)
	b.board.Dir, b.board.Stdout, b.board.Stderr = b.dir, &out, &out
	if err := b.board.Start(); err != nil {
		b.Fatal(err)
	}
	cmd, ended := b.board, make(chan struct{})
	b.ended = ended
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(ended)
		_ = cmd.Wait() // the test always kills it
	})
	b.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be off already
		wg.Wait()
		if out.Len() > 0 {
			b.Log(out.String())
		}
	})
}

// unplug cuts the power immediately, as kill -9 does.
func (b *bench) unplug() {
	b.Helper()
	if err := b.board.Process.Kill(); err != nil {
		b.Fatal(err)
	}
	<-b.ended
}

// waitForAck waits until the board has received the ack of its last report. Before the ack, the board
// would repeat the report after a restart.
func (b *bench) waitForAck() {
	b.Helper()
	b.eventually("word about its report", func() bool {
		data, err := os.ReadFile(filepath.Join(b.dir, "state.json"))
		return err == nil && strings.Contains(string(data), `"owed": null`)
	})
}

// eventually waits until is returns true.
func (b *bench) eventually(what string, is func() bool) {
	b.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(soon)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-b.ended:
			b.Fatalf("the board has stopped before %s", what)
		case <-late:
			b.Fatalf("no %s within %v; pin: %s", what, soon, b.pin())
		}
	}
}

// pin returns the log of the pin in one line.
func (b *bench) pin() string {
	data, err := os.ReadFile(filepath.Join(b.dir, "pin.log"))
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(string(data), "boot ", "boot:")), " ")
}

func (b *bench) wantPin(want string) {
	b.Helper()
	if got := b.pin(); got != want {
		b.Errorf("pin: %s, want %s", got, want)
	}
}

// ask posts a request and returns its ref.
func (b *bench) ask(request string) string {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.url+root+"/requests", strings.NewReader(request))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	var made struct{ Ref, Error string }
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || made.Ref == "" {
		b.Fatalf("%s: %d %s %v", request, res.StatusCode, made.Error, err)
	}
	return made.Ref
}

// thread returns a thread of the exchange.
func (b *bench) thread(ref string) exchange.Thread {
	b.Helper()
	t, err := b.x.Thread(b.Context(), exchange.Actor{ID: "operator", Roles: exchange.Operator | exchange.Observer}, ref)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// ends waits for the end of a thread and returns the relay's last status.
func (b *bench) ends(ref string) mess.Status {
	b.Helper()
	b.eventually("end of "+ref, func() bool { return b.thread(ref).Status.Terminal() })
	var last mess.Status
	for _, m := range b.thread(ref).Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok && m.From == "desk-relay" {
				last = *s
			}
		}
	}
	return last
}

// wantFailed checks that the relay reports a failure, with the kind of the reason and the effect.
func (b *bench) wantFailed(ref, kind string, effect mess.Effect) {
	b.Helper()
	s := b.ends(ref)
	if s.Code != mess.Failed || s.Reason == nil || s.Reason.Type != kind || s.Reason.Effect != effect {
		b.Errorf("%s: %s %+v, want failed, %s, effect %s", ref, s.Code, s.Reason, kind, effect)
	}
	if s.Recoverable == nil || *s.Recoverable != (effect == mess.EffectNone) {
		b.Errorf("%s: recoverable %v with effect %s", ref, s.Recoverable, effect)
	}
}

// wantDone checks that a thread is completed once, with evidence from a state readback.
func (b *bench) wantDone(ref string) {
	b.Helper()
	if s := b.ends(ref); s.Code != mess.Completed || s.Evidence != mess.ReadBack {
		b.Errorf("%s: %s (%s) %+v, want completed (read_back)", ref, s.Code, s.Evidence, s.Reason)
	}
	n := 0
	for _, m := range b.thread(ref).Messages {
		if hasStatus(m, mess.Completed) {
			n++
		}
	}
	if n != 1 {
		b.Errorf("%s: completed %d times", ref, n)
	}
}
