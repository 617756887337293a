package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/wait"
)

// The headers of a message.
const (
	opHeader     = "Mess-Op"   // identifies the write
	bodyHeader   = "Mess-Body" // SHA-256 of the object with the body, which is too large for a message
	expectHeader = "Nats-Expected-Last-Subject-Sequence"
	rollupHeader = "Nats-Rollup"

	headerRoom = 8 << 10 // of a message, in bytes
)

// slowWrite is the time of a write that shows that servers and exchanges have too much to do.
const slowWrite = 500 * time.Millisecond

// Admit waits a moment if most writes are slow, or returns ErrBusy. So the threads that exist go on.
func (s *Store) Admit(ctx context.Context) error {
	switch {
	case s.pace.Admit(ctx):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return thread.ErrBusy
}

// Append adds one step to a thread.
func (s *Store) Append(ctx context.Context, step thread.Step) (thread.Rev, error) {
	if s.cfg.Domain != "" {
		return "", ErrCopy
	}
	after, err := sequence(step.After)
	switch {
	case step.After == damagedRev:
		return "", &thread.DamagedError{Ref: step.Envelope.Ref}
	case step.After == archivedRev:
		return "", thread.ErrNoThread // as in a data folder
	case err != nil:
		return "", thread.ErrStale
	}
	for _, b := range step.Binds {
		if ok, err := s.hasBlob(ctx, b.SHA256); err != nil {
			return "", err
		} else if !ok {
			return "", thread.ErrNoBlob
		}
	}
	began := time.Now()
	if after == 0 {
		if free, err := s.isFree(ctx, step.Envelope.Ref); err != nil {
			return "", err
		} else if !free {
			return "", thread.ErrStale
		}
	}
	w := &write{s: s, subject: s.threadSubject(step.Envelope.Ref), ref: step.Envelope.Ref, after: after, keys: step.Keys, op: step.Envelope.Op}
	if w.op == "" {
		w.op = rand.Text()
	}
	record, err := logformat.OfStep(step)
	if err != nil {
		return "", err
	}
	if err := w.setBody(ctx, record); err != nil {
		return "", err
	}
	seq, err := w.settle(ctx, w.judgeStep)
	if took := time.Since(began); err == nil || took > slowWrite { // also one that has failed shows a slow service
		s.pace.Done(took)
	}
	if err != nil {
		return "", err
	}
	return revOf(seq), nil
}

// write is one message with the keys that it claims, until its outcome is known.
type write struct {
	s       *Store
	subject string
	ref     string       // of the thread; "" for a document
	after   uint64       // the expected last sequence of the subject
	keys    []thread.Key // to claim
	op      string
	body    []byte
	object  string // that has the body instead; "" for none
	rollup  bool   // the message replaces the earlier ones of its subject

	raw      bool          // the body is no record
	lifetime time.Duration // of the message; 0 for none

	open bool // an attempt may be stored, now or later
}

// setBody sets the body of the message.
func (w *write) setBody(ctx context.Context, r logformat.Record) (err error) {
	if w.body, err = r.Encode(); err != nil || len(w.body) <= w.s.most {
		return err
	}
	w.object, err = w.s.putBlob(ctx, w.body)
	w.body = nil
	return err
}

// message returns the message of the write.
func (w *write) message() *nats.Msg {
	m := expecting(w.subject, w.after, w.body)
	m.Header.Set(opHeader, w.op)
	if w.object != "" {
		m.Header.Set(bodyHeader, w.object)
	}
	if w.rollup {
		m.Header.Set(rollupHeader, "sub")
	}
	if w.lifetime > 0 {
		m.Header.Set(jetstream.MsgTTLHeader, w.lifetime.String())
	}
	if f := w.s.Format(); f > 1 {
		m.Header.Set(formatHeader, strconv.Itoa(f))
	}
	return m
}

// expecting returns a message that the stream stores only after a sequence of its subject.
func expecting(subject string, after uint64, body []byte) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Data = body
	m.Header.Set(expectHeader, strconv.FormatUint(after, 10))
	return m
}

