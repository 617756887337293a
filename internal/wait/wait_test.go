package wait_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

func TestFor(t *testing.T) {
	for name, c := range map[string]struct {
		wait, end, took time.Duration
		want            bool
	}{
		"all of it":     {time.Minute, time.Hour, time.Minute, true},
		"until the end": {time.Hour, time.Minute, time.Minute, false},
		"nothing":       {0, time.Minute, 0, true},
		"in the past":   {-time.Hour, time.Minute, 0, true},
		"after the end": {0, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.end)
				defer cancel()
				began := time.Now()
				if got, took := wait.For(ctx, c.wait), time.Since(began); got != c.want || took != c.took {
					t.Errorf("For(%v) = %t after %v, want %t after %v", c.wait, got, took, c.want, c.took)
				}
			})
		})
	}
}

func TestBackoff(t *testing.T) {
	b := wait.Backoff{First: time.Second, Last: time.Minute, Jitter: func(limit time.Duration) time.Duration { return limit }}
	var got []time.Duration
	for range 8 {
		got = append(got, b.Next())
	}
	b.Reset(2)
	got = append(got, b.Next())
	b.Reset(0)
	got = append(got, b.Next(), b.After(0), b.After(1), b.After(1<<40))
	s := time.Second
	if want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s, 4 * s, s, s, s, 60 * s}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for range 100 {
		if d := (wait.Backoff{First: s, Last: s}).After(1); d < s/2 || d >= 3*s/2 {
			t.Errorf("%v is not near %v", d, s)
		}
	}
}

func TestNotify(t *testing.T) {
	c := make(chan struct{}, 1)
	wait.Notify(c)
	wait.Notify(c) // which does not block
	<-c
	select {
	case <-c:
		t.Error("one receive was not enough")
	default:
	}
}
