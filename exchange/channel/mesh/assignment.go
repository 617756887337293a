package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/proxy"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// assignment is a task that a peer carries out for this exchange, or is about to (section 6,
// pattern 6).
type assignment struct {
	Ref     string            `json:"ref"`
	Peer    string            `json:"peer"`
	Epoch   uint64            `json:"epoch"`
	Consent string            `json:"consent,omitempty"` // digest of the consent question: may the peer have the task?
	Begun   bool              `json:"begun,omitempty"`   // the exchange may have given the start permission
	Ask     string            `json:"ask,omitempty"`     // id of our request to the peer
	Acked   string            `json:"acked,omitempty"`   // last ack of the peer
	Posed   []relayedQuestion `json:"posed,omitempty"`   // questions of the peer that stand in the thread
	Over    time.Time         `json:"over,omitzero"`     // when the thread ended without an answer of the peer
}

// relayedQuestion is a question of a peer in the thread.
type relayedQuestion struct {
	ID   string `json:"id"`   // id of the peer's message
	Hash string `json:"hash"` // hash of the plan to confirm, "" for a question
}

// taskTime is the time limit of a peer for the answer to a task.
const taskTime = time.Hour

// assignments are the tasks that peers carry out for this exchange as its executors.
type assignments struct {
	*shared
	files    *fileServer
	requests *requests

	mu    sync.Mutex
	byRef map[string]assignment // by ref
}

func (as *assignments) restore(doc []byte) error {
	g, err := stored[assignment](doc)
	if err == nil {
		as.byRef[g.Ref] = g
	}
	return err
}

// register registers the peers that are executors.
func (as *assignments) register(ctx context.Context) error {
	for _, p := range as.registry.Peers() {
		if !p.IsExecutor() {
			continue
		}
		c := p.Settings().Config
		if err := proxy.Register(ctx, as.poster(p), p.Executor().ID, p.Name+" (mesh)", c.Capabilities, c.Areas); err != nil {
			return err
		}
	}
	return nil
}

// serve handles the messages of the exchange for the executor of a peer, until ctx ends.
func (as *assignments) serve(ctx context.Context, p *peers.Agent) error {
	for _, g := range as.ofPeer(p) {
		as.spawn(func(ctx context.Context) { as.proceed(ctx, p, g) })
	}
	return as.x.As(p.Executor(), channel).Receive(ctx, func(m mess.Message) {
		for _, item := range m.Items {
			if err := as.receive(ctx, p, m, item); err != nil && ctx.Err() == nil {
				as.log.Warn("mesh: cannot relay a report about a task to its peer", "peer", p.Name, "err", err)
			}
		}
	})
}

// ofPeer returns copies of the assignments of a peer.
func (as *assignments) ofPeer(p *peers.Agent) (list []assignment) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, g := range as.byRef {
		if g.Peer == p.Name {
			list = append(list, g)
		}
	}
	return list
}

func (as *assignments) get(ref string) (assignment, bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	g, ok := as.byRef[ref]
	return g, ok
}

// save stores the state of an assignment.
func (as *assignments) save(ctx context.Context, g assignment) error {
	doc, err := json.Marshal(g)
	if err == nil {
		err = as.saveRaw(ctx, docAssignment+g.Ref, doc)
	}
	if err != nil {
		return err
	}
	as.mu.Lock()
	defer as.mu.Unlock()
	as.byRef[g.Ref] = g
	return nil
}

func (as *assignments) forget(ctx context.Context, ref string) error {
	as.mu.Lock()
	delete(as.byRef, ref)
	as.mu.Unlock()
	return as.saveRaw(ctx, docAssignment+ref, nil)
}

// receive handles one item of the exchange for the executor of a peer.
func (as *assignments) receive(ctx context.Context, p *peers.Agent, m mess.Message, item mess.Item) error {
	if c, ok := item.(*mess.Config); ok && c.Stop != nil {
		var errs []error
		for _, g := range as.ofPeer(p) {
			if g.Begun && g.Over.IsZero() {
				errs = append(errs, as.withdraw(ctx, p, g, "stop: "+c.Stop.Reason))
			}
		}
		return errors.Join(errs...)
	}
	if len(m.Re) == 0 {
		return nil
	}
	g, ok := as.get(m.Re[0])
	switch item.(type) {
	case *mess.Request:
		if ok {
			return nil
		}
		return as.claim(ctx, p, m.Re[0])
	case *mess.Reply, *mess.Answer, *mess.Cancel:
		switch {
		case !ok || g.Peer != p.Name || m.Epoch != 0 && m.Epoch != g.Epoch || !g.Over.IsZero():
			return nil
		case !g.Begun:
			return as.acceptConsent(ctx, p, g, item)
		}
		return as.forward(ctx, p, g, item)
	}
	return nil
}

