package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
)

// Names of the documents of an inbox.
const (
	positionName    = "inbox"
	requesterPrefix = "asker." // before the id of the requester
)

const (
	saveEvery  = 5 * time.Second
	maxChanges = 10_000 // changes that the Inbox may read again after a restart
	// forgetAfter is the silence after which the Inbox forgets a requester without an open thread.
	forgetAfter = 7 * 24 * time.Hour
)

// load reads the stored state. That of an earlier version has times instead of positions. Then the
// Inbox reads the whole feed once, and ignores older messages.
func (b *Inbox) load() {
	docs := b.x.ChannelState(b.channel)
	if doc := docs[positionName]; doc != nil {
		if err := errors.Join(json.Unmarshal(doc, &b.pos), checkPosition(b.pos)); err != nil {
			b.pos = ""
			b.log.Error("an inbox cannot read its position, and reads the feed from the start", "channel", b.channel, "err", err)
		}
	}
	b.read = maxPos(b.pos, b.x.Position())
	for name, doc := range docs {
		id, ok := strings.CutPrefix(name, requesterPrefix)
		if !ok {
			continue
		}
		r, err := parse(doc)
		if err != nil {
			b.log.Error("an inbox cannot read the state of a requester, and sends it only new messages", "channel", b.channel, "requester", id, "err", err)
			r = &requester{at: b.now(), low: b.x.Position()}
		}
		switch {
		case r.low != "":
			r.from = r.low
		case b.pos != "":
			r.from = b.pos
		default:
			r.since, b.upgrades = r.at, true
		}
		if r.from.Before(b.read) {
			b.read = r.from
		}
		b.requesters[id] = r
	}
	b.pos = maxPos(b.pos, b.read)
}

// begins records that the Inbox has reached the present.
func (b *Inbox) begins() {
	if !b.upgrades {
		return
	}
	b.upgrades, b.moved = false, true
	for _, r := range b.requesters {
		r.since = time.Time{}
	}
}

func maxPos(a, b thread.Pos) thread.Pos {
	if a.Before(b) {
		return b
	}
	return a
}

// low returns up to where a requester has everything; "" if it is not behind. The caller holds
// b.mu.
func (b *Inbox) low(r *requester) thread.Pos {
	low := maxPos(b.read, r.from)
	if len(r.due) > 0 {
		low = r.due[0].before
	}
	if low.Before(b.pos) {
		return low
	}
	return ""
}

func (b *Inbox) saveOften(ctx context.Context) {
	for wait.For(ctx, saveEvery) {
		b.forget(ctx)
		b.save(ctx)
	}
}

// save stores the requesters that are behind, and then the common position.
func (b *Inbox) save(ctx context.Context) {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	if b.upgrades {
		b.mu.Unlock()
		return
	}
	docs := map[string][]byte{}
	for id, r := range b.requesters {
		if low := b.low(r); r.stale || low != r.low {
			r.stale, r.low = false, low
			docs[requesterPrefix+id] = r.document()
		}
	}
	pos, due := b.pos, b.moved || len(docs) > 0 || b.changes > maxChanges
	if due {
		b.moved, b.changes = false, 0
	}
	b.mu.Unlock()
	err := b.x.SaveChannelStates(ctx, b.channel, docs)
	if err != nil {
		for name := range docs {
			b.markUnsaved(strings.TrimPrefix(name, requesterPrefix))
		}
	}
	if err == nil && due {
		doc, _ := json.Marshal(pos) // cannot fail: a string
		err = b.x.SaveChannelState(ctx, b.channel, positionName, doc)
	}
	if err != nil {
		b.mu.Lock()
		b.moved = b.moved || due
		b.mu.Unlock()
		b.log.Debug("an inbox could not store its requesters", "channel", b.channel, "err", err)
	}
}

// markUnsaved marks a requester for the next save.
func (b *Inbox) markUnsaved(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.requesters[id]; r != nil {
		r.stale = true
	}
}

// forget forgets requesters that were silent for long, unless one of their threads is open.
func (b *Inbox) forget(ctx context.Context) {
	for id, r := range b.silent() {
		page, err := b.x.List(ctx, exchange.Actor{ID: id, Roles: exchange.Requester}, exchange.Filter{Requester: id, Status: exchange.OpenCodes(), Limit: 1})
		if err != nil {
			return
		}
		if len(page.Threads) > 0 {
			b.recordContact(id) // check it again much later
		} else if b.remove(ctx, id, r) != nil {
			return
		}
	}
}

func (b *Inbox) remove(ctx context.Context, id string, r *requester) error {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	if len(r.due) > 0 || b.isAlive(r) {
		b.mu.Unlock()
		return nil
	}
	delete(b.requesters, id)
	b.mu.Unlock()
	return b.x.SaveChannelState(ctx, b.channel, requesterPrefix+id, nil)
}

func (b *Inbox) isAlive(r *requester) bool { return b.now().Sub(r.at) <= forgetAfter }

func (b *Inbox) silent() map[string]*requester {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := maps.Clone(b.requesters)
	maps.DeleteFunc(all, func(_ string, r *requester) bool { return b.isAlive(r) || len(r.due) > 0 })
	return all
}
