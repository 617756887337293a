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
	ends  time.Time   // when the timer fires
}

// Watch calls end, at most once, as soon as key is no longer valid for actor with the same rights.
// That may be at once. end must not call Keys. stop ends the watch.
func (k *Keys) Watch(key string, actor exchange.Actor, end func()) (stop func()) {
	return k.WatchSecret([]byte(hash(key)), actor, end)
}

// WatchSecret works like Watch, for the key with a secret (see Shared).
func (k *Keys) WatchSecret(secret []byte, actor exchange.Actor, end func()) (stop func()) {
	w := &session{sum: string(secret), actor: actor, end: end}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions[actor.ID] == nil {
		k.sessions[actor.ID] = map[*session]bool{}
	}
	k.sessions[actor.ID][w] = true
	k.lookAt(w)
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.forget(w)
	}
}

// look finds the sessions whose keys have changed. The caller holds k.mu.
func (k *Keys) look() {
	for actor := range k.sessions {
		k.lookFor(actor)
	}
}

// lookFor finds the sessions of an actor whose keys have changed. The caller holds k.mu.
func (k *Keys) lookFor(actor string) {
	for w := range k.sessions[actor] {
		k.lookAt(w)
	}
}

func (k *Keys) lookAt(w *session) {
	h, ok := k.holders[w.sum]
	now := h.actor()
	if !ok || h.ended() || now.ID != w.actor.ID || now.Roles != w.actor.Roles || !now.Scope.Equal(w.actor.Scope) {
		k.forget(w)
		w.end()
		return
	}
	ends := h.end()
	if ends.IsZero() || w.timer != nil && w.ends.Equal(ends) {
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.ends = ends
	w.timer = time.AfterFunc(time.Until(ends), func() { k.over(w) })
}

// end returns when a key ends, or the zero time.
func (h holder) end() (t time.Time) {
	if h.Ends != nil {
		t = *h.Ends
	}
	if p := h.Person; p != nil && p.Until != nil && (t.IsZero() || p.Until.Before(t)) {
		t = *p.Until
	}
	return t
}

// over checks a key at its end. A set wall clock can have moved the end.
func (k *Keys) over(w *session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions[w.actor.ID][w] {
		w.timer = nil
		k.lookAt(w)
	}
}

func (k *Keys) forget(w *session) {
	delete(k.sessions[w.actor.ID], w)
	if len(k.sessions[w.actor.ID]) == 0 {
		delete(k.sessions, w.actor.ID)
	}
	if w.timer != nil {
		w.timer.Stop()
	}
}
