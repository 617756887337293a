// Package sites is the link between the exchange of a centre and the exchanges of its sites, which have NATS
// servers of their own as leaf nodes.
//
// The centre reads the threads of a site in a copy. A request for the site goes into its inbox, a stream at
// the servers of the centre. The servers of the site mirror it, and the exchange of the site posts each request
// as one of its own. Its receipts are in the stream of the site, so that the copy has them:
//
//	{prefix}.@{site}.inbox.{requester}.{hash}  a request, or the cancel that has replaced it
//	{prefix}.{site}.i.{hash}                   the receipt for the last message with this hash
//
// The hash is that of the requester and the id of the request.
package sites

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// channel is the name of this way in threads.
const channel = "inbox"

// names are the names of streams and subjects of a site.
type names struct{ prefix, site string }

func (n names) threads() string { return n.prefix + "_" + n.site }
func (n names) inbox() string   { return n.threads() + "_inbox" }

// any matches all subjects of the inbox.
func (n names) any() string { return n.prefix + ".@" + n.site + ".inbox.>" }

func (n names) order(requester, id string) string {
	return n.prefix + ".@" + n.site + ".inbox." + natslink.Token(requester) + "." + hash(requester, id)
}

// isOrder reports whether a subject is one of a request: with one word for the requester and one hash.
func (n names) isOrder(subject string) bool {
	rest, ok := strings.CutPrefix(subject, strings.TrimSuffix(n.any(), ">"))
	requester, sum, two := strings.Cut(rest, ".")
	return ok && two && requester != "" && len(sum) == 2*hashBytes && strings.Trim(sum, "0123456789abcdef") == ""
}

// receipt returns the subject of the receipt for an order with a subject.
func (n names) receipt(order string) string {
	return n.prefix + "." + n.site + ".i." + order[strings.LastIndexByte(order, '.')+1:]
}

// hashBytes is the length of the hash of a request.
const hashBytes = 16

// hash returns one word of a subject for the id of a request.
func hash(requester, id string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d:%s%d:%s", len(requester), requester, len(id), id)))
	return hex.EncodeToString(sum[:hashBytes])
}

// Owner returns the requester of the threads at a site that an actor of a centre has made.
func Owner(requester, centre string) string { return requester + "@" + centre }

// order is what the centre sends to a site for one of its actors.
type order struct {
	Site      string          `json:"site"`
	Requester string          `json:"requester"`        // actor of the centre
	ID        string          `json:"id"`               // of the request
	Sent      time.Time       `json:"sent"`             // when the centre has taken it
	Ends      time.Time       `json:"ends,omitzero"`    // after which the site must not begin; zero for never
	Message   json.RawMessage `json:"message"`          // with the request, or with its cancel
	Cancel    bool            `json:"cancel,omitempty"` // the message is a cancel

	message mess.Message
}

// seal returns the signed message for an order.
func (o order) seal(secret []byte, centre string) ([]byte, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return natslink.Seal(secret, natslink.Head{Kind: natslink.Message, Executor: centre, ID: o.ID}, body), nil
}

// openOrder reads a signed message. With an error that is natslink.ErrSignature the order is not to be
// trusted, but it can be shown.
func openOrder(data []byte, n names, secrets ...[]byte) (o order, err error) {
	h, body, _, signed := natslink.Open(data, secrets...)
	if signed != nil && !errors.Is(signed, natslink.ErrSignature) {
		return o, signed
	}
	if signed != nil {
		_, after, _ := strings.Cut(string(data), "\n")
		body = []byte(after)
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return order{}, fmt.Errorf("the order is no JSON: %w", err)
	}
	switch o.message, err = mess.ParseValidJSON(o.Message); {
	case err != nil:
		return order{}, err
	case o.Site != n.site || signed == nil && o.ID != h.ID:
		return order{}, fmt.Errorf("the order is for the site %.60q", o.Site)
	case !mess.ValidID(o.Requester) || !mess.ValidID(o.ID) || len(o.message.Items) != 1:
		return order{}, errors.New("the order names no requester, no request or more than one")
	}
	switch i := o.message.Items[0].(type) {
	case *mess.Request:
		if o.Cancel || i.ID != o.ID {
			return order{}, errors.New("the request has another id than its order")
		}
	case *mess.Cancel:
		if !o.Cancel || len(i.Re) != 1 || i.Re[0] != o.ID {
			return order{}, errors.New("the cancel is for another request than its order")
		}
	default:
		return order{}, fmt.Errorf("the order has a %s; only requests and cancels go to a site", i.Kind())
	}
	return o, signed
}

// outcome is what became of an order at the site.
type outcome string

// Outcomes.
const (
	taken     outcome = "taken"     // it is a thread of the site
	refused   outcome = "refused"   // the site does not accept it; nothing was done
	expired   outcome = "expired"   // its time was over before it came; nothing was done
	cancelled outcome = "cancelled" // its cancel came before it; nothing was done
)

// status returns the status of a thread that says the same.
func (o outcome) status() mess.Code {
	switch o {
	case refused:
		return mess.Declined
	case expired:
		return mess.Expired
	case cancelled:
		return mess.Cancelled
	}
	return mess.Pending
}

// receipt is the answer of the site to the last message for a request.
type receipt struct {
	Seq     uint64    `json:"seq"` // of the message in the inbox
	Outcome outcome   `json:"outcome"`
	Ref     string    `json:"ref,omitempty"` // of the thread
	Reason  string    `json:"reason,omitempty"`
	Intent  string    `json:"intent,omitempty"` // the beginning
	At      time.Time `json:"at"`
	// Sent is that of the last order with a valid signature. The site does nothing for an order that is not later.
	Sent time.Time `json:"sent,omitzero"`
}

// readReceipt reads a receipt.
func readReceipt(data []byte) (r receipt, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return receipt{}, fmt.Errorf("a receipt of the site: %w", err)
	}
	switch r.Outcome {
	case taken, refused, expired, cancelled:
		return r, nil
	}
	return receipt{}, fmt.Errorf("a receipt of the site has the outcome %.20q, which this release does not know; update messkit", r.Outcome)
}

// endOf returns the time after which an executor must not begin a request; zero for never.
func endOf(r *mess.Request, now time.Time) (end time.Time) {
	if r.Constraints != nil && r.Constraints.Timing != nil && r.Constraints.Timing.Expires != "" {
		end, _ = r.Constraints.Timing.Expires.Time(now)
	}
	if r.NeededBy != "" {
		end, _ = r.NeededBy.Time()
	}
	return end
}

// withEnd returns the message of an order for the exchange of the site. A duration until the end counts from
// the time at which the centre has taken the request, so the message has the time instead.
func (o order) withEnd() mess.Message {
	m := o.message
	if r, ok := m.Items[0].(*mess.Request); ok && !o.Ends.IsZero() {
		c := *r
		c.NeededBy = mess.TimeOf(o.Ends)
		m.Items = []mess.Item{&c}
	}
	m.From = ""
	return m
}

// actor returns the requester of an order at the site. It has the role requester alone, whatever it is at
// the centre.
func (o order) actor(centre string) exchange.Actor {
	return exchange.Actor{ID: Owner(o.Requester, centre), Roles: exchange.Requester}
}
