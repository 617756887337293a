package wait_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// service does one operation after the other, each in 1/speed of a second.
type service struct {
	mu    sync.Mutex
	free  time.Time
	speed int
}

func (s *service) do() (took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(time.Second / time.Duration(s.speed))
	return s.free.Sub(now)
}

// offer offers so many pieces of work a second, each of which has three operations. It returns the admitted
// ones, and the longest operation of the last quarter of the time.
func offer(t *testing.T, p *wait.Pace, s *service, rate int, d time.Duration) (admitted int, longest time.Duration) {
	t.Helper()
	var mu sync.Mutex
	for began := time.Now(); time.Since(began) < d; time.Sleep(time.Second / time.Duration(rate)) {
		go func() {
			if !p.Admit(t.Context()) {
				return
			}
			var slowest time.Duration
			for range 3 {
				took := s.do()
				time.Sleep(took)
				if p.Done(took); time.Since(began) > d*3/4 {
					slowest = max(slowest, took)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			admitted, longest = admitted+1, max(longest, slowest)
		}()
	}
	time.Sleep(time.Second) // for the rest
	mu.Lock()
	defer mu.Unlock()
	return admitted, longest
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := &wait.Pace{Target: 200 * time.Millisecond}, &service{speed: 150} // 50 pieces of work a second
		if n, longest := offer(t, p, s, 40, time.Minute); n < 40*59 || longest > 200*time.Millisecond {
			t.Errorf("%d of 2400 were admitted, the longest operation took %v; want all, and under 0.2 s", n, longest)
		}
		n, longest := offer(t, p, s, 200, 5*time.Minute)
		if n < 300*35 || n > 300*55 || longest > 2*time.Second {
			t.Errorf("with four times as much as it can, %d a second were admitted, and an operation took %v; want some 50, and under 2 s", n/300, longest)
		}
		time.Sleep(time.Minute)
		if n, _ := offer(t, p, s, 45, time.Minute); n < 45*59 {
			t.Errorf("after the overload, %d of 2700 were admitted", n)
		}
	})
}

// One long pause, as of an election, refuses nothing.
func TestPaceAfterPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := &wait.Pace{Target: 200 * time.Millisecond}, &service{speed: 10_000}
		offer(t, p, s, 100, 10*time.Second)
		s.free = time.Now().Add(8 * time.Second)
		if n, _ := offer(t, p, s, 100, 30*time.Second); n < 2900 {
			t.Errorf("%d of 3000 were admitted", n)
		}
	})
}
