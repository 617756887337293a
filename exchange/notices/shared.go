package notices

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/messkit/messkit/internal/wait"
)

// storedNotice is the document of a notice.
type storedNotice struct {
	Notice

	// New says that the followers of OnNew have yet to take it. Only a shared store has it.
	New bool `json:"new,omitempty"`
}

// take takes a document that another exchange with the same store has changed.
func (l *Log) take(name string, doc []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	switch {
	case strings.HasPrefix(name, noticePrefix) && l.lease.IsHeld(): // a late write of an earlier holder
		return
	case strings.HasPrefix(name, noticePrefix) && doc == nil:
		l.list = slices.DeleteFunc(l.list, func(n Notice) bool { return documentName(noticePrefix, n.ID) == name })
	case strings.HasPrefix(name, noticePrefix):
		err = l.takeNotice(doc)
	case strings.HasPrefix(name, readPrefix) && doc == nil:
		for actor := range l.marks {
			if documentName(readPrefix, actor) == name {
				delete(l.marks, actor)
			}
		}
	case strings.HasPrefix(name, readPrefix):
		var m mark
		if err = json.Unmarshal(doc, &m); err == nil {
			l.marks[m.Actor] = m
		}
	}
	if err != nil {
		l.log.Warn("notices: a stored document is unreadable; the exchange goes on without it", "name", name, "err", err)
	}
	l.changed()
}

// takeNotice takes a stored notice. The caller holds l.mu.
func (l *Log) takeNotice(doc []byte) error {
	var n storedNotice
	if err := json.Unmarshal(doc, &n); err != nil {
		return err
	}
	l.state.Last = max(l.state.Last, n.Number)
	if delete(l.waiting, n.ID); n.New {
		l.waiting[n.ID] = true
	}
	if i := l.index(n.ID); i >= 0 {
		l.list[i] = n.Notice
		return nil
	}
	i, _ := slices.BinarySearchFunc(l.list, n.Notice, func(a, b Notice) int { return cmp.Compare(a.Number, b.Number) })
	l.list = slices.Insert(l.list, i, n.Notice)
	return nil
}

// takeState takes the stored position. The caller holds l.mu.
func (l *Log) takeState(doc []byte) error {
	var is state
	err := json.Unmarshal(doc, &is)
	l.fresh = err != nil || is.Pos == "" || strings.Trim(string(is.Pos), "0123456789") != ""
	l.state.Pos, l.state.Last = is.Pos, max(l.state.Last, is.Last)
	return err
}

// lead makes the notices until ctx ends. It goes on where the last exchange was.
func (l *Log) lead(ctx context.Context, _ uint64) error {
	l.mu.Lock()
	if doc := l.x.ChannelDocument(channel, stateName); doc != nil {
		if err := l.takeState(doc); err != nil {
			l.log.Warn("notices: the stored position is unreadable; the exchange goes on at the present", "err", err)
		}
	}
	if l.fresh {
		l.state.Pos = l.x.Position()
	}
	l.mu.Unlock()
	var delivering sync.WaitGroup
	delivering.Go(func() {
		for ok := true; ok; ok = wait.For(ctx, retryAfter) {
			l.deliver(ctx, l.undelivered())
		}
	})
	defer delivering.Wait()
	return l.run(ctx)
}

// undelivered returns the notices that the followers have yet to take.
func (l *Log) undelivered() (list []Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return nil
	}
	for _, n := range l.list {
		if l.waiting[n.ID] {
			list = append(list, n)
		}
	}
	return list
}

// deliver calls the followers with new notices, and stores that they have them.
func (l *Log) deliver(ctx context.Context, list []Notice) {
	var delivered []Notice
	for _, n := range list {
		var err error
		for _, fn := range l.follow {
			err = errors.Join(err, fn(n))
		}
		if err == nil {
			delivered = append(delivered, n)
		}
	}
	if l.lease == nil || len(delivered) == 0 {
		return
	}
	l.mu.Lock()
	for _, n := range delivered {
		delete(l.waiting, n.ID)
		l.unsaved[n.ID] = true
	}
	l.mu.Unlock()
	l.save(ctx, true)
}

// render returns the document of a notice. The caller holds l.mu.
func (l *Log) render(n Notice) []byte {
	doc, _ := json.Marshal(storedNotice{n, l.waiting[n.ID]}) // cannot fail: plain values
	return doc
}