// claim claims a thread for a peer, and then sends it to the peer.
func (as *assignments) claim(ctx context.Context, p *peers.Agent, ref string) error {
	epoch, err := proxy.Claim(ctx, as.poster(p), ref)
	if epoch == 0 {
		return err
	}
	g := assignment{Ref: ref, Peer: p.Name, Epoch: epoch}
	if err := as.save(ctx, g); err != nil {
		return err
	}
	as.spawn(func(ctx context.Context) { as.proceed(ctx, p, g) })
	return nil
}

// poster returns a function that posts messages as a peer's executor.
func (as *assignments) poster(p *peers.Agent) proxy.Post {
	return func(ctx context.Context, m mess.Message) (mess.Message, error) {
		return as.x.Post(ctx, exchange.Inbound{Actor: p.Executor(), Channel: channel, Message: m})
	}
}

// post posts items to the thread of an assignment as the peer's executor.
func (as *assignments) post(ctx context.Context, p *peers.Agent, g assignment, id string, items ...mess.Item) error {
	_, err := as.poster(p)(ctx, mess.Message{ID: id, Re: mess.Refs{g.Ref}, Epoch: g.Epoch, Items: items})
	return err
}

// proceed continues an assignment until it has ended or waits for a person. It tries again while
// the exchange is unavailable.
func (as *assignments) proceed(ctx context.Context, p *peers.Agent, g assignment) {
	for ctx.Err() == nil {
		err := as.advance(ctx, p, g)
		if err == nil || ctx.Err() != nil {
			return
		}
		as.log.Warn("mesh: a task of a peer does not continue", "ref", g.Ref, "peer", p.Name, "err", err)
		if !unavailable(err) {
			if err := as.forget(ctx, g.Ref); err != nil {
				as.log.Warn("mesh: not written down", "err", err)
			}
			return
		}
		wait.For(ctx, tryAgain)
		if now, ok := as.get(g.Ref); ok {
			g = now
		}
	}
}

// advance asks for consent if the request wants it, gets the start permission, sends the task, and
// follows it.
func (as *assignments) advance(ctx context.Context, p *peers.Agent, g assignment) error {
	if !g.Over.IsZero() || g.Ask != "" && as.requests.isKnown(g.Ask) {
		return as.follow(ctx, p, g)
	}
	th, err := as.x.Thread(ctx, p.Executor(), g.Ref)
	if err != nil {
		return err
	}
	if th.Status.Terminal() || th.Executor != p.Executor().ID || th.Epoch != g.Epoch {
		return as.forget(ctx, g.Ref)
	}
	if th.Needs.ConfirmBefore && !g.Begun {
		c := th.Confirm
		if c == nil || c.Epoch != g.Epoch {
			g.Consent = "sha256:" + digest(p.Name+"\n"+g.Ref+"\n"+th.Intent)
			if err := as.save(ctx, g); err != nil {
				return err
			}
			return as.post(ctx, p, g, "", proxy.AskConsent(p.Name+" of the mesh", th.Intent, g.Consent))
		}
		if c.Given == nil || !*c.Given {
			return nil // a person has not answered yet, or has rejected it
		}
	}
	if g.Ask == "" {
		g.Ask = newID()
	}
	g.Begun = true
	if err := as.save(ctx, g); err != nil { // stored before the message is sent, so that a restart uses the same id
		return err
	}
	if err := as.post(ctx, p, g, "", proxy.Start(p.Name+" of the mesh", g.Consent)); err != nil {
		return err
	}
	if err := as.sendTask(ctx, p, g, th); err != nil {
		if unavailable(err) {
			return err
		}
		err := as.post(ctx, p, g, "", &mess.Status{Code: mess.Failed, Reason: &mess.Reason{Type: "not_sent", Detail: err.Error(), Effect: mess.EffectNone}, Recoverable: new(true)})
		return errors.Join(err, as.forget(ctx, g.Ref))
	}
	return as.follow(ctx, p, g)
}

// acceptConsent handles the answer to the question whether a peer may have a task.
func (as *assignments) acceptConsent(ctx context.Context, p *peers.Agent, g assignment, item mess.Item) error {
	if _, ok := item.(*mess.Cancel); ok {
		return as.forget(ctx, g.Ref)
	}
	yes, ok := proxy.Consent(item)
	switch {
	case !ok:
		return nil
	case yes:
		as.spawn(func(ctx context.Context) { as.proceed(ctx, p, g) })
		return nil
	}
	err := as.post(ctx, p, g, "", proxy.NoConsent())
	return errors.Join(err, as.forget(ctx, g.Ref))
}
