package keys

import (
	"time"

	"github.com/messkit/messkit/exchange"
)

// watch is something that goes on under a key, such as a stream of events.
type watch struct {
	sum   string
	who   exchange.Actor
	end   func()
	timer *time.Timer // for a key whose end is known; nil: it has none
}

// Watch calls end, at most once, as soon as key is no longer what it was when
// who came with it: it was revoked, its time is over, or it has other roles. That
// may be at once. end must not call Keys; stop ends the watching.
func (k *Keys) Watch(key string, who exchange.Actor, end func()) (stop func()) {
	w := &watch{sum: hash(key), who: who, end: end}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watches[w] = true
	k.lookAt(w)
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.forget(w)
	}
}

// look finds the watches whose keys have changed. k.mu is held.
func (k *Keys) look() {
	for w := range k.watches {
		k.lookAt(w)
	}
}

func (k *Keys) lookAt(w *watch) {
	h, ok := k.holders[w.sum]
	roles, _ := Roles(h.Roles)
	if !ok || h.ended() || h.Actor != w.who.ID || roles != w.who.Roles {
		k.forget(w)
		w.end()
		return
	}
	if h.Ends != nil && w.timer == nil {
		w.timer = time.AfterFunc(time.Until(*h.Ends), func() { k.over(w) })
	}
}

// over is called when the time of a key should be over. The wall clock may have
// been set meanwhile, so it is asked again.
func (k *Keys) over(w *watch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watches[w] {
		w.timer = nil
		k.lookAt(w)
	}
}

func (k *Keys) forget(w *watch) {
	delete(k.watches, w)
	if w.timer != nil {
		w.timer.Stop()
	}
}
