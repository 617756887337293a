package keys

import (
	"time"

	"github.com/messkit/messkit/exchange"
)

// session is something that uses a key for long, such as a stream of events.
type session struct {
	sum   string
	actor exchange.Actor
	end   func()
	timer *time.Timer // for a key with an end, else nil
}

// Watch calls end, at most once, as soon as key is no longer valid for actor with the same roles.
// That may be at once. end must not call Keys. stop ends the watch.
func (k *Keys) Watch(key string, actor exchange.Actor, end func()) (stop func()) {
	w := &session{sum: hash(key), actor: actor, end: end}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sessions[w] = true
	k.lookAt(w)
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.forget(w)
	}
}

// look finds the sessions whose keys have changed. The caller holds k.mu.
func (k *Keys) look() {
	for w := range k.sessions {
		k.lookAt(w)
	}
}

func (k *Keys) lookAt(w *session) {
	h, ok := k.holders[w.sum]
	roles, _ := Roles(h.Roles)
	if !ok || h.ended() || h.Actor != w.actor.ID || roles != w.actor.Roles {
		k.forget(w)
		w.end()
		return
	}
	if h.Ends != nil && w.timer == nil {
		w.timer = time.AfterFunc(time.Until(*h.Ends), func() { k.over(w) })
	}
}

// over checks a key at its end. A set wall clock can have moved the end.
func (k *Keys) over(w *session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions[w] {
		w.timer = nil
		k.lookAt(w)
	}
}

func (k *Keys) forget(w *session) {
	delete(k.sessions, w)
	if w.timer != nil {
		w.timer.Stop()
	}
}
