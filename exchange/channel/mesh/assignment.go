package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// given is a task that a peer carries out for this exchange, or is about to (section 6,
// pattern 6).
type given struct {
	Ref     string    `json:"ref"`
	Peer    string    `json:"peer"`
	Epoch   uint64    `json:"epoch"`
	Consent string    `json:"consent,omitempty"` // digest under which somebody is asked whether the peer may have it
	Begun   bool      `json:"begun,omitempty"`   // the exchange may have let it begin
	Ask     string    `json:"ask,omitempty"`     // the id of our request to the peer
	Acked   string    `json:"acked,omitempty"`   // what the peer has said last
	Posed   []posed   `json:"posed,omitempty"`   // the questions of the peer that the thread has
	Over    time.Time `json:"over,omitzero"`     // the thread has ended without an answer of the peer
}

// posed is a question of a peer, as the thread has it.
type posed struct {
	ID   string `json:"id"`   // of the peer's message
	Hash string `json:"hash"` // of the plan that it asks about, "" for a question
}

const keptGiven = "given-"

// taskTime is how long a peer may take to answer a task.
const taskTime = time.Hour

// register makes peers executors.
func (d *Adapter) register(ctx context.Context) error {
	for _, p := range d.allPeers() {
		if !p.works() {
			continue
		}
		c := p.now().cfg
		e := &mess.Executor{ID: p.executor().ID, Name: p.name + " (mesh)", Capabilities: []mess.Capability{}, Versions: []string{"1.0.0", "1.1.0"}}
		for _, one := range c.Capabilities {
			e.Capabilities = append(e.Capabilities, mess.Capability{ID: one})
		}
		if len(c.Areas) > 0 {
			e.Extra = e.Extra.Set("areas", c.Areas)
		}
		if _, err := d.x.Post(ctx, exchange.Inbound{Actor: p.executor(), Channel: channel, Message: mess.Message{Items: []mess.Item{&mess.Config{Executor: e}}}}); err != nil {
			return err
		}
	}
	return nil
}

// employ takes for a peer what the exchange offers it, and what others say to its tasks,
// until ctx ends.
func (d *Adapter) employ(ctx context.Context, p *peer) error {
	for _, g := range d.givenTo(p) {
		d.spawn(func(ctx context.Context) { d.proceed(ctx, p, g) })
	}
	return d.x.As(p.executor(), channel).Receive(ctx, func(m mess.Message) {
		for _, item := range m.Items {
			if err := d.hearAs(ctx, p, m, item); err != nil && ctx.Err() == nil {
				d.log.Warn("mesh: a word about a task did not go on to its peer", "peer", p.name, "err", err)
			}
		}
	})
}

// givenTo are copies of what a peer was given.
func (d *Adapter) givenTo(p *peer) (list []given) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.given {
		if g.Peer == p.name {
			list = append(list, g)
		}
	}
	return list
}

func (d *Adapter) givenOf(ref string) (given, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, ok := d.given[ref]
	return g, ok
}

// keepGiven writes down how far a task of a peer is.
func (d *Adapter) keepGiven(ctx context.Context, g given) error {
	doc, err := json.Marshal(g)
	if err == nil {
		err = d.put(ctx, keptGiven+g.Ref, doc)
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.given[g.Ref] = g
	return nil
}

func (d *Adapter) forget(ctx context.Context, ref string) error {
	d.mu.Lock()
	delete(d.given, ref)
	d.mu.Unlock()
	return d.put(ctx, keptGiven+ref, nil)
}

// hearAs takes what the exchange tells a peer as an executor.
func (d *Adapter) hearAs(ctx context.Context, p *peer, m mess.Message, item mess.Item) error {
	if c, ok := item.(*mess.Config); ok && c.Stop != nil {
		var errs []error
		for _, g := range d.givenTo(p) {
			if g.Begun && g.Over.IsZero() {
				errs = append(errs, d.withdraw(ctx, p, g, "stop: "+c.Stop.Why))
			}
		}
		return errors.Join(errs...)
	}
	if len(m.Re) == 0 {
		return nil
	}
	g, ok := d.givenOf(m.Re[0])
	switch item.(type) {
	case *mess.Request:
		if ok {
			return nil
		}
		return d.claim(ctx, p, m.Re[0])
	case *mess.Reply, *mess.Answer, *mess.Cancel:
		switch {
		case !ok || g.Peer != p.name || m.Epoch != 0 && m.Epoch != g.Epoch || !g.Over.IsZero():
			return nil
		case !g.Begun:
			return d.consented(ctx, p, g, item)
		}
		return d.passOn(ctx, p, g, item)
	}
	return nil
}

// claim takes a thread for a peer before the peer hears of it: nobody else does it then.
func (d *Adapter) claim(ctx context.Context, p *peer, ref string) error {
	answer, err := d.x.Post(ctx, exchange.Inbound{Actor: p.executor(), Channel: channel, Message: mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{&mess.Status{Code: mess.Claimed}}}})
	if err != nil {
		if errors.Is(err, mess.Taken) || errors.Is(err, mess.Illegal) {
			return nil // others were faster
		}
		return err
	}
	ack, _ := answer.Items[0].(*mess.Ack)
	if ack == nil || ack.Epoch == 0 {
		return nil
	}
	g := given{Ref: ref, Peer: p.name, Epoch: ack.Epoch}
	if err := d.keepGiven(ctx, g); err != nil {
		return err
	}
	d.spawn(func(ctx context.Context) { d.proceed(ctx, p, g) })
	return nil
}

