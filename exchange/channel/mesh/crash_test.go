package mesh_test

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// power fails at one of the writes to a disk: no later write happens, and the writer of that one
// gets no answer.
type power struct {
	mu      sync.Mutex
	left    int  // writes until the failure, including that one
	written bool // the last write reaches the disk
	gone    bool
}

var errGone = errors.New("the power is gone")

func (p *power) write(answered bool, do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left--; p.left > 0 {
		return do()
	}
	p.gone = true
	if p.left == 0 && p.written && !answered {
		if err := do(); err != nil {
			return err
		}
	}
	return errGone
}

func (p *power) isGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// The power fails at each write between the receipt of a request and its response. The agent
// completes a request that it answered with 202 without another message, and any other when the
// peer sends it again. Each happens once, with one response.
func TestPowerCutAtEveryWrite(t *testing.T) {
	for _, written := range []bool{false, true} {
		n := 1
		for ; ; n++ {
			if n > 100 {
				t.Fatal("more than 100 writes")
			}
			if !powerGoes(t, n, written) {
				break
			}
		}
		if n < 6 {
			t.Errorf("%d writes, want 6 at least", n)
		}
	}
}

// powerGoes reports whether there were n writes.
func powerGoes(t *testing.T, n int, written bool) bool {
	h := newFixture(t, nil)
	p := &power{left: n, written: written}
	h.disk.power.Store(p)
	e := h.request("msg_1", "count")
	code, _ := h.post(e)
	h.until("it is answered, or the power goes", func() bool { return p.isGone() || slices.ContainsFunc(h.hub.all(), responseTo("msg_1")) })
	h.stop()
	gone := p.isGone()
	h.disk.power.Store(nil)
	h.open()
	if code != http.StatusAccepted {
		h.takes(e)
	}
	h.hub.wait(t, responseTo("msg_1"))
	h.takes(envelope(wire.Notification, "msg_end", "x"))
	h.stop()
	ids := map[string]bool{}
	for _, one := range h.hub.all() {
		if one.Type == wire.Response {
			ids[one.ID] = true
		}
	}
	page, err := h.x.List(t.Context(), watcher, exchange.Filter{})
	if err != nil || len(page.Threads) != 1 || h.count("request count") != 1 || len(ids) != 1 {
		t.Errorf("the power goes at write %d (written: %t; first answer %d): %d threads, done %d times, %d answers; %v", n, written, code, len(page.Threads), h.count("request count"), len(ids), err)
	}
	return gone
}
