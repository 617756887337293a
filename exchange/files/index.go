package files

import (
	"bytes"
	"container/list"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// index is what is in memory: every open thread whole, and of each that has
// ended and lies in its folder so much that it is found.
type index struct {
	mu      sync.RWMutex
	threads map[string]*kept
	clients map[clientID]string // to ref
	serials map[string]int      // by day, the highest that was given
	changed *list.List          // of *kept, newest change first
	seq     uint64              // of the last change
	docs    map[string]map[string][]byte
	names   map[string]string // each actor's id once, however many threads bear it
}

type clientID struct{ requestor, id string }

// kept is a thread. One of whole and ended is set.
type kept struct {
	whole *whole
	ended ended
	place *list.Element
	seq   uint64 // of its last change
}

// whole is a thread with all that belongs to it.
type whole struct {
	env      exchange.Envelope // without its Request, which is in the first message
	messages []json.RawMessage
	binds    map[string]string // bound name to SHA-256
	folder   folder            // as it was left
}

// ended is what is kept of a thread that lies in its folder.
type ended struct {
	Ref       string    `json:"ref"`
	ClientID  string    `json:"client_id,omitempty"`
	Requestor string    `json:"requestor,omitempty"`
	Executor  string    `json:"executor,omitempty"`
	Held      []string  `json:"held,omitempty"` // executors that have held it before
	Status    mess.Code `json:"status"`
	Updated   time.Time `json:"updated"`
}

func endedOf(e exchange.Envelope) ended {
	s := ended{Ref: e.Ref, ClientID: e.ClientID, Requestor: e.Requestor, Executor: e.Executor, Status: e.Status, Updated: e.Updated}
	for _, h := range e.History {
		if h.Action == string(mess.Claimed) && h.By != e.Executor && !slices.Contains(s.Held, h.By) {
			s.Held = append(s.Held, h.By)
		}
	}
	return s
}

// envelope is as much of the thread's envelope as a filter looks at.
func (e ended) envelope() exchange.Envelope {
	env := exchange.Envelope{Ref: e.Ref, ClientID: e.ClientID, Requestor: e.Requestor, Executor: e.Executor, Status: e.Status, Updated: e.Updated, Phase: exchange.After}
	for _, id := range e.Held {
		env.History = append(env.History, exchange.HistoryEntry{Action: string(mess.Claimed), By: id})
	}
	return env
}

func newIndex() *index {
	return &index{
		threads: map[string]*kept{}, clients: map[clientID]string{}, serials: map[string]int{},
		changed: list.New(), docs: map[string]map[string][]byte{}, names: map[string]string{},
	}
}

// name returns s, and always the same copy of it. x.mu is held.
func (x *index) name(s string) string {
	if one, ok := x.names[s]; ok {
		return one
	}
	x.names[s] = s
	return s
}

// put makes a thread the newest change. x.mu is held.
func (x *index) put(ref string) *kept {
	k := x.threads[ref]
	if k == nil {
		k = &kept{}
		k.place = x.changed.PushFront(k)
		x.threads[ref] = k
	}
	x.seq++
	k.seq = x.seq
	x.changed.MoveToFront(k.place)
	if day, serial, ok := messeaf.ParseRef(ref); ok {
		x.serials[day] = max(x.serials[day], serial)
	}
	return k
}

// setWhole puts a whole thread in the place of what was there.
func (x *index) setWhole(w *whole) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.put(w.env.Ref)
	k.whole, k.ended = w, ended{}
	x.client(w.env.Requestor, w.env.ClientID, w.env.Ref)
}

// setEnded leaves so much of a thread that it is found.
func (x *index) setEnded(e ended) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.put(e.Ref)
	x.shrink(k, e)
}

// shrink leaves so much of a thread that it is found, where it stands among the
// changes. x.mu is held.
func (x *index) shrink(k *kept, e ended) {
	e.Requestor, e.Executor = x.name(e.Requestor), x.name(e.Executor)
	k.whole, k.ended = nil, e
	x.client(e.Requestor, e.ClientID, e.Ref)
}

func (x *index) client(requestor, id, ref string) {
	if id != "" {
		x.clients[clientID{x.name(requestor), id}] = ref
	}
}

// forget removes a thread.
func (x *index) forget(ref string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil {
		return
	}
	e := k.ended
	if k.whole != nil {
		e = endedOf(k.whole.env)
	}
	x.changed.Remove(k.place)
	delete(x.threads, ref)
	if id := (clientID{e.Requestor, e.ClientID}); x.clients[id] == ref {
		delete(x.clients, id)
	}
}

// step puts a step to a whole thread.
func (x *index) step(env exchange.Envelope, messages []json.RawMessage, binds []exchange.Bind) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[env.Ref]
	if k == nil || k.whole == nil {
		return fmt.Errorf("a step of %s, which is not there", env.Ref)
	}
	w := x.put(env.Ref).whole
	w.env = env
	w.env.Request = mess.Request{}
	w.messages = append(w.messages, messages...)
	w.bind(binds)
	return nil
}

func (w *whole) bind(binds []exchange.Bind) {
	for _, b := range binds {
		if w.binds == nil {
			w.binds = map[string]string{}
		}
		w.binds[b.Name] = b.SHA256
	}
}

