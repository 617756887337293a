package stop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/messkit/messkit/internal/board"
	"github.com/messkit/messkit/internal/board/boardtest"
)

// A person presses and releases a button, and unplugs its chip.
func TestButtonOnLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chips := boardtest.Pi()
		cfg := DefaultInputConfig()
		cfg.Line = 17
		var states []bool
		ended := make(chan error)
		go func() {
			ended <- (&gpioInput{cfg, chips}).Watch(context.Background(), func(stops bool) { states = append(states, stops) })
		}()
		for i, step := range []struct {
			do   func()
			want bool
		}{
			{func() {}, true}, // the pull-up acts, because nothing drives the line
			{func() { chips.Pull("gpiochip0", 17, false) }, false},
			{func() { chips.Pull("gpiochip0", 17, true) }, true},
		} {
			step.do()
			synctest.Wait() // no time passes: the edge event tells
			if got := states[len(states)-1]; got != step.want {
				t.Errorf("step %d: stops=%t, want %t", i, got, step.want)
			}
		}
		chips.Unplug("gpiochip0")
		if err := <-ended; !errors.Is(err, board.ErrGone) {
			t.Errorf("without its chip: %v", err)
		}
	})
}
