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

// ConfirmBy says how a person proves a confirmation of a risky plan, which needs the role operator.
type ConfirmBy string

// Values of ConfirmBy.
const (
	ConfirmTerminal ConfirmBy = "terminal" // typed at a terminal of the machine of the exchange, or pressed on the page
	ConfirmPage     ConfirmBy = "page"     // pressed on the page
	ConfirmCode     ConfirmBy = "code"     // with a code from the page
	ConfirmScript   ConfirmBy = "script"   // any program with the key of an operator
)

// known reports whether c is valid; "" is ConfirmTerminal.
func (c ConfirmBy) known() bool {
	switch c {
	case "", ConfirmTerminal, ConfirmPage, ConfirmCode, ConfirmScript:
		return true
	}
	return false
}

// Proof is the evidence of a channel adapter, beyond the key, that a person sent a message. An
// adapter without evidence leaves it at ByKey.
type Proof uint8

// Values of Proof.
const (
	ByKey      Proof = iota // only the key: any program may have sent it
	AtTerminal              // a person has typed it at a terminal of this machine
	OnPage                  // a person has pressed it on the page of the exchange
)

// proofKey is the key of the Proof in a context.
type proofKey struct{}

// WithProof returns a context in which one adapter passes a proof to another.
func WithProof(ctx context.Context, p Proof) context.Context {
	return context.WithValue(ctx, proofKey{}, p)
}

// ProofIn returns the proof of WithProof, or ByKey.
func ProofIn(ctx context.Context) Proof {
	p, _ := ctx.Value(proofKey{}).(Proof)
	return p
}

