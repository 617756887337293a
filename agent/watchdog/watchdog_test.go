package watchdog_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/watchdog"
)

// world holds the states of the devices; an order is "NAME on" or "NAME off".
type world struct {
	start time.Time
	mu    sync.Mutex
	on    map[string]bool
	fail  map[string]int           // how many of the next orders fail
	hang  map[string]chan struct{} // orders wait for this channel
	log   []string                 // changes by the watchdog, with times
}

func newWorld() *world {
	return &world{start: time.Now(), on: map[string]bool{}, fail: map[string]int{}, hang: map[string]chan struct{}{}}
}

func (w *world) execute(kind string, order []byte) (bool, error) {
	var words string
	if err := json.Unmarshal(order, &words); err != nil || kind != "lamp" {
		return false, fmt.Errorf("%s: %s, %w", kind, order, err)
	}
	name, level, _ := strings.Cut(words, " ")
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.hang[name]; c != nil {
		w.mu.Unlock()
		<-c
		w.mu.Lock()
	}
	if w.fail[name] > 0 {
		w.fail[name]--
		return false, errors.New("no contact")
	}
	if w.on[name] == (level == "on") {
		return false, nil
	}
	w.on[name] = level == "on"
	w.log = append(w.log, words+" "+time.Since(w.start).String())
	return true, nil
}

// turn switches a device as the agent does.
func (w *world) turn(name string, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on[name] = on
}

func (w *world) history() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.log, ", ")
}

func lamp(name, safe string) watchdog.Device {
	d := watchdog.Device{Name: name, Kind: "lamp", Off: json.RawMessage(`"` + name + ` off"`)}
	if safe != "keep" {
		d.Safe = json.RawMessage(`"` + name + " " + safe + `"`)
	}
	return d
}

// agent is a client that sends given messages over pipes.
type agent struct {
	t        *testing.T
	w        *world
	watchdog *watchdog.Watchdog
	to       *io.PipeWriter
	pipe     *io.PipeReader
	from     *bufio.Scanner
	seq      uint64
	end      chan error
}

// newAgent returns an agent with a watchdog.
func newAgent(t *testing.T, w *world) *agent {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	a := &agent{
		t: t, w: w, watchdog: watchdog.New(w.execute, slog.New(slog.DiscardHandler)),
		to: to, pipe: from, from: bufio.NewScanner(from), end: make(chan error, 1),
	}
	go func() {
		a.end <- a.watchdog.Run(in, out)
		_ = out.Close() // as at the end of a process
	}()
	return a
}

// stop closes the agent's messages and waits for its watchdog.
func (a *agent) stop() {
	a.t.Helper()
	a.closePipe()
	_ = a.pipe.Close()
	if err := <-a.end; err != nil {
		a.t.Errorf("the watchdog ends with %v", err)
	}
}

// withWatchdog runs a test with a watchdog in a bubble of fake time. The safe states of the lamps:
// porch off, fan on, hall unchanged.
func withWatchdog(t *testing.T, test func(*agent, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		a := newAgent(t, w)
		a.send(watchdog.Message{Devices: []watchdog.Device{lamp("porch", "off"), lamp("fan", "on"), lamp("hall", "keep")}})
		w.turn("fan", true)
		test(a, w)
		a.stop()
	})
}

// send sends a message and returns the watchdog's rejection.
func (a *agent) send(w watchdog.Message) string {
	a.t.Helper()
	a.seq++
	w.Seq = a.seq
	line, err := json.Marshal(w)
	if err == nil {
		_, err = a.to.Write(append(line, '\n'))
	}
	var no watchdog.Answer
	if !a.from.Scan() {
		a.t.Fatal("no answer")
	}
	if err = errors.Join(err, json.Unmarshal(a.from.Bytes(), &no)); err != nil || no.Seq != w.Seq {
		a.t.Fatalf("%s, %v", a.from.Bytes(), err)
	}
	return no.Reason
}

// on announces a device and turns it on.
func (a *agent) on(name string, epoch uint64, left time.Duration) {
	a.t.Helper()
	if no := a.send(watchdog.Message{On: []watchdog.OnMessage{{Device: name, Epoch: epoch, Left: left}}}); no != "" {
		a.t.Fatal(no)
	}
	a.w.turn(name, true)
}

