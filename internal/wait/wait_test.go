package wait_test

import (
	"context"
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
