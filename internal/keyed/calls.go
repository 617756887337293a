package keyed

import "time"

// Calls are functions that wait in queues: those of one name run in order, and those of different
// names at the same time. The zero value is empty and closed.
type Calls struct{ Queues[func()] }

// Open begins to run the calls. Runner.Close and Runner.Wait end that.
func (c *Calls) Open() {
	c.Runner.Open(func(name string) time.Duration {
		return c.Work(name, func(call func()) time.Duration { call(); return Idle })
	})
}

// Put adds a call. It returns false if most calls wait already; 0 for no limit.
func (c *Calls) Put(name string, most int, call func()) bool {
	if most > 0 && c.Waiting() >= most {
		return false
	}
	c.Add(name, call)
	return true
}

// RunAfter runs a call after the waiting ones of its name, and returns when it has returned.
func (c *Calls) RunAfter(name string, call func()) {
	if !c.Runner.Busy(name) {
		call()
		return
	}
	done := make(chan struct{})
	c.Add(name, func() { defer close(done); call() })
	<-done
}