func (a *agent) closePipe() { _ = a.to.Close() }

// sendBeats sends beats for a while.
func (a *agent) sendBeats(d time.Duration) {
	a.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		wait(min(watchdog.HeartbeatInterval, time.Until(end)))
		a.send(watchdog.Message{})
	}
}

func wait(d time.Duration) {
	time.Sleep(d) // in fake time
	synctest.Wait()
}

func TestWatchdog(t *testing.T) {
	for _, tt := range []struct {
		name  string
		story func(*agent, *world)
		want  string // changes by the watchdog while the agent lives
		after string // and some time after its end
	}{
		{name: "nothing is on", story: func(a *agent, _ *world) { a.sendBeats(time.Minute) }},
		{
			name:  "the agent does not switch off",
			story: func(a *agent, _ *world) { a.on("porch", 1, 10*time.Second); a.sendBeats(20 * time.Second) },
			want:  "porch off 10.025s", after: "porch off 10.025s",
		},
		{
			name: "the agent switches off",
			story: func(a *agent, w *world) {
				a.on("porch", 1, 10*time.Second)
				a.sendBeats(5 * time.Second)
				w.turn("porch", false)
				a.send(watchdog.Message{Off: []watchdog.OffMessage{{Device: "porch", Epoch: 1}}})
				w.turn("porch", true) // a person switches it on
				a.sendBeats(time.Minute)
			},
			after: "porch off 1m5s",
		},
		{
			name: "on again, for longer",
			story: func(a *agent, _ *world) {
				a.on("porch", 1, 10*time.Second)
				a.sendBeats(5 * time.Second)
				a.on("porch", 2, 10*time.Second)
				a.send(watchdog.Message{Off: []watchdog.OffMessage{{Device: "porch", Epoch: 1}}}) // about the first period, too late
				a.sendBeats(20 * time.Second)
			},
			want: "porch off 15.025s", after: "porch off 15.025s",
		},
		{
			name:  "the agent is killed",
			story: func(a *agent, _ *world) { a.on("porch", 1, time.Hour); a.sendBeats(time.Second) },
			after: "porch off 1s",
		},
		{
			name:  "the agent is killed, and on is the safe state",
			story: func(a *agent, w *world) { w.turn("fan", false); a.sendBeats(time.Second) },
			after: "fan on 1s",
		},
		{
			name:  "the agent is killed, and the device keeps its state",
			story: func(a *agent, _ *world) { a.on("hall", 1, 10*time.Second); a.sendBeats(time.Second) },
			after: "hall off 10s",
		},
		{
			name:  "the agent is killed, and the device may stay on without end",
			story: func(a *agent, _ *world) { a.on("hall", 1, 0); a.sendBeats(time.Second) },
		},
		{
			name: "the agent is frozen",
			story: func(a *agent, _ *world) {
				a.on("hall", 1, 2*time.Second)
				a.on("porch", 2, time.Hour)
				wait(time.Minute)
			},
			want: "hall off 2s, porch off 5.000000001s", after: "hall off 2s, porch off 5.000000001s",
		},
		{
			name: "the agent is frozen for a while, and does then what it was about to do",
			story: func(a *agent, w *world) {
				a.on("porch", 1, 2*time.Second)
				wait(time.Minute)
				w.turn("porch", true)
				wait(time.Second)
				a.sendBeats(time.Second)
			},
			want: "porch off 2s, porch off 1m0.1s", after: "porch off 2s, porch off 1m0.1s",
		},
		{
			name: "the agent sends messages again after a while, and switches on anew",
			story: func(a *agent, _ *world) {
				wait(time.Minute)
				a.sendBeats(time.Second)
				a.on("porch", 1, time.Hour)
				a.sendBeats(time.Minute)
			},
			after: "porch off 2m1s",
		},
		{
			name: "an order that fails is tried again",
			story: func(a *agent, w *world) {
				w.fail["porch"] = 3
				a.on("porch", 1, 10*time.Second)
				a.sendBeats(20 * time.Second)
			},
			want: "porch off 10.725s", after: "porch off 10.725s", // 25 ms + 100 + 200 + 400
		},
		{
			name: "an order that hangs keeps no other waiting",
			story: func(a *agent, w *world) {
				w.hang["porch"] = make(chan struct{})
				a.on("porch", 1, 10*time.Second)
				a.on("hall", 2, 11*time.Second)
				a.sendBeats(20 * time.Second)
				if no := a.send(watchdog.Message{On: []watchdog.OnMessage{{Device: "porch", Epoch: 3}}}); no == "" {
					a.t.Error("the watchdog permits a switch-on during a switch-off, want a rejection")
				}
				close(w.hang["porch"])
				wait(0)
			},
			want: "hall off 11.025s, porch off 20s", after: "hall off 11.025s, porch off 20s",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withWatchdog(t, func(a *agent, w *world) {
				a.t = t
				tt.story(a, w)
				if got := w.history(); got != tt.want {
					t.Errorf("while it is there: %q, want %q", got, tt.want)
				}
				a.closePipe()
				wait(time.Minute)
				if got := w.history(); got != tt.after {
					t.Errorf("when it is gone: %q, want %q", got, tt.after)
				}
			})
		})
	}
}