// thread is the whole thread, as it may be handed out; false if it is not whole
// in memory. known reports whether there is such a thread at all.
func (x *index) thread(ref string) (w whole, known, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	if k == nil || k.whole == nil {
		return whole{}, k != nil, false
	}
	w = *k.whole
	w.messages = slices.Clip(w.messages)
	w.binds = maps.Clone(w.binds)
	return w, true, true
}

// decode is the thread with its messages.
func (w whole) decode() (exchange.Thread, error) {
	t := exchange.Thread{Envelope: w.env, Messages: make([]mess.Message, len(w.messages))}
	for i, m := range w.messages {
		if err := json.Unmarshal(m, &t.Messages[i]); err != nil {
			return exchange.Thread{}, fmt.Errorf("%s: message %d: %w", w.env.Ref, i, err)
		}
	}
	t.Request = requestIn(t.Messages, t.Intent)
	return t, nil
}

// envelope is the thread's envelope with its request.
func (w whole) envelope() (exchange.Envelope, error) {
	w.messages = w.messages[:min(1, len(w.messages))]
	t, err := w.decode()
	return t.Envelope, err
}

// requestIn is the request that made a thread.
func requestIn(messages []mess.Message, intent string) mess.Request {
	for _, m := range messages {
		for _, item := range m.Items {
			if r, ok := item.(*mess.Request); ok {
				return *r
			}
		}
	}
	return mess.Request{Intent: intent}
}

func encodeAll(messages []mess.Message) ([]json.RawMessage, error) {
	all := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		data, err := m.JSON()
		if err != nil {
			return nil, err
		}
		all[i] = data
	}
	return all, nil
}

func (x *index) find(requestor, id string) (string, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	ref, ok := x.clients[clientID{requestor, id}]
	return ref, ok
}

// reserve gives the next ref of a day, which is not given again.
func (x *index) reserve(day, token string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serials[day]++
	return messeaf.Ref(day, x.serials[day], token)
}

// atLeast has the serials of a day go on after one that was seen elsewhere.
func (x *index) atLeast(day string, serial int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serials[day] = max(x.serials[day], serial)
}

// known reports whether a day has had a ref.
func (x *index) known(day string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.serials[day]
	return ok
}

// listed is a thread of a page.
type listed struct {
	ref   string
	env   exchange.Envelope // as much of it as a filter looks at
	whole *whole            // nil if it lies in its folder
}

// page selects threads, newest change first.
func (x *index) page(f exchange.Filter) ([]listed, string, error) {
	from, err := f.From()
	if err != nil {
		return nil, "", err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []listed
	var last uint64
	for e := x.changed.Front(); e != nil; e = e.Next() {
		k := e.Value.(*kept)
		if k.seq >= from {
			continue
		}
		one := k.listed()
		if !f.Match(one.env) {
			continue
		}
		if len(all) == f.Max() {
			return all, strconv.FormatUint(last, 10), nil
		}
		all = append(all, one)
		last = k.seq
	}
	return all, "", nil
}

func (k *kept) listed() listed {
	if k.whole != nil {
		w := *k.whole
		return listed{w.env.Ref, w.env, &w}
	}
	return listed{k.ended.Ref, k.ended.envelope(), nil}
}

// each calls fn with every thread, oldest change first, until it returns false.
// What it gets is not changed meanwhile: the caller keeps others from it.
func (x *index) each(fn func(*kept) bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for e := x.changed.Back(); e != nil; e = e.Prev() {
		if !fn(e.Value.(*kept)) {
			return
		}
	}
}

// wholes lists the threads that are whole in memory and that fn selects.
func (x *index) wholes(fn func(*whole) bool) []string {
	var refs []string
	x.each(func(k *kept) bool {
		if k.whole != nil && fn(k.whole) {
			refs = append(refs, k.whole.env.Ref)
		}
		return true
	})
	return refs
}

func (x *index) putDoc(kind, id string, doc []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if doc == nil {
		delete(x.docs[kind], id)
		return
	}
	if x.docs[kind] == nil {
		x.docs[kind] = map[string][]byte{}
	}
	x.docs[kind][id] = bytes.Clone(doc)
}

func (x *index) docsOf(kind string) map[string][]byte {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.docs[kind])
}

// more puts further messages to a whole thread of the log.
func (x *index) more(ref string, messages []json.RawMessage) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil || k.whole == nil {
		return fmt.Errorf("messages of %s, which is not there", ref)
	}
	k.whole.messages = append(k.whole.messages, messages...)
	return nil
}

// left notes how a thread's folder was left.
func (x *index) left(ref string, f folder) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k := x.threads[ref]; k != nil && k.whole != nil {
		k.whole.folder = f
	}
}

// done leaves so much of a thread that it is found, if it has ended with
// version ver and is in its folder.
func (x *index) done(ref string, ver uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	k := x.threads[ref]
	if k == nil || k.whole == nil || k.whole.env.Ver != ver || k.whole.folder.ver != ver {
		return false
	}
	x.shrink(k, endedOf(k.whole.env))
	return true
}

// ended lists the threads that have ended before, oldest change first.
func (x *index) endedBefore(t time.Time) []string {
	var refs []string
	x.each(func(k *kept) bool {
		if k.whole == nil && k.ended.Updated.Before(t) {
			refs = append(refs, k.ended.Ref)
		}
		return true
	})
	return refs
}

// has reports whether there is a thread, and whether it is whole in memory.
func (x *index) has(ref string) (known, whole bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k := x.threads[ref]
	return k != nil, k != nil && k.whole != nil
}
