package files

import (
	"testing"
	"testing/synctest"
	"time"
)

// Steps wait a moment while the folders are late, and longer while too many are behind. They do
// not wait after the folders have caught up, nor before Run.
func TestStepsWaitForLateFolders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		behind int
		age    time.Duration
		alone  bool // the projector does not run
		wait   time.Duration
	}{
		{"nothing", 0, 0, false, 0},
		{"few", 10, maxLag, false, 0},
		{"late", 10, maxLag + 1, false, lagWait},
		{"many", maxBehind, 0, false, 0},
		{"too many", maxBehind + 1, 0, false, queueWait},
		{"late, and the program ends", 10, time.Hour, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProjector(nil)
				if !tt.alone {
					p.to = Listener(noListener{})
				}
				for range tt.behind {
					p.queue = append(p.queue, marked{at: time.Now()})
				}
				time.Sleep(tt.age) // of the bubble
				p.updatePressure()
				began := time.Now()
				p.waitForFolders(t.Context())
				if took := time.Since(began); took != tt.wait {
					t.Errorf("a step waited %v, want %v", took, tt.wait)
				}
				p.queue = nil
				p.updatePressure()
				began = time.Now()
				p.waitForFolders(t.Context())
				if took := time.Since(began); took != 0 {
					t.Errorf("a step waited %v for nothing", took)
				}
			})
		})
	}
}

type noListener struct{ Listener }
