package state_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/channel/console/state"
)

// All pages together read the local executor at most every 0.4 seconds, and at once after a change.
func TestPagesShareOneReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, lamp := 0, any("off")
		local := state.NewLocal(func() any { reads++; return map[string]any{"lamp": lamp, "as_of": time.Now()} })
		read := func() (*state.Reading, <-chan struct{}) {
			t.Helper()
			r, changed, err := local.Read()
			if err != nil {
				t.Fatal(err)
			}
			return r, changed
		}
		first, changed := read()
		for range 20 {
			if r, _ := read(); r != first {
				t.Error("two pages have two readings at the same time")
			}
		}
		if reads != 1 {
			t.Errorf("%d reads for 21 pages", reads)
		}
		lamp = "on"
		select {
		case <-changed:
			t.Error("nobody has said that the executor changed")
		default:
		}
		local.Changed()
		<-changed
		if r, _ := read(); r == first || reads != 2 {
			t.Errorf("the page has the old reading, or %d reads", reads)
		}
		time.Sleep(time.Second)
		if read(); reads != 3 {
			t.Errorf("%d reads, want another one for an old reading", reads)
		}
		lamp = make(chan int)
		local.Changed()
		if _, _, err := local.Read(); err == nil {
			t.Error("a channel is JSON")
		}
	})
}
