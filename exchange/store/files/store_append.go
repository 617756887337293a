package files

import (
	"context"
	"strconv"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
)

// Admit waits a moment if the folders are late, or returns ErrBusy.
func (s *Store) Admit(ctx context.Context) error { return s.project.waitForFolders(ctx, true) }

// Append adds one step to a thread. It waits a moment if the folders of too many threads are behind
// the log.
func (s *Store) Append(ctx context.Context, step thread.Step) (thread.Rev, error) {
	if err := s.project.waitForFolders(ctx, false); err != nil {
		return "", err
	}
	defer s.compactIfDue()
	s.project.steps.Add(1)
	defer s.project.steps.Add(-1)
	ref := step.Envelope.Ref
	names := []string{ref}
	for _, k := range step.Keys {
		names = append(names, k.Owner+"\x00"+k.Name)
	}
	defer s.locks.Lock(names...)()
	r, err := s.stepRecord(ref, step)
	if err != nil {
		return "", err
	}
	was := s.index.state(ref)
	bytes, err := s.write(ctx, r)
	if err != nil {
		return "", err
	}
	if is := s.index.state(ref); step.After != "" {
		s.recent.step(step, was, is, bytes)
	} else {
		if is.ver == step.Envelope.Ver && is.records == 1 {
			s.recent.put(thread.Thread{Envelope: step.Envelope, Messages: step.Messages}, is, bytes)
		}
		s.index.noteFolder(ref, folder{fresh: true})
	}
	s.project.mark(ref, step.Envelope.Status.Terminal())
	return revOf(step.Envelope.Ver), nil
}

// stepRecord returns a step as a record, or an error if the store must not take it.
func (s *Store) stepRecord(ref string, step thread.Step) (logformat.Record, error) {
	k, ok := s.index.thread(ref)
	switch {
	case !ok && step.After != "":
		return logformat.Record{}, thread.ErrNoThread
	case step.After == "" && (ok || !s.isFree(ref)):
		return logformat.Record{}, thread.ErrStale
	case step.After != "" && k.inLog() && (step.After != revOf(k.Ver) || step.Envelope.Ver != k.Ver+1):
		return logformat.Record{}, thread.ErrStale
	}
	for _, key := range step.Keys {
		if taken, ok := s.index.find(key); ok && taken != ref {
			return logformat.Record{}, &thread.TakenError{Key: key, Ref: taken}
		}
	}
	for _, b := range step.Binds {
		if !s.blobs.Has(b.SHA256) {
			return logformat.Record{}, thread.ErrNoBlob
		}
	}
	if step.After != "" && !k.inLog() {
		return s.returnToLog(ref, step)
	}
	return logformat.OfStep(step)
}

// returnToLog returns a step of a thread that only its folder has, as a record of the whole
// thread.
func (s *Store) returnToLog(ref string, step thread.Step) (logformat.Record, error) {
	t, err := s.readEnded(ref)
	switch {
	case err != nil:
		return logformat.Record{}, err
	case step.After != revOf(t.Ver) || step.Envelope.Ver != t.Ver+1:
		return logformat.Record{}, thread.ErrStale
	}
	r, err := logformat.OfThread(thread.Thread{Envelope: step.Envelope, Messages: append(t.Messages, step.Messages...)})
	r.Thread.Keys = logformat.ExtraKeys(step)
	r.Binds, r.Change = step.Binds, &step
	return r, err
}

// revOf returns the revision for a version of a thread.
func revOf(ver uint64) thread.Rev { return thread.Rev(strconv.FormatUint(ver, 10)) }
