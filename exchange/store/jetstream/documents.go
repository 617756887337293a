package jetstream

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
)

// Put stores or removes a small document. Its message replaces the earlier ones of the document. A
// removed document has a last message too, which says so.
func (s *Store) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	if s.cfg.Domain != "" {
		return "", ErrCopy
	}
	seq, err := sequence(after)
	if err != nil {
		return "", thread.ErrStale
	}
	w := &write{s: s, subject: s.documentSubject(kind, id), after: seq, op: rand.Text(), rollup: true}
	if err := w.setBody(ctx, logformat.Record{Kind: kind, ID: id, Doc: doc}); err != nil {
		return "", err
	}
	stored, err := w.settle(ctx, func(ctx context.Context, pending bool) (uint64, error) {
		return w.judgeDocument(ctx, after == "", pending)
	})
	if err != nil {
		return "", err
	}
	if doc == nil {
		return "", nil
	}
	return revOf(stored), nil
}

// Document returns a document, or nil.
func (s *Store) Document(ctx context.Context, kind, id string) ([]byte, error) {
	var doc []byte
	_, err := s.lastReadable(ctx, s.documentSubject(kind, id), func(r logformat.Record) error {
		if r.Kind != kind || r.ID != id {
			return errOtherThread
		}
		doc = r.Doc
		return nil
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return doc, err
}

// judgeDocument finds out why the stream has not taken a document. The stream has only the last
// message of the subject.
func (w *write) judgeDocument(ctx context.Context, isNew, pending bool) (uint64, error) {
	last, err := w.s.stream.GetLastMsgForSubject(ctx, w.subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound) && (w.after == 0 || pending):
		return 0, errTryAgain
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, w.staleDocument()
	case err != nil:
		return 0, err
	case last.Header.Get(opHeader) == w.op:
		return last.Sequence, nil
	case last.Sequence == w.after:
		return 0, errTryAgain
	}
	if w.raw {
		return 0, w.staleDocument()
	}
	record, err := w.s.record(ctx, last.Header, last.Data)
	switch {
	case isUnreadable(err) || err == nil && record.Kind == "":
		return 0, w.passUnreadable(ctx, last.Sequence)
	case err != nil:
		return 0, err
	case isNew && record.Doc == nil && last.Sequence > w.after:
		w.after = last.Sequence // somebody has removed the document
		return 0, errTryAgain
	}
	return 0, w.staleDocument()
}

// passUnreadable has the next attempt replace unreadable messages after the revision that the caller has
// seen.
func (w *write) passUnreadable(ctx context.Context, last uint64) error {
	for at := w.after + 1; at <= last; {
		m, err := w.s.getMsg(ctx, at, w.subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return err
		}
		if r, err := w.s.record(ctx, m.Header, m.Data); err == nil && r.Kind != "" {
			return w.staleDocument()
		} else if err != nil && !isUnreadable(err) {
			return err
		}
		at = m.Sequence + 1
	}
	w.after = last
	return errTryAgain
}

// staleDocument returns the error for a document that has another revision. If an earlier attempt may
// be stored, a later document can have replaced it.
func (w *write) staleDocument() error {
	if w.open {
		return thread.ErrUnknown
	}
	return thread.ErrStale
}