// says says something to a thread as the peer's executor.
func (d *Adapter) says(ctx context.Context, p *peer, g given, id string, items ...mess.Item) (mess.Ack, error) {
	answer, err := d.x.Post(ctx, exchange.Inbound{Actor: p.executor(), Channel: channel, Message: mess.Message{ID: id, Re: mess.Refs{g.Ref}, Epoch: g.Epoch, Items: items}})
	if err != nil {
		return mess.Ack{}, err
	}
	if ack, ok := answer.Items[0].(*mess.Ack); ok {
		return *ack, nil
	}
	return mess.Ack{}, nil
}

// proceed goes on with a task of a peer until it is over, or waits for somebody.
func (d *Adapter) proceed(ctx context.Context, p *peer, g given) {
	for ctx.Err() == nil {
		err := d.advance(ctx, p, g)
		if err == nil || ctx.Err() != nil {
			return
		}
		d.log.Warn("mesh: a task of a peer does not go on", "ref", g.Ref, "peer", p.name, "err", err)
		if !unavailable(err) {
			if err := d.forget(ctx, g.Ref); err != nil {
				d.log.Warn("mesh: not written down", "err", err)
			}
			return
		}
		wait.For(ctx, tryAgain)
		if now, ok := d.givenOf(g.Ref); ok {
			g = now
		}
	}
}

// advance asks for consent where the request wants it, passes the start gate, sends the
// task and attends to it.
func (d *Adapter) advance(ctx context.Context, p *peer, g given) error {
	if !g.Over.IsZero() || g.Ask != "" && d.asked(g.Ask) {
		return d.attend(ctx, p, g)
	}
	th, err := d.x.Thread(ctx, p.executor(), g.Ref)
	if err != nil {
		return err
	}
	if th.Status.Terminal() || th.Executor != p.executor().ID || th.Epoch != g.Epoch {
		return d.forget(ctx, g.Ref)
	}
	if th.Needs.ConfirmBefore && !g.Begun {
		c := th.Confirm
		if c == nil || c.Epoch != g.Epoch {
			g.Consent = "sha256:" + digest(p.name+"\n"+g.Ref+"\n"+th.Intent)
			if err := d.keepGiven(ctx, g); err != nil {
				return err
			}
			_, err := d.says(ctx, p, g, "", &mess.Status{
				Code: mess.NeedsConfirmation, Action: "give this to " + p.name + " of the mesh: " + th.Intent, ActionHash: g.Consent,
				Consequences: "from then on the other side decides when it acts, and may ask again",
			})
			return err
		}
		if c.Given == nil || !*c.Given {
			return nil // somebody is asked, or has said no
		}
	}
	if g.Ask == "" {
		g.Ask = newID()
	}
	g.Begun = true
	if err := d.keepGiven(ctx, g); err != nil { // its id holds before anything is sent
		return err
	}
	start := &mess.Status{Code: mess.InProgress, ActionHash: g.Consent, Message: "given to " + p.name + " of the mesh", Extra: mess.Object{{Key: "effect", Value: "once"}}}
	if _, err := d.says(ctx, p, g, "", start); err != nil {
		return err
	}
	if err := d.handOver(ctx, p, g, th); err != nil {
		if unavailable(err) {
			return err
		}
		_, err := d.says(ctx, p, g, "", &mess.Status{Code: mess.Failed, Reason: &mess.Reason{Type: "not_sent", Detail: err.Error(), Effect: mess.EffectNone}, Recoverable: new(true)})
		return errors.Join(err, d.forget(ctx, g.Ref))
	}
	return d.attend(ctx, p, g)
}

// asked reports whether a request of ours is known: it was sent, or is about to be.
func (d *Adapter) asked(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asks[id] != nil
}

// consented takes the yes or no to giving a task away.
func (d *Adapter) consented(ctx context.Context, p *peer, g given, item mess.Item) error {
	yes, said := false, false
	switch i := item.(type) {
	case *mess.Reply:
		if i.Confirm != nil {
			yes, said = *i.Confirm, true
		}
	case *mess.Answer:
		yes, said = i.Value.(bool)
	case *mess.Cancel:
		return d.forget(ctx, g.Ref)
	}
	switch {
	case !said:
		return nil
	case yes:
		d.spawn(func(ctx context.Context) { d.proceed(ctx, p, g) })
		return nil
	}
	_, err := d.says(ctx, p, g, "", &mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{Type: "not_confirmed", Detail: "the answer was no", Effect: mess.EffectNone}})
	return errors.Join(err, d.forget(ctx, g.Ref))
}