func TestWatchdogRejectsMessages(t *testing.T) {
	withWatchdog(t, func(a *agent, _ *world) {
		a.on("porch", 2, 0)
		for device, epoch := range map[string]uint64{"attic": 9, "porch": 1} {
			if no := a.send(watchdog.Message{On: []watchdog.OnMessage{{Device: device, Epoch: epoch}}}); !strings.HasPrefix(no, device+": ") {
				t.Errorf("%s: %q", device, no)
			}
		}
	})
}

// An agent with a malformed message counts as gone.
func TestMalformedMessageEndsAgent(t *testing.T) {
	for _, line := range []string{"x", `{"seq":0}`, `{"seq":9,"sing":1}`, `{"seq":9}{}`, strings.Repeat("x", 1<<20)} {
		synctest.Test(t, func(t *testing.T) {
			in, to := io.Pipe()
			w, end := newWorld(), make(chan error, 1)
			go func() {
				end <- watchdog.New(w.execute, slog.New(slog.DiscardHandler)).Run(in, io.Discard)
				_ = in.Close()
			}()
			w.turn("porch", true)
			_, _ = io.WriteString(to, `{"seq":1,"devices":[{"name":"porch","kind":"lamp","off":"porch off","safe":"porch off"}]}`+"\n"+line+"\n")
			if err := <-end; err == nil || w.history() != "porch off 0s" {
				t.Errorf("%.20s: %v, %s", line, err, w.history())
			}
		})
	}
}

// A watchdog works even if the agent reads no answers.
func TestUnreadAnswersBlockNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		from, out := io.Pipe()
		w, end := newWorld(), make(chan error, 1)
		go func() { end <- watchdog.New(w.execute, slog.New(slog.DiscardHandler)).Run(in, out) }()
		w.turn("porch", true)
		send := func(line string) { _, _ = io.WriteString(to, line+"\n") }
		send(`{"seq":1,"devices":[{"name":"porch","kind":"lamp","off":"porch off","safe":"porch off"}],"on":[{"device":"porch","epoch":1,"left":1000000000}]}`)
		for i := range 200 {
			send(fmt.Sprintf(`{"seq":%d}`, i+2))
		}
		wait(2 * time.Second)
		if got := w.history(); got != "porch off 1s" && got != "porch off 1.025s" {
			t.Error(got)
		}
		_, _ = to.Close(), from.Close()
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
}

// An unreachable device that no message announced as on does not keep the watchdog running
// after the agent is gone; an announced device does.
func TestUnreachableDeviceEndsWatchdog(t *testing.T) {
	for _, on := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.fail["fan"] = 1000
			a := newAgent(t, w)
			a.send(watchdog.Message{Devices: []watchdog.Device{lamp("fan", "off")}})
			if on {
				a.send(watchdog.Message{On: []watchdog.OnMessage{{Device: "fan", Epoch: 1}}})
			}
			a.closePipe()
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if len(a.end) != 0 {
				t.Error("the watchdog ended within half a minute, want it running")
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if ended := len(a.end) != 0; ended == on {
				t.Errorf("on %t: ended %t", on, ended)
			}
			w.mu.Lock()
			w.fail["fan"] = 0
			w.mu.Unlock()
			if err := <-a.end; err != nil {
				t.Error(err)
			}
			_ = a.pipe.Close()
		})
	}
}
