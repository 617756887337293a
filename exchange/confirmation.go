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

// refusal is how it is said that a person has not proved to be one: what she does,
// what she must do, and what has not happened.
type refusal struct{ does, must, not string }

var (
	forPlan    = refusal{"this plan is confirmed", "a person must confirm this plan", "nothing was confirmed"}
	forRelease = refusal{"a stop is released, and what is locked or disarmed may act again,", "a person must release a stop, arm and unlock", "nothing was changed"}
)

// needs says what is missing. The text may reach a model, so it names no command.
func (c ConfirmBy) needs(r refusal) error {
	switch c {
	case ConfirmPage:
		return mess.Errorf(mess.Forbidden, "confirm: %s on the page of the exchange alone, in a browser that an operator signed in from a terminal or from such a page; %s (exchange: confirm: page)", r.does, r.not)
	case ConfirmCode:
		return mess.Errorf(mess.Forbidden, "confirm: %s with a code alone, which the page of the exchange shows to an operator; send it as code; %s (exchange: confirm: code)", r.does, r.not)
	}
	return mess.Errorf(mess.Forbidden, "confirm: %s, at a terminal of the exchange's own machine or on its page; a program that holds the key is refused; %s (exchange: confirm: terminal)", r.must, r.not)
}

// MayRelease refuses, without a proof that is enough, to release a stop, to arm and
// to unlock: that takes the same person as a confirmation of a plan with risk. What
// needs a code is done with ActAgain alone.
func (c ConfirmBy) MayRelease(p Proof) error {
	if c.enough(p) {
		return nil
	}
	return c.needs(forRelease)
}

// Release does act, which releases a stop, arms or unlocks, where a person has proved
// it or sends a code. A code is good for one act that succeeds.
func (x *Exchange) Release(p Proof, code string, act func() error) error {
	by := x.ConfirmBy()
	if by != ConfirmCode || code == "" {
		if err := by.MayRelease(p); err != nil {
			return err
		}
		return act()
	}
	if !x.codes.guess(releaseCode, code, x.now()) {
		return errWrongCode
	}
	err := act()
	if err == nil {
		x.codes.end(releaseCode)
	}
	return err
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

// releaseCode is in the place of a message for the code that releases a stop, arms or
// unlocks.
const releaseCode = "the place"

var errWrongCode = mess.Errorf(mess.Forbidden, "code: this is not the code of this question, or its time is over; the page of the exchange shows a new one")

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

// ConfirmCode makes the code that confirms the open question of a thread, once; ref
// "" is for the code that ActAgain takes.
// An operator gets it, on the page alone: a program that holds the key must not
// show itself the code.
func (x *Exchange) ConfirmCode(who Actor, proof Proof, ref string) (text string, ends time.Time, err error) {
	switch {
	case x.ConfirmBy() != ConfirmCode:
		return "", ends, mess.Errorf(mess.Conflict, "confirm: this exchange asks for no codes; exchange: confirm: code does")
	case !who.Has(Operator) || proof != OnPage:
		return "", ends, mess.Errorf(mess.Forbidden, "confirm: the page shows the code to an operator alone, in a browser that was signed in from a terminal or from such a page")
	}
	question := releaseCode
	if ref != "" {
		if question, err = x.openConfirmation(ref); err != nil {
			return "", ends, err
		}
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
	x.codes.of[question] = c
	return c.text, c.ends, nil
}

// openConfirmation is the message of a thread that asks for a confirmation.
func (x *Exchange) openConfirmation(ref string) (message string, err error) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	if l := x.open.byRef[ref]; l != nil && l.env.Confirm != nil && l.env.Confirm.Given == nil {
		return l.env.Confirm.Message, nil
	}
	return "", mess.Errorf(mess.IllegalTransition, "%.60s: no confirmation is asked for", ref)
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

// end ends the code of a question.
func (c *codes) end(question string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, question)
}

// confirmationProof judges the yes to a question that needs an operator, with what came along.
// spend ends the code that it used, after the step was stored.
func (x *Exchange) confirmationProof(in Inbound, code string) (proven func(Confirm) error, spend func()) {
	used := ""
	proven = func(c Confirm) error {
		by := x.ConfirmBy()
		if by == ConfirmCode && code != "" {
			if !x.codes.guess(c.Message, code, x.now()) {
				return errWrongCode
			}
			used = c.Message
			return nil
		}
		if !in.Actor.Has(Operator) {
			return mess.Errorf(mess.Forbidden, "this needs the word of a person who runs the place (role operator), not of %s", in.Actor.ID)
		}
		if !by.enough(in.Proof) {
			return by.needs(forPlan)
		}
		return nil
	}
	return proven, func() { x.codes.end(used) }
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
