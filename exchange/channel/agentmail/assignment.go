package agentmail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/proxy"
	"github.com/messkit/messkit/mess"
)

func (a Agent) actor() exchange.Actor {
	return exchange.Actor{ID: a.executor(), Roles: exchange.ExecutorRole}
}

// assignments are the tasks that mail agents carry out as executors of the exchange.
type assignments struct{ *shared }

// register registers an agent as an executor.
func (as *assignments) register(ctx context.Context, a Agent) error {
	return proxy.Register(ctx, as.poster(a), a.executor(), a.Name+" (mail)", a.Capabilities, a.Areas)
}

// serve handles the messages of the exchange for an agent, until ctx ends.
func (as *assignments) serve(ctx context.Context, a Agent) error {
	as.resume(ctx, a)
	return as.x.As(a.actor(), channel).Receive(ctx, func(m mess.Message) {
		for _, item := range m.Items {
			if err := as.receive(ctx, a, m, item); err != nil && ctx.Err() == nil {
				as.log.Warn("not passed on to the agent", "executor", a.executor(), "ref", first(m.Re), "err", err)
			}
		}
	})
}

// resume continues the assignments that an earlier run has claimed and not sent.
func (as *assignments) resume(ctx context.Context, a Agent) {
	as.mu.Lock()
	var refs []string
	for ref, g := range as.s.Given {
		if g.ID == a.executor() {
			refs = append(refs, ref)
		}
	}
	as.mu.Unlock()
	page, err := as.x.List(ctx, self, exchange.Filter{Executor: a.executor(), Limit: 1000, Status: []mess.Code{mess.Claimed, mess.NeedsConfirmation}})
	if err != nil {
		as.log.Warn("cannot list the claims for an agent", "executor", a.executor(), "err", err)
	}
	for _, e := range page.Threads {
		if e.Phase == exchange.NotStarted && !slices.Contains(refs, e.Ref) {
			refs = append(refs, e.Ref)
			if err := as.save(e.Ref, &assignment{Agent: a.Name, ID: a.executor(), Epoch: e.Epoch, At: as.now()}); err != nil {
				as.log.Warn("cannot store a claim", "ref", e.Ref, "err", err)
			}
		}
	}
	for _, ref := range refs {
		if err := as.proceed(ctx, a, ref); err != nil {
			as.log.Warn("not resumed", "ref", ref, "err", err)
		}
	}
}

func (as *assignments) save(ref string, g *assignment) error {
	return as.change(func(s *state) { s.Given[ref] = g })
}

// givenTo returns the thread of a task that was assigned to a peer, "" if there is none.
func (as *assignments) givenTo(from peer, task string) string {
	if from.agent.Name == "" || task == "" {
		return ""
	}
	if g := as.of(task); g != nil && g.ID == from.agent.executor() {
		return task
	}
	return ""
}

// receive handles one item of the exchange for an agent.
func (as *assignments) receive(ctx context.Context, a Agent, m mess.Message, item mess.Item) error {
	switch i := item.(type) {
	case *mess.Request:
		return as.claim(ctx, a, first(m.Re))
	case *mess.Config:
		if i.Stop != nil {
			return as.stopAll(a, *i.Stop)
		}
	case *mess.Reply, *mess.Answer, *mess.Cancel, *mess.Suggestion:
		ref := first(m.Re)
		g := as.of(ref)
		if g == nil || g.ID != a.executor() || m.Epoch != 0 && m.Epoch != g.Epoch {
			return nil
		}
		if !g.Begun {
			return as.acceptConsent(ctx, a, ref, g, item)
		}
		return as.forward(a, ref, g, item)
	}
	return nil
}

// claim claims a thread for an agent, and then assigns it.
func (as *assignments) claim(ctx context.Context, a Agent, ref string) error {
	if as.of(ref) != nil {
		return nil
	}
	epoch, err := proxy.Claim(ctx, as.poster(a), ref)
	if epoch == 0 {
		return err
	}
	if err := as.save(ref, &assignment{Agent: a.Name, ID: a.executor(), Epoch: epoch, At: as.now()}); err != nil {
		return err
	}
	return as.proceed(ctx, a, ref)
}

// proceed assigns a task. If the request wants a confirmation before, proceed asks for it first.
func (as *assignments) proceed(ctx context.Context, a Agent, ref string) error {
	g := as.of(ref)
	if g == nil || g.Sent || g.Begun && as.queued(ref) {
		return nil
	}
	th, err := as.x.Thread(ctx, self, ref)
	if err != nil {
		return err
	}
	if th.Status.Terminal() || th.Executor != g.ID || th.Epoch != g.Epoch {
		return as.change(func(s *state) { delete(s.Given, ref) })
	}
	if !th.Needs.ConfirmBefore || g.Begun {
		return as.start(ctx, a, ref, g)
	}
	if c := th.Confirm; c != nil && c.Epoch == g.Epoch {
		if c.Given != nil && *c.Given {
			return as.start(ctx, a, ref, g)
		}
		return nil // a person has not answered yet, or has rejected it
	}
	g.Consent = digest(a, th)
	if err := as.save(ref, g); err != nil {
		return err
	}
	return as.postAs(ctx, a, ref, g, proxy.AskConsent(a.Name+" by mail", th.Intent, g.Consent))
}

// digest returns the digest of a consent: it covers this request and this agent.
func digest(a Agent, th exchange.Thread) string {
	data, _ := json.Marshal(th.Request()) // the request was parsed from JSON
	sum := sha256.Sum256([]byte(a.Name + "\n" + th.Ref + "\n" + string(data)))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// poster returns a function that posts messages as an agent.
func (as *assignments) poster(a Agent) proxy.Post {
	return func(ctx context.Context, m mess.Message) (mess.Message, error) {
		return as.post(ctx, a.actor(), m)
	}
}

// postAs posts items to the thread of an assignment as its agent.
func (as *assignments) postAs(ctx context.Context, a Agent, ref string, g *assignment, items ...mess.Item) error {
	_, err := as.post(ctx, a.actor(), mess.Message{Re: mess.Refs{ref}, Epoch: g.Epoch, Items: items})
	return err
}

// start gets the start permission and queues the assignment. The agent may act from then on. After
// a crash between the two, the next run asks for the permission again.
func (as *assignments) start(ctx context.Context, a Agent, ref string, g *assignment) error {
	g.Begun = true
	if err := as.save(ref, g); err != nil {
		return err
	}
	if err := as.postAs(ctx, a, ref, g, proxy.Start(a.Name+" by mail", g.Consent)); err != nil {
		if errors.Is(err, mess.Unavailable) {
			return err
		}
		return errors.Join(err, as.change(func(s *state) { delete(s.Given, ref) })) // the exchange has refused the permission
	}
	return as.change(func(s *state) {
		s.add(outboxEntry{ID: newID(), To: a.Name, At: as.now(), Task: ref, Thread: ref, Ref: ref, Kind: string(format.TypeTaskAssignment)})
	})
}

// acceptConsent handles the answer to the question whether an agent may have a task.
func (as *assignments) acceptConsent(ctx context.Context, a Agent, ref string, g *assignment, item mess.Item) error {
	if _, ok := item.(*mess.Cancel); ok {
		return as.change(func(s *state) { delete(s.Given, ref) })
	}
	yes, ok := proxy.Consent(item)
	switch {
	case !ok:
		return nil
	case yes:
		return as.proceed(ctx, a, ref)
	}
	err := as.postAs(ctx, a, ref, g, proxy.NoConsent())
	return errors.Join(err, as.change(func(s *state) { delete(s.Given, ref) }))
}
