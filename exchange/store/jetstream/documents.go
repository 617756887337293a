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
	m, err := s.lastMsg(ctx, s.documentSubject(kind, id))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record, err := s.record(ctx, m.Header, m.Data)
	return record.Doc, err
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
	if isNew {
		record, err := w.s.record(ctx, last.Header, last.Data)
		if err != nil {
			return 0, err
		}
		if record.Doc == nil && last.Sequence > w.after {
			w.after = last.Sequence // somebody has removed the document
			return 0, errTryAgain
		}
	}
	return 0, w.staleDocument()
}

// staleDocument returns the error for a document that has another revision. If an earlier attempt may
// be stored, a later document can have replaced it.
func (w *write) staleDocument() error {
	if w.open {
		return thread.ErrUnknown
	}
	return thread.ErrStale
}
