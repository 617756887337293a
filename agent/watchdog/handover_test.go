package watchdog_test

import (
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/watchdog"
)

// A device that a watchdog leaves goes off when its time is over, unless the next agent has
// newer information.
func TestHandover(t *testing.T) {
	for _, tt := range []struct {
		name  string
		story func(*agent) // the second agent, five seconds later
		want  string
	}{
		{name: "the agent sends nothing about it", story: func(*agent) {}, want: "hall off 10.025s"},
		{
			name: "it may be on at the start",
			story: func(a *agent) {
				a.send(watchdog.Message{On: []watchdog.OnMessage{{Device: "hall", Epoch: 1, Left: time.Hour, Maybe: true}}})
			},
			want: "hall off 10.025s",
		},
		{
			name: "it may be on at the start, for less",
			story: func(a *agent) {
				a.send(watchdog.Message{On: []watchdog.OnMessage{{Device: "hall", Epoch: 1, Left: time.Second, Maybe: true}}})
			},
			want: "hall off 6.025s",
		},
		{name: "it is switched on anew", story: func(a *agent) { a.on("hall", 1, 10*time.Second) }, want: "hall off 15.025s"},
		{
			name:  "it is off",
			story: func(a *agent) { a.send(watchdog.Message{Off: []watchdog.OffMessage{{Device: "hall", Epoch: 1}}}) },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withWatchdog(t, func(a *agent, w *world) {
				a.t = t
				a.on("hall", 1, 10*time.Second)
				a.send(watchdog.Message{Devices: []watchdog.Device{lamp("attic", "keep")}})
				a.on("attic", 2, 10*time.Second)
				a.sendBeats(5 * time.Second)
				a.watchdog.Yield() // no effect: its agent lives
				synctest.Wait()
				a.closePipe()
				synctest.Wait()
				a.watchdog.Yield()
				synctest.Wait()
				list, err := watchdog.EncodeRemaining(a.watchdog.Remaining())
				if err != nil || len(a.end) == 0 {
					t.Fatalf("the earlier watchdog has not ended, %v", err)
				}
				left, err := watchdog.ParseRemaining(list)
				if err != nil || len(left) != 2 {
					t.Fatalf("%s: %v", list, err)
				}
				withNextWatchdog(t, w, left, tt.story)
				got := w.history()
				for _, attic := range []string{"attic off 10.025s, ", ", attic off 10.025s", "attic off 10.025s"} {
					if got == attic || got == attic+tt.want || got == tt.want+attic {
						return
					}
				}
				t.Errorf("%q, want %q and the attic, which is not a device of the next agent", got, tt.want)
			})
		})
	}
}

// withNextWatchdog runs the next watchdog.
func withNextWatchdog(t *testing.T, w *world, left []watchdog.RemainingDevice, test func(*agent)) {
	t.Helper()
	a := newAgent(t, w)
	a.send(watchdog.Message{Devices: []watchdog.Device{lamp("hall", "keep")}})
	a.watchdog.Adopt(left)
	test(a)
	a.sendBeats(time.Minute)
	a.stop()
}

// A watchdog with nothing left to do leaves an empty list.
func TestEmptyHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watchdog.New(newWorld().execute, slog.New(slog.DiscardHandler))
		in, to := io.Pipe()
		_ = to.Close()
		if err := g.Run(in, io.Discard); err != nil || len(g.Remaining()) != 0 {
			t.Errorf("%v, %v", g.Remaining(), err)
		}
	})
}

// A watchdog whose agent has ended in the meantime also takes over.
func TestHandoverToWatchdogWithoutAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := watchdog.New(w.execute, slog.New(slog.DiscardHandler))
		g.ExpectHandover()
		in, to := io.Pipe()
		_ = to.Close()
		end := make(chan error, 1)
		go func() { end <- g.Run(in, io.Discard) }()
		wait(time.Second)
		if len(end) > 0 {
			t.Fatal("the watchdog ended before the handover")
		}
		w.turn("hall", true)
		g.Adopt([]watchdog.RemainingDevice{{Device: lamp("hall", "keep"), In: time.Second}})
		if err := <-end; err != nil {
			t.Error(err)
		}
		w.wantHistory(t, "hall off 2s")
	})
}

func FuzzLeft(f *testing.F) {
	f.Add([]byte(`[{"name":"a","kind":"k","off":{"x":1},"in":5}]   `))
	f.Add([]byte(`[{"name":"a","kind":"k","off":1}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := watchdog.ParseRemaining(data)
		if err != nil {
			if list != nil {
				t.Errorf("%q: %v with %v", data, list, err)
			}
			return
		}
		once, err := watchdog.EncodeRemaining(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := watchdog.ParseRemaining(once)
		if err != nil {
			t.Fatalf("%q: %v", once, err)
		}
		if twice, err := watchdog.EncodeRemaining(again); err != nil || string(twice) != string(once) {
			t.Errorf("%s, then %s, %v", once, twice, err)
		}
	})
}
