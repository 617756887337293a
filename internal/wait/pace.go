package wait

import (
	"context"
	"sync"
	"time"
)

// Pace admits new work only as fast as a service keeps up with all work. While most operations take
// longer than Target, it admits less each second. When they are fast again it admits more, and in the
// end everything (additive increase and multiplicative decrease, as in RFC 5681). It is for concurrent
// use.
type Pace struct {
	Target time.Duration // of an operation

	mu         sync.Mutex
	began      time.Time // of this second
	fast, slow int       // operations of this second
	admitted   int       // of this second
	peak       float64   // work a second that was admitted lately at most
	rate       float64   // work a second that may begin; 0: all
	next       time.Time // when the next work may begin
}

const (
	paceWait = 250 * time.Millisecond // that Admit waits at most
	paceMin  = 5                      // work a second that always may begin
	paceMany = 20                     // operations a second that show that a service is slow
)

// Done notes how long an operation of the service took.
func (p *Pace) Done(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(time.Now())
	if took > p.Target {
		p.slow++
	} else {
		p.fast++
	}
}

// Admit waits until work may begin, and reports false if that would take too long or ctx has ended.
func (p *Pace) Admit(ctx context.Context) bool {
	d, ok := p.admit(time.Now())
	return ok && For(ctx, d)
}

func (p *Pace) admit(now time.Time) (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(now)
	if p.rate == 0 {
		p.admitted++
		return 0, true
	}
	if p.next.Before(now) {
		p.next = now
	}
	if wait = p.next.Sub(now); wait > paceWait {
		return 0, false
	}
	p.admitted++
	p.next = p.next.Add(time.Duration(float64(time.Second) / p.rate))
	return wait, true
}

// turn sets the rate at the end of each second.
func (p *Pace) turn(now time.Time) {
	took := now.Sub(p.began).Seconds()
	if took < 1 {
		return
	}
	one := float64(p.admitted) / took
	p.peak = max(p.peak*0.9, one)
	switch busy := p.slow > p.fast && p.slow+p.fast >= paceMany; {
	case took > 10: // nothing came for long
		p.rate, p.peak = 0, 0
	case busy && p.rate == 0:
		p.rate = max(paceMin, 0.8*p.peak)
	case busy:
		p.rate = max(paceMin, 0.8*p.rate)
	case p.rate > 2*one+paceMin:
		p.rate = 0 // less comes than may begin
	case p.rate > 0:
		p.rate = 1.05*p.rate + 1
	}
	p.began, p.fast, p.slow, p.admitted = now, 0, 0, 0
}
