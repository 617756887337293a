package homeassistant_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// If a task ends while its cover moves, the driver stops the cover and reports its
// position.
func TestCoverStopsWithItsTask(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "cover.blind"))
	h.mu.Lock()
	h.dead = true // the cover accepts the command and does not arrive
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		h.has(func(h *home) bool { return len(h.calls) > 0 })
		h.mu.Lock()
		defer h.mu.Unlock()
		h.dead = false
		time.AfterFunc(300*time.Millisecond, cancel)
	}()
	if err := d.(drivers.Opener).Open(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if is, err := d.(drivers.OpeningReader).Opening(t.Context()); err != nil || is != 40 {
		t.Errorf("%v %% open, %v", is, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(slices.Compact(h.calls), []string{"cover/open_cover cover.blind", "cover/stop_cover cover.blind"}) { // the driver repeats the stop if the cover may receive a command late
		t.Errorf("%q", h.calls)
	}
}

// A cover whose call has no answer may move, so the driver stops it.
func TestCoverStopsWithoutAnAnswer(t *testing.T) {
	for _, way := range []string{"live: false\n", ""} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.mute = "cover/open_cover"
			d := started(t, config(h, "cover.blind")+"timeout: 5s\n"+way)
			if way == "" && !h.has(func(h *home) bool { return h.joined > 0 }) {
				t.Fatal("the driver has not subscribed")
			}
			err := d.(drivers.Opener).Open(t.Context())
			if err == nil || errors.Is(err, drivers.ErrNothingDone) {
				t.Error(err)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if !slices.Equal(slices.Compact(h.calls), []string{"cover/open_cover cover.blind", "cover/stop_cover cover.blind"}) { // the driver repeats the stop if the cover may receive a command late
				t.Errorf("%q", h.calls)
			}
		})
	}
}

// 100 is open in Home Assistant. The driver does not call an unsupported service.
func TestCoverPositions(t *testing.T) {
	for _, way := range []string{"", "live: false\n"} {
		h := newHome(t)
		d := started(t, config(h, "cover.blind")+"positions: true\n"+way)
		if err := d.(drivers.Positioner).OpenTo(t.Context(), 30); err != nil {
			t.Fatal(err)
		}
		if is, err := d.(drivers.OpeningReader).Opening(t.Context()); err != nil || is != 30 {
			t.Errorf("%v, %v", is, err)
		}
		if _, err := d.(drivers.Stopper).Stop(t.Context()); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		calls := slices.Clone(h.calls)
		h.mu.Unlock()
		if !slices.Equal(calls, []string{"cover/set_cover_position cover.blind", "cover/stop_cover cover.blind"}) {
			t.Errorf("%q", calls)
		}
		d = started(t, config(h, "cover.gate")+"positions: true\n"+way)
		if err := d.(drivers.Positioner).OpenTo(t.Context(), 30); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "supported_features 11") {
			t.Errorf("OpenTo of a cover without positions: %v", err)
		}
		d = started(t, config(h, "cover.shade")+way)
		if _, err := d.(drivers.Stopper).Stop(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
			t.Errorf("Stop of a cover without a stop: %v", err)
		}
		if h.count() != 2 {
			t.Errorf("%d services were called", h.count())
		}
	}
}

// If a cover does not reach its position, the driver stops it and returns an error.
func TestCoverPositionNotReached(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "cover.blind")+"positions: true\n")
	h.mu.Lock()
	h.dead = true
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	task := make(chan error, 1)
	go func() { task <- d.(drivers.Positioner).OpenTo(ctx, 30) }()
	for end := time.Now().Add(time.Minute); h.count() == 0 && time.Now().Before(end); {
		<-time.After(time.Millisecond)
	}
	cancel()
	if err := <-task; !errors.Is(err, context.Canceled) || errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(slices.Compact(h.calls), []string{"cover/set_cover_position cover.blind", "cover/stop_cover cover.blind"}) {
		t.Errorf("%q", h.calls)
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	d := started(t, config(h, "lock.front")+"code: 4711\n")
	if err := d.(drivers.Locker).Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if is, err := d.(drivers.LockReader).Locked(t.Context()); err != nil || is {
		t.Errorf("locked=%t, %v", is, err)
	}
	got, err := d.(drivers.Sensor).Read(t.Context())
	if err != nil || len(got) != 1 || got[0].Quantity != "locked" || got[0].Value != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	// Without the code the lock does not change.
	h.renew()
	d = started(t, config(h, "lock.front")+"timeout: 3s\n")
	if err := d.(drivers.Locker).Unlock(t.Context()); err == nil || !strings.Contains(err.Error(), `the state is "locked"`) {
		t.Error(err)
	}
	d = started(t, config(h, "lock.jams"))
	err = d.(drivers.Locker).Unlock(t.Context())
	if help, ok := errors.AsType[*drivers.HelpError](err); !ok || !strings.Contains(help.Help, "by hand") {
		t.Error(err)
	}
}

// The error of a rejection never contains the code.
func TestCodeStaysSecret(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "lock.front")+"live: false\ncode: sorry\n")
	h.mu.Lock()
	h.next = nil
	h.message = "the code sorry is wrong"
	h.mu.Unlock()
	err := d.(drivers.Locker).Unlock(t.Context())
	if err == nil || strings.Contains(err.Error(), "sorry") || !errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
}

// A command without an answer may arrive after the following stop, no matter what the cover
// reports. The error is ErrMayAct, and the driver repeats the stop.
func TestCoverMayActLate(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	d := started(t, config(h, "cover.blind")+"positions: true\nlive: false\ntimeout: 3s\n")
	h.mu.Lock()
	h.mute, h.dead = "cover/set_cover_position", true
	h.mu.Unlock()
	err := d.(drivers.Positioner).OpenTo(t.Context(), 30)
	if !errors.Is(err, drivers.ErrMayAct) || errors.Is(err, drivers.ErrNothingDone) || strings.Contains(err.Error(), "does not stop") {
		t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(slices.Compact(h.calls), []string{"cover/set_cover_position cover.blind", "cover/stop_cover cover.blind"}) {
		t.Errorf("%q", h.calls)
	}
}
