package suspend_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/internal/suspend"
)

func TestEachSuspendIsReportedOnce(t *testing.T) {
	slept := time.Hour // before
	w := suspend.NewWatch(func() time.Duration { return slept })
	for _, step := range []struct{ more, want time.Duration }{
		{0, 0}, {time.Minute, time.Minute}, {0, 0}, {suspend.Least - 1, 0}, {1, suspend.Least}, {-1, 0}, {2 * time.Hour, 2*time.Hour - 1},
	} {
		slept += step.more
		if got := w.Resumed(); got != step.want {
			t.Errorf("%v more: %v, want %v", step.more, got, step.want)
		}
	}
}

// A machine that is awake does not sleep, however busy it is.
func TestAwakeMachineReportsNoSuspend(t *testing.T) {
	first := suspend.Slept()
	for range 1000 {
		if now := suspend.Slept(); now < 0 || now-first > suspend.Least {
			t.Fatalf("Slept = %v, then %v", first, now)
		}
	}
}
