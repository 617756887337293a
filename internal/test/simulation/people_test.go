package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

var person = exchange.Actor{ID: "person", Roles: exchange.Requester | exchange.Operator}

// order is one request, with the requester's observations and messages.
type order struct {
	n        int
	token    string
	device   string // clean, light, photo
	once     bool
	confirm  bool // the request needs a confirmation
	after    *order
	neededBy time.Time // zero: whenever

	mu         sync.Mutex
	ref        string    // acknowledged; "" if never
	ended      bool      // the requester has received the terminal status
	stopped    bool      // the ack of its cancel was "cancelled", before the start
	statusText time.Time // time of the first confirmation
	no         bool      // the requester rejected the plan, and never confirmed it
	tooLong    bool      // requests more time than permitted
	cancelled  bool      // the requester sent a cancel
}

// people send requests and follow them.
type people struct {
	s      *server
	link   *link
	mu     sync.Mutex
	orders []*order
	over   context.Context // ends all waiting
}

// live sends requests until ctx ends, at intervals of up to 2*every. wg counts the open ones.
func (p *people) live(ctx context.Context, every time.Duration, wg *sync.WaitGroup) {
	for n := 0; ; n++ {
		r := p.s.chance.of("wish", n)
		if !sleep(ctx, between(r, time.Second, 2*every)) {
			return
		}
		w := p.newOrder(n)
		p.mu.Lock()
		p.orders = append(p.orders, w)
		p.mu.Unlock()
		wg.Go(func() { p.follow(w) })
	}
}

// newOrder returns a new random request.
func (p *people) newOrder(n int) *order {
	r := p.s.chance.of("wish", n)
	w := &order{n: n, token: fmt.Sprintf("r%05d", n), device: "clean"}
	switch r.IntN(10) {
	case 0:
		w.device = "photo"
	case 1:
		w.device = "light"
	default:
		w.once = r.IntN(3) > 0
	}
	w.confirm = w.device == "clean" && r.IntN(4) == 0
	if r.IntN(4) == 0 {
		w.neededBy = clockAt(time.Now(), p.s.step).Add(between(r, 20*time.Second, time.Hour)).Round(0)
	}
	if n > 0 && r.IntN(10) == 0 {
		w.after = p.orders[n-1]
	}
	return w
}

func (w *order) request(c *chance, f faults) *mess.Request {
	r := c.of("request", w.n)
	req := &mess.Request{ID: w.token}
	switch w.device {
	case "light":
		d := between(r, time.Minute, 15*time.Minute).Round(time.Second)
		w.tooLong = d > lampMax
		req.Intent = fmt.Sprintf("light %s %v", w.token, d)
	case "photo":
		req.Intent = "photo " + w.token
	default:
		effect, manner := "idempotent", []string{"plain", "ask"}[r.IntN(2)]
		if w.once {
			effect = "once"
		}
		switch motion := r.IntN(2) == 0; {
		case !w.confirm || f.unhurried:
		case motion:
			manner = "motion"
		default:
			req.ConfirmBefore = new(true)
		}
		req.Intent = fmt.Sprintf("clean %s %s %s", w.token, effect, manner)
	}
	if !w.neededBy.IsZero() && !f.unhurried {
		req.NeededBy = mess.TimeOf(w.neededBy)
	}
	if w.after != nil && !f.unhurried {
		req.Constraints = &mess.Constraints{DependsOn: mess.Refs{w.after.token}}
	}
	return req
}

// post repeats a message until the exchange answers it. It returns an error only for an error
// answer, or at the end of the scenario.
func (p *people) post(m mess.Message) (mess.Ack, error) {
	for {
		answer, err := p.link.Send(p.over, m)
		if errors.Is(err, mess.Unavailable) && p.over.Err() == nil {
			time.Sleep(between(p.s.chance.at("again", key(m)), time.Second, time.Minute))
			continue
		}
		if err != nil {
			return mess.Ack{}, err
		}
		ack, _ := answer.Items[0].(*mess.Ack)
		return *ack, nil
	}
}

// follow sends a request and follows it to its end.
func (p *people) follow(w *order) {
	ack, err := p.post(mess.Message{Items: []mess.Item{w.request(p.s.chance, p.s.faulty)}})
	if err != nil {
		if w.after == nil && w.neededBy.IsZero() {
			p.s.t.Errorf("%s refused: %v", w.token, err)
		}
		return
	}
	w.mu.Lock()
	w.ref = ack.Ref
	w.mu.Unlock()
	r := p.s.chance.of("pursue", w.n)
	if r.IntN(6) == 0 {
		go p.cancel(w, between(r, 0, 3*time.Minute))
	}
	confirms := r.IntN(5) > 0
	for i := 0; ; i++ {
		if !sleep(p.over, between(p.s.chance.of("look", w.n, i), 5*time.Second, min(time.Minute<<min(i/10, 4), 10*time.Minute))) {
			return
		}
		t, err := p.read(w)
		if err != nil {
			continue
		}
		switch {
		case t.Status.Terminal():
			w.mu.Lock()
			w.ended = true
			w.mu.Unlock()
			return
		case t.Status == mess.NeedsInput:
			_, _ = p.post(mess.Message{Re: mess.Refs{w.ref}, Items: []mess.Item{&mess.Reply{Answers: mess.Object{{Key: "sure", Value: "this"}}}}})
		case t.Status == mess.NeedsConfirmation && t.Confirm != nil && t.Confirm.Given == nil:
			p.answer(w, t.Confirm, confirms)
		}
	}
}

func (p *people) answer(w *order, c *exchange.Confirm, confirmed bool) {
	w.mu.Lock()
	if confirmed && w.statusText.IsZero() {
		w.statusText = time.Now()
	}
	w.no = !confirmed
	w.mu.Unlock()
	_, _ = p.post(mess.Message{Re: mess.Refs{c.Message}, Items: []mess.Item{&mess.Reply{Confirm: &confirmed, ActionHash: c.ActionHash}}})
}

// read reads a thread.
func (p *people) read(w *order) (exchange.Thread, error) {
	return call(p.over, p.link, "look "+w.ref, func(x *exchange.Exchange) (exchange.Thread, error) {
		return x.Thread(context.Background(), person, w.ref)
	}, func() {})
}

// cancel cancels a request.
func (p *people) cancel(w *order, after time.Duration) {
	time.Sleep(after)
	ack, err := p.post(mess.Message{ID: "cancel-" + w.token, Re: mess.Refs{w.ref}, Items: []mess.Item{&mess.Cancel{}}})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancelled = true
	w.stopped = err == nil && ack.Status == mess.Cancelled
}
