package files

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"golang.org/x/sync/errgroup"
)

// New threads wait a moment while the folders are late, and all steps while too many threads are
// behind. They do not wait after the folders have caught up, nor before Run.
func TestStepsWaitForLateFolders(t *testing.T) {
	for _, tt := range []struct {
		name        string
		ended, open int // threads that are behind
		age         time.Duration
		alone       bool // the projector does not run
		isNew, step time.Duration
	}{
		{name: "nothing"},
		{name: "few", ended: 10, age: maxLag},
		{name: "late", ended: 10, age: maxLag + 1, isNew: lagWait},
		{name: "few, all open", open: 10, age: maxLag},
		{name: "late, all open", open: 10, age: maxLag + 1, isNew: lagWait},
		{name: "many", ended: maxBehind / 2, open: maxBehind / 2},
		{name: "too many", ended: maxBehind / 2, open: maxBehind/2 + 1, isNew: lagWait, step: lagWait},
		{name: "late, and the program ends", ended: 10, age: time.Hour, alone: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProjector(nil)
				if !tt.alone {
					p.to = Listener(noListener{})
				}
				for range tt.ended {
					p.queue = append(p.queue, marked{at: time.Now()})
				}
				for range tt.open {
					p.open = append(p.open, marked{at: time.Now()})
				}
				time.Sleep(tt.age) // of the bubble
				p.updatePressure()
				wait := func(what string, isNew bool, want time.Duration) {
					t.Helper()
					began := time.Now()
					if err := p.waitForFolders(t.Context(), isNew); err != nil || time.Since(began) != want {
						t.Errorf("%s waited %v (%v), want %v", what, time.Since(began), err, want)
					}
				}
				wait("a new thread", true, tt.isNew)
				wait("a step", false, tt.step)
				p.queue, p.open = nil, nil
				p.updatePressure()
				wait("a new thread afterwards", true, 0)
				wait("a step afterwards", false, 0)
			})
		})
	}
}

// While the folders are late, a few new threads wait, and the store refuses more of them. The steps
// of threads in work go on.
func TestManyNewThreadsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProjector(nil)
		p.to = Listener(noListener{})
		p.queue = []marked{{at: time.Now()}}
		time.Sleep(maxLag + 1) // of the bubble
		p.updatePressure()
		var g errgroup.Group
		for range maxWaiting {
			g.Go(func() error { return p.waitForFolders(t.Context(), true) })
		}
		synctest.Wait()
		if err := p.waitForFolders(t.Context(), true); !errors.Is(err, thread.ErrBusy) {
			t.Errorf("one more new thread got %v, want %v", err, thread.ErrBusy)
		}
		if err := p.waitForFolders(t.Context(), false); err != nil {
			t.Errorf("a step of a thread in work got %v", err)
		}
		if err := g.Wait(); err != nil {
			t.Errorf("a waiting new thread got %v", err)
		}
		if err := p.waitForFolders(t.Context(), true); err != nil {
			t.Errorf("a new thread after those got %v", err)
		}
	})
}

// Under load an ended thread goes before an open one, until the open one has waited for long. So a
// thread that ends soon costs one write.
func TestEndedThreadsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProjector(nil)
		p.to = Listener(noListener{})
		p.steps.Add(1) // there is no lull
		p.mark("stays-open", false)
		p.mark("ends", false)
		time.Sleep(maxGather)
		p.mark("ends", true)
		var order []string
		began := time.Now()
		for len(order) < 2 {
			ref, wait := p.next()
			if ref == "" {
				time.Sleep(wait) // of the bubble
				continue
			}
			order = append(order, fmt.Sprint(ref, " after ", time.Since(began)))
		}
		if want := []string{"ends after 1s", "stays-open after 2s"}; !slices.Equal(order, want) {
			t.Errorf("the folders were written as %q, want %q", order, want)
		}
		if ref, _ := p.next(); ref != "" {
			t.Errorf("%s was written twice", ref)
		}
	})
}

type noListener struct{ Listener }
