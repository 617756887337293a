package exchange

import "github.com/messkit/messkit/mess"

// maxStates is of how many devices one executor may tell how they are.
const maxStates = 1024

// tells takes what an executor says of its devices. It is not kept on the disk:
// whoever is here says it again.
func (x *Exchange) tells(c mess.Executor) {
	if c.States == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.states[c.ID] = c.States[:min(len(c.States), maxStates)]
	x.turned()
}

// turned wakes those who wait for news of executors. x.mu is held.
func (x *Exchange) turned() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// ExecutorNews is closed when an executor has registered, has told how it stands
// or how its devices are, or is to be stopped. Ask for it before Executors. That
// somebody is not heard of any more closes nothing.
func (x *Exchange) ExecutorNews() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}
