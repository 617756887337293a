package door

import (
	"context"
	"errors"
	"testing"

	"github.com/messkit/messkit/exchange"
)

// What is said before the door follows comes with no event, so the door looks at every task
// after that, also when it was too slow and follows anew.
func TestTheDoorLooksOnceItFollows(t *testing.T) {
	d := &Door{s: state{Tasks: map[string]*task{"bd-1": {}}}, looks: map[string]bool{}, dirty: make(chan struct{}, 1)}
	for _, end := range []error{exchange.ErrSlow, errors.New("over")} {
		called := 0
		err := d.follow(t.Context(), func(_ context.Context, _ exchange.Actor, _ string, joined func() error, _ func(exchange.Event) error) error {
			d.toLook() // it was looked at, and then something was said
			if called++; called > 1 {
				return errors.New("enough")
			}
			if err := joined(); err != nil || !d.looks["bd-1"] {
				t.Errorf("the task is not looked at (%v)", err)
			}
			return end
		})
		if err == nil || called > 2 {
			t.Errorf("%v after %d calls", err, called)
		}
	}
}