// errTryAgain is the judgment about a conflict that another attempt will settle.
var errTryAgain = errors.New("try again")

// settle publishes until the outcome is known, and returns the sequence of the message. judge finds
// out what a conflict means: the sequence of the message if an earlier attempt was stored, else the
// error for the caller, or errTryAgain.
func (w *write) settle(ctx context.Context, judge func(ctx context.Context, pending bool) (uint64, error)) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	pause := wait.Backoff{First: 5 * time.Millisecond, Last: 250 * time.Millisecond}
	for {
		if err := w.s.checkFormat(); err != nil {
			return 0, w.failed(err)
		}
		seq, err := w.publish(ctx)
		w.s.wrote(err)
		if err == nil {
			w.stored(seq)
			return seq, nil
		}
		var api *jetstream.APIError
		switch isAPI := errors.As(err, &api); {
		case isAPI && natslink.IsConflict(api):
			try, cancel := context.WithTimeout(ctx, attemptTimeout)
			seq, judgment := judge(try, api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
			cancel()
			if judgment == nil {
				w.stored(seq)
				return seq, nil
			}
			if isFinal(judgment) {
				return 0, judgment
			}
		case isAPI:
			if refused, open := refusal(api); refused != nil {
				w.open = w.open || open
				return 0, w.failed(refused)
			}
		case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrReconnectBufExceeded):
			// No server has it: the stream elects its leader, or there is no connection.
		default:
			w.open = true
		}
		if !wait.For(ctx, pause.Next()) {
			return 0, w.unsettled(ctx, err)
		}
	}
}

// stored notes that the stream has the message.
func (w *write) stored(seq uint64) {
	w.s.report(nil)
	if w.rollup {
		w.s.noteRollup(w.subject, seq)
	}
}

// isFinal reports whether a judgment ends a write.
func isFinal(err error) bool {
	_, taken := errors.AsType[*thread.TakenError](err)
	_, damaged := errors.AsType[*thread.DamagedError](err)
	return taken || damaged || errors.Is(err, thread.ErrStale) || errors.Is(err, thread.ErrNoThread) || errors.Is(err, thread.ErrUnknown)
}

// unsettled returns the error of a write that has no more time.
func (w *write) unsettled(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return w.failed(errors.Join(err, ctx.Err()))
	}
	if w.open {
		return fmt.Errorf("%w: %w", thread.ErrUnknown, ctx.Err())
	}
	return ctx.Err()
}

// failed records that the servers do not take writes, and returns the error for the caller.
func (w *write) failed(err error) error {
	w.s.report(err)
	if w.open {
		return fmt.Errorf("%w: %w", thread.ErrUnknown, err)
	}
	return err
}

// The codes of servers that have no space for a message, or cannot write it.
const (
	noResources = 10023
	noStorage   = 10047
	notStored   = 10077
)

// refusal returns the error for the caller of a write that the servers refuse. It reports whether a
// replica may have the message all the same; nil: the write may succeed soon.
func refusal(e *jetstream.APIError) (err error, open bool) {
	switch e.ErrorCode {
	case noResources, noStorage:
		return fmt.Errorf("the NATS servers: %w: %w", syscall.ENOSPC, e), false
	case notStored:
		isLimit := strings.Contains(e.Description, "maximum")
		return fmt.Errorf("the NATS servers: %w: %w", syscall.ENOSPC, e), !isLimit
	}
	if isTemporary(e) {
		return nil, false
	}
	return e, false
}