// accepts reports whether a proof confirms a plan under this setting. With ConfirmCode no proof
// does: only a code confirms.
func (c ConfirmBy) accepts(p Proof) bool {
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

// personNeeded has parts of the error message for an act that needs a person: the act as a fact,
// the act as a duty, and the change that the exchange has not made.
type personNeeded struct{ act, duty, unchanged string }

var (
	forPlan    = personNeeded{"a person confirms this plan", "a person must confirm this plan", "nothing was confirmed"}
	forRelease = personNeeded{"a person resets a stop, arms or unlocks", "a person must release a stop, arm and unlock", "nothing was changed"}
)

// proofError returns the error for a missing proof. A model may read the text, so it names no
// command.
func (c ConfirmBy) proofError(r personNeeded) error {
	switch c {
	case ConfirmPage:
		return mess.Errorf(mess.Forbidden, "confirm: %s on the page of the exchange alone, in a browser that an operator signed in from a terminal or from such a page; %s (exchange: confirm: page)", r.act, r.unchanged)
	case ConfirmCode:
		return mess.Errorf(mess.Forbidden, "confirm: %s with a code alone, which the page of the exchange shows to an operator; send it as code; %s (exchange: confirm: code)", r.act, r.unchanged)
	}
	return mess.Errorf(mess.Forbidden, "confirm: %s, at a terminal of the exchange's own machine or on its page; the exchange rejects a program that holds the key; %s (exchange: confirm: terminal)", r.duty, r.unchanged)
}

// CheckRelease returns an error unless the proof is enough to reset a stop, to arm, or to release a
// lockout. The same rule holds for the confirmation of a risky plan. With ConfirmCode only
// Exchange.Release can do it.
func (c ConfirmBy) CheckRelease(p Proof) error {
	if c.accepts(p) {
		return nil
	}
	return c.proofError(forRelease)
}

// Release calls act, which resets a stop, arms, or releases a lockout, if the proof is enough or
// the code is right. A code works for one act that succeeds. The error is that of act, or a
// *mess.Error with the code Forbidden.
func (x *Exchange) Release(p Proof, code string, act func() error) error {
	by := x.ConfirmBy()
	if by != ConfirmCode || code == "" {
		if err := by.CheckRelease(p); err != nil {
			return err
		}
		return act()
	}
	back, ok := x.codes.use(releaseCode, code, x.now())
	if !ok {
		return errWrongCode
	}
	err := act()
	if err != nil {
		back()
	}
	return err
}

// ConfirmBy returns the setting of this exchange.
func (x *Exchange) ConfirmBy() ConfirmBy {
	if x.cfg.Confirm == "" {
		return ConfirmTerminal
	}
	return x.cfg.Confirm
}

// Limits of a confirmation code. A code has six digits.
const (
	codeTime  = 10 * time.Minute
	codeTries = 5
	codeEnd   = 1_000_000
)

// releaseCode replaces the message ref for the code of Release.
const releaseCode = "release"

var errWrongCode = mess.Errorf(mess.Forbidden, "code: is not the code of this question, or has expired; the page of the exchange shows a new one")

// codes has the confirmation codes that the page has shown, by the ref of the question. The
// exchange never stores them.
type codes struct {
	mu sync.Mutex
	of map[string]*code
}

type code struct {
	text  string
	ends  time.Time
	tries int // attempts that remain
}

// ConfirmCode makes a code that confirms the open question of a thread, once. With ref "" the code
// is for Release. Only an operator on the page gets it, because a program with the key of the
// operator must not see it. ends is when the code expires.
func (x *Exchange) ConfirmCode(actor Actor, proof Proof, ref string) (text string, ends time.Time, err error) {
	switch {
	case x.ConfirmBy() != ConfirmCode:
		return "", ends, mess.Errorf(mess.Conflict, "confirm: this exchange asks for no codes; exchange: confirm: code does")
	case !actor.Has(Operator) || proof != OnPage:
		return "", ends, mess.Errorf(mess.Forbidden, "confirm: only the page shows the code, to an operator whose browser signed in from a terminal or from such a page")
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

// openConfirmation returns the ref of the message with the open confirmation of a thread.
func (x *Exchange) openConfirmation(ref string) (message string, err error) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	if l := x.open.byRef[ref]; l != nil {
		if c := l.env().Confirm; c != nil && c.Given == nil {
			return c.Message, nil
		}
	}
	return "", mess.Errorf(mess.IllegalTransition, "%.60s: no confirmation is open", ref)
}

// use uses up the code of a question, if text is that code. The function back makes it valid again.
// use counts wrong codes, and drops the code after the last attempt.
func (c *codes) use(question, text string, now time.Time) (back func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of[question]
	if one == nil || !now.Before(one.ends) {
		return nil, false
	}
	if subtle.ConstantTimeCompare([]byte(one.text), []byte(text)) == 1 {
		delete(c.of, question)
		return func() { c.restore(question, one) }, true
	}
	if one.tries--; one.tries <= 0 {
		delete(c.of, question)
	}
	return nil, false
}

// restore makes a code valid again, unless the question has a newer one.
func (c *codes) restore(question string, one *code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[question] == nil {
		c.of[question] = one
	}
}

// confirmationProof returns a function that judges a confirmation that needs an operator, by the
// role, the proof and the code of the message. It uses the code up. The caller calls the function
// back if the store does not get the step.
func (x *Exchange) confirmationProof(in Inbound, code string) (proven func(Confirm) error, back func()) {
	used, restore := "", func() {}
	proven = func(c Confirm) error {
		by := x.ConfirmBy()
		if by == ConfirmCode && code != "" {
			if used == c.Message {
				return nil // another process has changed the thread since
			}
			var ok bool
			if restore, ok = x.codes.use(c.Message, code, x.now()); !ok {
				restore = func() {}
				return errWrongCode
			}
			used = c.Message
			return nil
		}
		if !in.Actor.Has(Operator) {
			return mess.Errorf(mess.Forbidden, "this needs the confirmation of a person with the role operator, not of %s", in.Actor.ID)
		}
		if !by.accepts(in.Proof) {
			return by.proofError(forPlan)
		}
		return nil
	}
	return proven, func() { restore() }
}

// takeCode removes the confirmation code from items, because threads must not contain codes.
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
