package homeassistant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

// A call whose connection breaks may have arrived: the driver stops the robot and reports
// that.
func TestVacuumStopsAfterBrokenCall(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "vacuum.robo")+"poll: 50ms\n")
	settled(t, h, d)
	h.mu.Lock()
	h.deaf, h.stays = true, true
	h.mu.Unlock()
	_, err := d.(drivers.Cleaner).Clean(t.Context(), nil, nil)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
	if got := h.log(); len(got) < 2 || got[0] != "vacuum/start vacuum.robo" || got[1] != "vacuum/stop vacuum.robo" {
		t.Errorf("called %q", got)
	}
	if still, err := d.(drivers.RestReader).AtRest(t.Context()); err != nil || !still {
		t.Errorf("at rest %t, %v", still, err)
	}
}

// An unanswered command may take effect after all later ones. The errors of the stopped
// task, of Halt, and of the next command report that, and the caller repeats Halt.
func TestUnansweredCommandMayAct(t *testing.T) {
	for _, live := range []string{"", "live: false\n"} {
		t.Run(live, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			v := started(t, config(h, "vacuum.robo")+live+"poll: 50ms\ntimeout: 1s\n")
			if live == "" {
				settled(t, h, v)
			}
			h.mu.Lock()
			h.mute, h.stays = "vacuum/start", true
			h.mu.Unlock()
			if _, err := v.(drivers.Cleaner).Clean(t.Context(), nil, nil); !errors.Is(err, drivers.ErrMayAct) {
				t.Errorf("clean: %v", err)
			}
			if still, err := v.(drivers.RestReader).AtRest(t.Context()); still || err == nil {
				t.Errorf("at rest %t, %v", still, err)
			}
			if err := v.Halt(); !errors.Is(err, drivers.ErrMayAct) {
				t.Errorf("halt: %v", err)
			}
		})
	}
	h := newHome(t)
	lamp, lock := started(t, config(h, "light.hall")+"live: false\ntimeout: 1s\n"), started(t, config(h, "lock.front")+"live: false\ntimeout: 1s\n")
	for service, command := range map[string]func() error{
		"light/turn_on": func() error { return lamp.(drivers.Switch).Switch(t.Context(), true) },
		"lock/unlock":   func() error { return lock.(drivers.Locker).Unlock(t.Context()) },
	} {
		h.mu.Lock()
		h.mute = service
		h.mu.Unlock()
		if err := command(); err == nil || errors.Is(err, drivers.ErrNothingDone) {
			t.Errorf("%s: %v", service, err)
		}
	}
	if err := lamp.(drivers.Switch).Switch(t.Context(), false); !errors.Is(err, drivers.ErrMayAct) {
		t.Errorf("off: %v", err)
	}
	for _, d := range []drivers.Device{lamp, lock} {
		if err := d.Halt(); !errors.Is(err, drivers.ErrMayAct) {
			t.Errorf("%s halted: %v", d.Name(), err)
		}
	}
}

// If the caller of a command goes before the answer, the command still counts as under way,
// and Last waits for it.
func TestCancelledCommandMayAct(t *testing.T) {
	for _, live := range []string{"", "live: false\n"} {
		for _, answers := range []bool{false, true} {
			t.Run(fmt.Sprint(live, answers), func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				d := started(t, config(h, "light.hall")+live+"timeout: 5s\n")
				if live == "" {
					settled(t, h, d)
				}
				held := make(chan struct{})
				h.mu.Lock()
				h.mute, h.held = "light/turn_on", held
				h.mu.Unlock()
				ctx, cancel := context.WithCancel(t.Context())
				result := make(chan error, 1)
				go func() { result <- d.(drivers.Switch).Switch(ctx, true) }()
				if !h.has(func(h *home) bool { return len(h.calls) > 0 }) {
					t.Fatal("Home Assistant received no call")
				}
				cancel()
				if err := <-result; !errors.Is(err, context.Canceled) || errors.Is(err, drivers.ErrNothingDone) {
					t.Errorf("on: %v", err)
				}
				if answers {
					close(held)
				}
				if err := d.Halt(); errors.Is(err, drivers.ErrMayAct) == answers || answers && err != nil {
					t.Errorf("halt: %v", err)
				}
				if got := h.log(); len(got) < 2 || got[len(got)-1] != "light/turn_off light.hall" {
					t.Errorf("called %q", got)
				}
				if !answers {
					close(held)
				}
			})
		}
	}
}

// A rejection with a changed state is not ErrNothingDone.
func TestRejectionWithAnEffect(t *testing.T) {
	h := newHome(t)
	h.denies, h.stays = "service_validation_error", true
	robot := started(t, config(h, "vacuum.robo")+"live: false\npoll: 50ms\n")
	lock := started(t, config(h, "lock.front")+"live: false\ncode: '4711'\n")
	for what, err := range map[string]error{
		"clean":  second(robot.(drivers.Cleaner).Clean(t.Context(), nil, nil)),
		"unlock": lock.(drivers.Locker).Unlock(t.Context()),
	} {
		if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "failed in Home Assistant, but the state") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := lock.(drivers.Locker).Unlock(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("Unlock of an unlocked lock: %v, want ErrNothingDone", err)
	}
	if got := h.log(); !slices.Contains(got, "vacuum/stop vacuum.robo") {
		t.Errorf("called %q", got)
	}
}

func second[T any](_ T, err error) error { return err }
