package sites

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// carryOut posts what a message asks for. before is the receipt for the last message with its id, nil for
// none. An error means that the exchange cannot do it now.
func (b *Inbox) carryOut(ctx context.Context, m jetstream.Msg, before *receipt) (r receipt, err error) {
	defer mistake.Caught(b.cfg.Log, "subject", m.Subject())
	r = without("the exchange of the site has made a mistake with it; see its log", before)
	centre, secrets := b.keys.Secrets(b.cfg.Exchange)
	o, err := openOrder(m.Data(), b.names, secrets...)
	var reason string
	switch {
	case errors.Is(err, natslink.ErrSignature):
		reason = fmt.Sprintf("it is not signed with the key that %s has at this site; write the key that messkit keys issue %s requester shows here into key_file of the centre", b.cfg.Exchange, b.cfg.Exchange)
	case err != nil:
		reason = err.Error()
	case m.Subject() != b.names.order(o.Requester, o.ID):
		reason = "it has the subject of another request"
	case before != nil && !o.Sent.After(before.Sent): // it has come before, or a later one has
		r = *before
	default:
		if reason = b.objection(centre, o); reason == "" {
			if r, err = b.post(ctx, o, before); err != nil {
				return r, err
			}
		} else {
			r = without(reason, before)
		}
		r.Sent, reason = o.Sent, ""
	}
	if reason != "" {
		r = without(reason, before)
	}
	if r.Intent == "" {
		r.Intent = intentOf(o)
	}
	b.cfg.Log.Info("a request of the centre", "centre", b.cfg.Exchange, "requester", o.Requester, "id", o.ID, "cancel", o.Cancel, "outcome", r.Outcome, "ref", r.Ref, "reason", r.Reason)
	return r, nil
}

// without returns the receipt for a message for which the site does nothing. A request that the site has
// taken stays so, whatever comes later.
func without(reason string, before *receipt) receipt {
	switch {
	case before == nil:
		return receipt{Outcome: refused, Reason: reason}
	case before.Outcome == taken:
		r := *before
		r.Reason = "a later message with its id had no effect: " + reason
		return r
	}
	return receipt{Outcome: refused, Reason: reason, Sent: before.Sent}
}

// objection says why the site does not accept a signed order; "" if it does.
func (b *Inbox) objection(centre exchange.Actor, o order) string {
	switch {
	case centre.IsGuest():
		return fmt.Sprintf("the key of %s at this site is one of a guest; make one with messkit keys issue %s requester", b.cfg.Exchange, b.cfg.Exchange)
	case !centre.Has(exchange.Requester):
		return fmt.Sprintf("the key of %s at this site has not the role requester", b.cfg.Exchange)
	case !slices.Contains(b.cfg.Accept, o.Requester) && !slices.Contains(b.cfg.Accept, Everybody):
		return fmt.Sprintf("the site does not accept requests of %s; accept: under centre: in its configuration says whose", o.Requester)
	}
	if r, ok := o.message.Items[0].(*mess.Request); ok && waitsForDecision(r) {
		return noDecideWithin
	}
	return ""
}

// noDecideWithin says why a request with that field does not go to a site.
const noDecideWithin = "request." + mess.DecideWithinField + ": would move the time after which a site must not begin the request; leave it out, and give the time in needed_by"

// waitsForDecision reports whether a confirmation of a request moves its end.
func waitsForDecision(r *mess.Request) bool {
	_, given := r.Extra.Get(mess.DecideWithinField)
	return given
}

// post posts an order to the exchange, as its requester. The exchange knows the id of the request, and
// after the thread is archived the receipt knows it. So a second time has no effect.
func (b *Inbox) post(ctx context.Context, o order, before *receipt) (r receipt, err error) {
	actor := o.actor(b.cfg.Exchange)
	has, err := b.x.Envelope(ctx, actor, o.ID)
	exists := err == nil
	if err != nil && !errors.Is(err, mess.NotFound) {
		return r, err
	}
	switch {
	case !exists && before != nil && before.Outcome == taken:
		r = *before
		if o.Cancel {
			r.Reason = "the cancel had no effect: the site has taken the request before, and its thread has ended"
		}
		return r, nil
	case o.Cancel && !exists:
		return receipt{Outcome: cancelled, Reason: "its requester has cancelled it before the site had it"}, nil
	case !o.Cancel && exists:
		return receipt{Outcome: taken, Ref: has.Ref}, nil
	case !o.Cancel && !o.Ends.IsZero() && !b.now().Before(o.Ends):
		return receipt{Outcome: expired, Reason: fmt.Sprintf("its time was over at %s, before it came to the site; nothing was done", o.Ends.UTC().Format(time.RFC3339))}, nil
	}
	answer, err := b.x.Post(ctx, exchange.Inbound{Actor: actor, Channel: channel, Message: o.withEnd()})
	problem, ok := errors.AsType[*mess.Error](err)
	switch {
	case err != nil && (!ok || errors.Is(problem, mess.Unavailable)):
		return r, err
	case err != nil && o.Cancel:
		return receipt{Outcome: taken, Ref: has.Ref, Reason: "the cancel had no effect: " + problem.Text}, nil
	case err != nil:
		return receipt{Outcome: refused, Reason: problem.Error()}, nil
	case o.Cancel:
		return receipt{Outcome: taken, Ref: has.Ref, Reason: "the site has the cancel"}, nil
	}
	return receipt{Outcome: taken, Ref: mess.FirstAck(answer).Ref}, nil
}

// maxIntent limits the intent in a receipt, in bytes.
const maxIntent = 200

// intentOf returns the intent of a request; "" for a cancel.
func intentOf(o order) string {
	if len(o.message.Items) != 1 {
		return ""
	}
	r, ok := o.message.Items[0].(*mess.Request)
	if !ok {
		return ""
	}
	return strings.ToValidUTF8(r.Intent[:min(len(r.Intent), maxIntent)], "")
}