// publish makes one attempt, and returns the sequence of the message.
func (w *write) publish(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if len(w.keys) > 0 {
		return w.publishBatch(ctx)
	}
	ack, err := w.s.js.PublishMsg(ctx, w.message(), jetstream.WithRetryAttempts(0))
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return 0, nats.ErrNoResponders
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// judgeStep finds out why the stream has not taken a step. At most one message follows a sequence of
// a thread, so the next one of the subject shows who was first.
func (w *write) judgeStep(ctx context.Context, pending bool) (uint64, error) {
	next, err := w.s.stream.GetMsg(ctx, w.after+1, jetstream.WithGetMsgSubject(w.subject))
	switch {
	case err == nil && next.Header.Get(opHeader) == w.op:
		return next.Sequence, nil
	case err == nil:
		return 0, w.staleStep(ctx, next)
	case !errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, err
	}
	if w.after > 0 {
		return 0, w.judgeRevision(ctx, pending)
	}
	return 0, w.judgeKeys(ctx)
}

// staleStep returns the error for a step that another message has preceded. If the thread has left the
// stream, nobody knows whether an earlier attempt was stored before.
func (w *write) staleStep(ctx context.Context, next *jetstream.RawStreamMsg) error {
	record, err := w.s.record(ctx, next.Header, next.Data)
	switch {
	case w.open && err == nil && goneRecord(record):
		return thread.ErrUnknown
	case w.after > 0 && (isUnreadable(err) || err == nil && !record.HasEnvelope() && !goneRecord(record)):
		return &thread.DamagedError{Ref: w.ref, Sequence: next.Sequence}
	}
	return thread.ErrStale
}

// judgeRevision finds out whether a revision exists. A read can be old, so it decides nothing while an
// attempt may still be stored.
func (w *write) judgeRevision(ctx context.Context, pending bool) error {
	last, err := w.s.stream.GetLastMsgForSubject(ctx, w.subject)
	switch {
	case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
		return err
	case err == nil && last.Sequence == w.after && len(w.keys) > 0:
		return w.judgeKeys(ctx)
	case pending || w.open || err == nil && last.Sequence >= w.after:
		return errTryAgain
	case err != nil:
		return thread.ErrNoThread
	}
	return thread.ErrStale
}

// judgeKeys finds out whether another thread has a key. A key that the thread has already needs no
// claim.
func (w *write) judgeKeys(ctx context.Context) error {
	for _, k := range slices.Clone(w.keys) {
		ref, err := w.s.Lookup(ctx, k)
		switch {
		case errors.Is(err, thread.ErrNoThread):
		case err != nil:
			return err
		case ref != w.ref:
			return &thread.TakenError{Key: k, Ref: ref}
		case w.after > 0:
			w.keys = slices.DeleteFunc(slices.Clone(w.keys), func(one thread.Key) bool { return one == k })
		}
	}
	return errTryAgain
}

// publishBatch publishes the keys and the message as one atomic batch: the stream stores all or
// nothing. It returns the sequence of the message, which is the last one.
func (w *write) publishBatch(ctx context.Context) (uint64, error) {
	var batch []*nats.Msg
	for _, k := range w.keys {
		batch = append(batch, expecting(w.s.keySubject(k), 0, []byte(w.ref)))
	}
	last := w.message()
	batch = append(batch, last)
	id := rand.Text() // each attempt is a batch of its own
	for i, m := range batch {
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if m == last {
			break
		}
		if err := w.s.nc.PublishMsg(m); err != nil {
			return 0, err
		}
	}
	last.Header.Set("Nats-Batch-Commit", "1")
	answer, err := w.s.nc.RequestMsgWithContext(ctx, last)
	if err != nil {
		return 0, err
	}
	return batchAnswer(answer.Data)
}

// batchAnswer reads the answer of the stream to a batch.
func batchAnswer(data []byte) (uint64, error) {
	var ack struct {
		Sequence uint64              `json:"seq"`
		Error    *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(data, &ack); err != nil {
		return 0, fmt.Errorf("the answer of the stream: %w", err)
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	if ack.Sequence == 0 {
		return 0, fmt.Errorf("the answer of the stream has no sequence: %.80q", data)
	}
	return ack.Sequence, nil
}
