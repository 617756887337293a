package exchange

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/mess"
)

// Drain has executors take nothing new: those that it names, or all that are
// registered. What they have claimed goes on. It lasts over restarts, until
// Resume. Where it is on hold already, the hold of an operator stays.
func (x *Exchange) Drain(ctx context.Context, who Actor, h mess.DrainOrder) (mess.DrainOrder, error) {
	return x.drain(ctx, who, "hold", h)
}

// Resume ends the holds of the executors that it names, or all that who may end:
// an operator every one, others their own.
func (x *Exchange) Resume(ctx context.Context, who Actor, h mess.DrainOrder) (mess.DrainOrder, error) {
	return x.drain(ctx, who, "resume", h)
}

func (x *Exchange) drain(ctx context.Context, who Actor, verb string, h mess.DrainOrder) (mess.DrainOrder, error) {
	if err := mayOrder(who, verb); err != nil {
		return mess.DrainOrder{}, err
	}
	if len(h.Reason) > registry.MaxReason {
		return mess.DrainOrder{}, mess.Errorf(mess.Invalid, "config.%s.why: %d bytes are too long; write at most %d", verb, len(h.Reason), registry.MaxReason)
	}
	if len(h.Extra) > 0 { // a slip in executors would mean all of them
		return mess.DrainOrder{}, mess.Errorf(mess.Invalid, "config.%s.%.60s: is not known here; write why and executors, or leave them out", verb, h.Extra[0].Key)
	}
	h.ID, h.By, h.At = rand.Text(), who.ID, mess.TimeOf(x.now())
	given, err := x.registry.Drain(ctx, who, registry.Drain{On: verb == "hold", Hold: h})
	if err != nil {
		return mess.DrainOrder{}, x.broken(err)
	}
	if h.Executors = given; len(given) > 0 {
		x.log.Info(verb, "actor", who.ID, "executors", strings.Join(given, " "), "why", h.Reason)
	}
	return h, nil
}

// drainedOf tells of one that could take a thread and is drained, the one that would
// be asked first; "" if none is.
func (w world) drainedOf(env Envelope) string {
	r := w.request(&env)
	rank := r.Rank()
	byRank := func(a, b *routing.Executor) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.ID, b.ID)) }
	for _, e := range slices.SortedFunc(r.Candidates(), byRank) {
		if why := w.s.Orders(e.ID).WhyDrained(); why != "" {
			return cmp.Or(e.Name, e.ID) + " is " + why
		}
	}
	return ""
}
