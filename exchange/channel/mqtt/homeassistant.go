package mqtt

import (
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// home shows the executors to Home Assistant. It reads what the exchange knows,
// and gives no orders: what Home Assistant wants done comes in as the requests of
// a requester.
type home struct {
	d    *Adapter
	news chan struct{} // something of a thread has changed
	born chan struct{} // Home Assistant has started

	mu     sync.Mutex
	doings map[string]*doing // what executors are at
}

func newHome(d *Adapter) *home {
	return &home{d: d, news: make(chan struct{}, 1), born: make(chan struct{}, 1), doings: map[string]*doing{}}
}

// bornWithin spreads what is published when Home Assistant has started: others
// publish then as well.
const bornWithin = 2 * time.Second

// birth takes what Home Assistant says of itself.
func (h *home) birth(payload []byte) {
	if string(payload) == "online" {
		wait.Notify(h.born)
	}
}

// run keeps what Home Assistant reads at the broker up to date until ctx ends.
func (h *home) run(ctx context.Context, to publisher) error {
	p := &shelf{to: to, has: map[string]string{}}
	t := time.NewTicker(tidyEvery)
	defer t.Stop()
	for ctx.Err() == nil {
		news := h.d.x.ExecutorsChanged()
		if err := h.show(ctx, p); err != nil && ctx.Err() == nil {
			h.d.log.Debug("what Home Assistant reads waits", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-news:
		case <-h.news:
		case <-t.C: // who is not heard of any more makes no news
		case <-h.born:
			wait.For(ctx, rand.N(bornWithin))
			clear(p.has)
		}
	}
	return nil
}

// shelf is what lies at the broker.
type shelf struct {
	to  publisher
	has map[string]string // by topic
}

// put lays something there, unless it is there already.
func (p *shelf) put(ctx context.Context, name string, payload []byte) error {
	if was, is := p.has[name]; is && was == string(payload) {
		return nil
	}
	if err := p.to.publish(ctx, outgoing{topic: name, payload: payload, retain: true}); err != nil {
		return err
	}
	p.has[name] = string(payload)
	return nil
}

// show shows every executor.
func (h *home) show(ctx context.Context, p *shelf) error {
	for _, info := range h.d.x.Executors() {
		if h.d.cleared(info.ID) {
			if err := h.clear(ctx, p, info.ID); err != nil {
				return err
			}
			continue
		}
		if err := h.showOne(ctx, p, info); err != nil {
			return err
		}
	}
	for _, id := range h.d.x.Deregistered() {
		if err := h.clear(ctx, p, id); err != nil {
			return err
		}
	}
	return nil
}

// clear takes away what is shown of an executor that has gone for good.
func (h *home) clear(ctx context.Context, p *shelf, id string) error {
	slug := slugOf(id)
	if err := h.d.withdraw(ctx, p.to, slug); err != nil {
		return err
	}
	maps.DeleteFunc(p.has, func(name, _ string) bool {
		return name == discovery(slug) || strings.HasPrefix(name, h.d.root.Home(slug, ""))
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.doings, id)
	return nil
}

// showOne shows one executor: first that it is there, then what there is of it,
// then how that is.
func (h *home) showOne(ctx context.Context, p *shelf, info exchange.ExecutorInfo) error {
	a := about{exchange: h.d.x.ID(), root: h.d.root, version: h.d.cfg.Version, info: info, at: h.d.now()}
	h.mu.Lock()
	if now := h.doings[info.ID]; now != nil {
		a.now = doing{open: slices.Clone(now.open), last: now.last}
	}
	h.mu.Unlock()
	was := h.d.entitiesOf(a.slug())
	is := map[string]string{}
	for _, e := range a.entities() {
		is[e.key] = e.platform
	}
	a.gone = was
	if err := h.d.keepExhibit(ctx, a.slug(), a.topics(), joined(was, is)); err != nil {
		return err
	}
	status := statusTopic(a.root, info.ID)
	if !h.d.speaks(info) {
		if err := p.put(ctx, status, h.statusOf(info)); err != nil {
			return err
		}
	} else {
		delete(p.has, status)
	}
	if err := p.put(ctx, discovery(a.slug()), a.payload()); err != nil {
		return err
	}
	if !maps.Equal(was, is) { // what was taken out is left out from now on
		a.gone = nil
		if err := p.put(ctx, discovery(a.slug()), a.payload()); err != nil {
			return err
		}
		if err := h.d.keepExhibit(ctx, a.slug(), a.topics(), is); err != nil {
			return err
		}
	}
	return h.showStates(ctx, p, a)
}

// showStates shows how everything is. What nobody knows is shown as that.
func (h *home) showStates(ctx context.Context, p *shelf, a about) error {
	put := func(name string, payload string) error { return p.put(ctx, a.topic(name), []byte(payload)) }
	for _, e := range a.entities() {
		if text, is := a.stateText(e); is {
			if err := put(e.key, text); err != nil {
				return err
			}
		}
	}
	input := a.now.input()
	for _, one := range []struct{ name, payload string }{
		{"task", jsonText(a.now.state())},
		{"standing", jsonText(standingOf(a.info))},
		{"asks", online(a.now.question() != nil)},
		{"works", online(a.now.own(a.at) != nil)},
		{"answer", jsonText(a.asking())},
		{"writes", online(input != nil)},
		{"chooses", online(input != nil && len(optionsOf(input)) > 0)},
	} {
		if err := put(one.name, one.payload); err != nil {
			return err
		}
	}
	return nil
}

func online(is bool) string {
	if is {
		return "online"
	}
	return "offline"
}

// States of the stop.
const (
	running  = "running"
	stopping = "stopping" // ordered, and not confirmed
	stopped  = "stopped"
)

// standingOf is how an executor stands: only its own word says that it has
// stopped, or that somebody has cleared it.
func standingOf(info exchange.ExecutorInfo) mess.Object {
	switch {
	case len(info.UnconfirmedStops) > 0:
		return object("state", stopping, "why", info.UnconfirmedStops[0].Reason, "by", info.UnconfirmedStops[0].By)
	case info.Stopped != nil && info.Stopped.Reason != "":
		return object("state", stopped, "why", info.Stopped.Reason)
	}
	return object("state", running)
}

// byExchange marks the status of an executor that speaks over another channel:
// the exchange says it for it.
const byExchange = "by"

// statusOf is the status of such an executor.
func (h *home) statusOf(info exchange.ExecutorInfo) []byte {
	state := "ready"
	disarmed, _ := info.Extra.Get("disarmed")
	switch {
	case !info.Live:
		state = "lost"
	case info.Stopped != nil && info.Stopped.Reason != "":
		state = "stopped"
	case disarmed != nil && disarmed != "":
		state = "disarmed"
	case info.DrainReason != "":
		state = "held"
	case info.Claims > 0:
		state = "busy"
	}
	return []byte(jsonText(object("state", state, byExchange, exchange.Self, "queue", info.Claims)))
}

// stands takes how a thread stands that was not followed before.
func (h *home) stands(ctx context.Context, e exchange.Envelope) {
	if e.Status != mess.NeedsConfirmation && e.Status != mess.NeedsInput {
		h.heard(nil, e, mess.Message{})
		return
	}
	t, err := h.d.x.Thread(ctx, exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, e.Ref)
	if err != nil {
		return // it is gone, or the next word brings it back
	}
	for _, m := range t.Messages {
		h.heard(nil, t.Envelope, m)
	}
}

// heard takes what was said in a thread.
func (h *home) heard(to publisher, e exchange.Envelope, m mess.Message) {
	defer wait.Notify(h.news)
	id := asksOf(e)
	h.mu.Lock()
	for other, d := range h.doings { // it may have been with another before
		if i := d.find(e.Ref); i >= 0 && (other != id || e.Status.Terminal()) {
			d.open = slices.Delete(d.open, i, i+1)
			h.prune(other)
		}
	}
	if id != "" && (h.doings[id] != nil || len(h.doings) < maxNames || h.known(id)) {
		if h.doings[id] == nil {
			h.doings[id] = &doing{}
		}
		h.doings[id].heard(e, m)
		h.prune(id)
	}
	h.mu.Unlock()
	if to != nil && e.Requestor == HomeAssistant {
		h.pictures(id, e, m)
	}
}

// maxNames is for how many executors that there are not yet is known what waits
// for them: anybody may write a name.
const maxNames = 1000

// prune forgets a name that somebody has written, and nobody bears, when nothing is
// open for it. h.mu is held.
func (h *home) prune(id string) {
	if d := h.doings[id]; d != nil && len(d.open) == 0 && !h.known(id) {
		delete(h.doings, id)
	}
}

func (d *doing) find(ref string) int {
	return slices.IndexFunc(d.open, func(w *work) bool { return w.env.Ref == ref })
}

// heard takes a message of a thread that is with the executor. What it is made of
// is not changed but replaced: others may read it.
func (d *doing) heard(e exchange.Envelope, m mess.Message) {
	if e.Status.Terminal() {
		d.last = ended(e, m)
		return
	}
	w := work{}
	i := d.find(e.Ref)
	if i >= 0 {
		w = *d.open[i]
	}
	w.env = e
	w.take(m)
	if i >= 0 {
		d.open[i] = &w
	} else {
		d.open = append(d.open, &w)
	}
}

// pictures shows the pictures that Home Assistant has asked for, and no others:
// what somebody else has asked for is for him. They are not kept at the broker.
func (h *home) pictures(executor string, e exchange.Envelope, m mess.Message) {
	capability, device := deviceOf(e)
	if capability != "take-photo" || executor == "" {
		return
	}
	for _, item := range m.Items {
		for _, entry := range messeaf.Content(item) {
			media, ok := entry.Media()
			if !ok || entry.Type != "image" || media.File == "" {
				continue
			}
			name := h.d.root.Home(slugOf(executor), keyOf("image", device))
			h.d.mu.Lock()
			h.d.start(func(ctx context.Context, to publisher) { h.picture(ctx, to, e.Ref, media.File, name) })
			h.d.mu.Unlock()
		}
	}
}

// picture publishes one.
func (h *home) picture(ctx context.Context, to publisher, ref, file, name string) {
	r, _, err := h.d.x.Attachment(ctx, exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, ref, file)
	if err != nil {
		h.d.log.Debug("a picture is not shown", "ref", ref, "err", err)
		return
	}
	data, err := io.ReadAll(r)
	_ = r.Close() // it was only read
	if err == nil {
		err = to.publish(ctx, outgoing{topic: name, payload: data})
	}
	if err != nil {
		h.d.log.Debug("a picture is not shown", "ref", ref, "err", err)
	}
}

// speaks reports whether an executor says itself how it stands. One that was lost
// here and has been heard of since is elsewhere now.
func (d *Adapter) speaks(info exchange.ExecutorInfo) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, known := d.stands[info.ID]
	return known && (s.here || s.gone || !info.Live || !info.LastSeen.After(s.since.Add(time.Second)))
}

// cleared reports whether an executor has taken back its status: it is gone for
// good.
func (d *Adapter) cleared(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stands[id].gone
}

// sortedKeys are the keys of a map, in order.
func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// ofHome reports whether a topic or filter is one of Home Assistant's own.
func ofHome(name string) bool { return strings.HasPrefix(name, haPrefix) }
