package exchange

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/messkit/messkit/mess"
)

// ConfirmBy is how a person proves a confirmation of a plan with risk: one that
// needs the role operator.
type ConfirmBy string

// Values of ConfirmBy.
const (
	ConfirmTerminal ConfirmBy = "terminal" // typed at a terminal of the exchange's machine, or pressed on the page
	ConfirmPage     ConfirmBy = "page"     // pressed on the page
	ConfirmCode     ConfirmBy = "code"     // with a code that the page has shown
	ConfirmScript   ConfirmBy = "script"   // any program that holds an operator's key
)

// known reports whether c is a value; "" is ConfirmTerminal.
func (c ConfirmBy) known() bool {
	switch c {
	case "", ConfirmTerminal, ConfirmPage, ConfirmCode, ConfirmScript:
		return true
	}
	return false
}

// Proof is what an adapter has found out about who stands behind a message,
// beyond the key. An adapter that finds out nothing leaves it at ByKey.
type Proof uint8

// Values of Proof.
const (
	ByKey      Proof = iota // the key alone: any program may have sent it
	AtTerminal              // a person has typed it at a terminal of this machine
	OnPage                  // a person has pressed it on the page of the exchange
)

// proofKey is the key under which a context has a Proof.
type proofKey struct{}

// WithProof is a context in which an adapter passes a proof on to another one.
func WithProof(ctx context.Context, p Proof) context.Context {
	return context.WithValue(ctx, proofKey{}, p)
}

// ProofIn is the proof that WithProof has put into a context; ByKey if none has.
func ProofIn(ctx context.Context) Proof {
	p, _ := ctx.Value(proofKey{}).(Proof)
	return p
}

// enough reports whether a proof is a person's confirmation under this setting;
// what needs a code is confirmed by the code alone.
func (c ConfirmBy) enough(p Proof) bool {
	switch c {
	case ConfirmScript:
		return true
	case ConfirmPage:
		return p == OnPage
	case ConfirmCode:
		return false
	}
	return p == AtTerminal || p == OnPage
}

// needs says what a confirmation lacks. The text may reach a model, so it names
// no command.
func (c ConfirmBy) needs() error {
	switch c {
	case ConfirmPage:
		return mess.Refuse(mess.Forbidden, "confirm: this plan is confirmed on the page of the exchange alone, in a browser that an operator signed in from a terminal or from such a page; nothing was confirmed (exchange: confirm: page)")
	case ConfirmCode:
		return mess.Refuse(mess.Forbidden, "confirm: this plan is confirmed with a code alone, which the page of the exchange shows to an operator; send it as code; nothing was confirmed (exchange: confirm: code)")
	}
	return mess.Refuse(mess.Forbidden, "confirm: a person must confirm this plan, at a terminal of the exchange's own machine or on its page; a program that holds the key is refused; nothing was confirmed (exchange: confirm: terminal)")
}

// ConfirmBy is the setting of this exchange.
func (x *Exchange) ConfirmBy() ConfirmBy {
	if x.cfg.Confirm == "" {
		return ConfirmTerminal
	}
	return x.cfg.Confirm
}

// Limits of a confirmation code: six digits, and five guesses.
const (
	codeTime  = 10 * time.Minute
	codeTries = 5
	codeEnd   = 1_000_000
)

// codes are the confirmation codes that operators have been shown, by the message
// that asks. They are in memory alone.
type codes struct {
	mu sync.Mutex
	of map[string]*code
}

type code struct {
	text  string
	ends  time.Time
	tries int // that are left
}

// ConfirmCode makes the code that confirms the open question of a thread, once.
// An operator gets it, on the page alone: a program that holds the key must not
// show itself the code.
func (x *Exchange) ConfirmCode(who Actor, proof Proof, ref string) (text string, ends time.Time, err error) {
	switch {
	case x.ConfirmBy() != ConfirmCode:
		return "", ends, mess.Refuse(mess.Conflict, "confirm: this exchange asks for no codes; exchange: confirm: code does")
	case !who.Has(Operator) || proof != OnPage:
		return "", ends, mess.Refuse(mess.Forbidden, "confirm: the page shows the code to an operator alone, in a browser that was signed in from a terminal or from such a page")
	}
	x.mu.Lock()
	l := x.open[ref]
	var asked *Confirm
	if l != nil {
		asked = l.env.Confirm
	}
	x.mu.Unlock()
	if asked == nil || asked.Given != nil {
		return "", ends, mess.Refuse(mess.Illegal, "%.60s: no confirmation is asked for", ref)
	}
	n, err := rand.Int(rand.Reader, big.NewInt(codeEnd))
	if err != nil {
		return "", ends, err
	}
	c := &code{text: fmt.Sprintf("%06d", n), ends: x.now().Add(codeTime), tries: codeTries}
	x.codes.mu.Lock()
	defer x.codes.mu.Unlock()
	for name, old := range x.codes.of {
		if !x.now().Before(old.ends) {
			delete(x.codes.of, name)
		}
	}
	if x.codes.of == nil {
		x.codes.of = map[string]*code{}
	}
	x.codes.of[asked.Message] = c
	return c.text, c.ends, nil
}

// guess takes a code for the question of a message. Each wrong one counts.
func (c *codes) guess(question, text string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of[question]
	if one == nil || !now.Before(one.ends) {
		return false
	}
	if subtle.ConstantTimeCompare([]byte(one.text), []byte(text)) == 1 {
		return true
	}
	if one.tries--; one.tries <= 0 {
		delete(c.of, question)
	}
	return false
}

// proven judges the yes to a question that needs an operator, with what came along.
// spend ends the code that it used, after the step was stored.
func (x *Exchange) proven(in Inbound, code string) (proven func(Confirm) error, spend func()) {
	used := ""
	proven = func(c Confirm) error {
		by := x.ConfirmBy()
		if by == ConfirmCode && code != "" {
			if !x.codes.guess(c.Message, code, x.now()) {
				return mess.Refuse(mess.Forbidden, "code: this is not the code of this question, or its time is over; the page of the exchange shows a new one")
			}
			used = c.Message
			return nil
		}
		if !in.Actor.Has(Operator) {
			return mess.Refuse(mess.Forbidden, "this needs the word of a person who runs the place (role operator), not of %s", in.Actor.ID)
		}
		if !by.enough(in.Proof) {
			return by.needs()
		}
		return nil
	}
	return proven, func() {
		x.codes.mu.Lock()
		defer x.codes.mu.Unlock()
		delete(x.codes.of, used)
	}
}

// takeCode takes the confirmation code out of what is said to a thread: a thread
// keeps none.
func takeCode(items []mess.Item) (rest []mess.Item, code string) {
	rest = make([]mess.Item, len(items))
	for i, item := range items {
		rest[i] = item
		if r, ok := item.(*mess.Reply); ok && r.Code != "" {
			c := *r
			code, c.Code = c.Code, ""
			rest[i] = &c
		}
	}
	return rest, code
}
