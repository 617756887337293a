package mqtt

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// told is up to where a requester has been told what others said in a thread: the messages
// of a thread are numbered. A clock that is set back changes no number.
type told struct {
	Ref    string `json:"ref"`
	Serial int    `json:"serial"` // of the last message
}

// maxTold is of how many threads it is known.
const maxTold = 128

// remember notes that a requester was told a message.
func (a *asker) remember(ref string, serial int) {
	a.told = slices.DeleteFunc(a.told, func(t told) bool { return t.Ref == ref })
	a.told = append(a.told[max(0, len(a.told)-maxTold+1):], told{ref, serial})
}

// toldOf is the serial of the last message of a thread that the requester was told; 0 if
// none is known.
func (a *asker) toldOf(ref string) int {
	i := slices.IndexFunc(a.told, func(t told) bool { return t.Ref == ref })
	if i < 0 {
		return 0
	}
	return a.told[i].Serial
}

// keptAs is an asker as it is kept.
type keptAs struct {
	At   time.Time `json:"at"`
	Told []told    `json:"told,omitempty"`
}

func (a *asker) document() []byte {
	doc, _ := json.Marshal(keptAs{a.at, a.told}) // cannot fail: plain values
	return doc
}

// parseAsker reads an asker as it was kept; an earlier version kept the time alone.
func parseAsker(doc []byte) (*asker, error) {
	var k keptAs
	if err := json.Unmarshal(doc, &k.At); err != nil {
		if err := json.Unmarshal(doc, &k); err != nil {
			return nil, err
		}
	}
	return &asker{at: k.At, spoke: k.At, told: k.Told[max(0, len(k.Told)-maxTold):]}, nil
}

// catchUp tells a requester the messages that came while there was no broker, or no exchange.
func (d *Door) catchUp(ctx context.Context, to publisher, who exchange.Actor, a *asker) error {
	refs, all, err := d.untold(ctx, who, a)
	if err != nil {
		return err
	}
	d.mu.Lock()
	since := a.at.Truncate(time.Millisecond)
	d.mu.Unlock()
	for _, ref := range slices.Backward(refs) { // the oldest change first
		t, err := d.x.Thread(ctx, who, ref)
		if errors.Is(err, mess.Unknown) {
			continue
		}
		if err != nil {
			return err
		}
		for _, m := range t.Messages {
			if messeaf.IsAck(m) || !all && a.toldOf(ref) == 0 && before(m, since) {
				continue
			}
			if err := d.tellOne(ctx, to, who, a, t.Envelope, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func before(m mess.Message, since time.Time) bool {
	at, err := m.Received.Time()
	return err != nil || at.Before(since)
}

// untold lists the requester's threads that have changed since it was told something last,
// newest change first. Threads are listed in the order of their changes, and told in it: so
// the requester knows all threads that come after one whose last change it knows. all is false
// if there is no such thread: then the times of messages must tell which are new.
func (d *Door) untold(ctx context.Context, who exchange.Actor, a *asker) (refs []string, all bool, err error) {
	f := exchange.Filter{Requestor: who.ID, Limit: 1000}
	d.mu.Lock()
	since := a.at
	d.mu.Unlock()
	var recent []string // by time
	for {
		page, err := d.x.List(ctx, who, f)
		if err != nil {
			return nil, false, err
		}
		for _, e := range page.Threads {
			if d.toldLast(ctx, who, a, e.Ref) {
				return refs, true, nil
			}
			refs = append(refs, e.Ref)
			if !e.Updated.Before(since) {
				recent = append(recent, e.Ref)
			}
		}
		if f.Cursor = page.Cursor; f.Cursor == "" {
			return recent, false, nil
		}
	}
}

// toldLast reports whether the requester was told the last message of a thread.
func (d *Door) toldLast(ctx context.Context, who exchange.Actor, a *asker, ref string) bool {
	serial := a.toldOf(ref)
	if serial == 0 {
		return false
	}
	t, err := d.x.Thread(ctx, who, ref)
	if err != nil {
		return false
	}
	for _, m := range slices.Backward(t.Messages) {
		if !messeaf.IsAck(m) {
			return m.From != who.ID && messeaf.Serial(m.Ref) == serial
		}
	}
	return false
}
