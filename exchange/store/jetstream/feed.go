package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	feedMessages  = 256             // that the client receives ahead
	feedHeartbeat = time.Second     // after two missed ones, the feed makes a new consumer
	feedExpiry    = 5 * time.Second // of one request for messages
	feedInactive  = time.Minute     // without requests, after which the servers forget a consumer
	feedQuiet     = 3 * time.Second // without a message, after which the feed asks for the end of the stream
)

// Feed calls fn with the changes after a position, until ctx ends or fn returns an error. A position
// is a sequence of the stream. While no server answers, the feed waits.
func (s *Store) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return s.feed(ctx, after, &feed{s: s, fn: fn})
}

// FeedEnvelopes works like Feed, and leaves out the messages of the steps. From the beginning of the feed on,
// it gives the changes of the snapshot instead of all steps that the snapshot has.
func (s *Store) FeedEnvelopes(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return s.feed(ctx, after, &feed{s: s, fn: fn, envelopes: true, fromSnapshot: after == "" && s.cfg.Domain == "" && !s.cfg.IgnoreSnapshot})
}

func (s *Store) feed(ctx context.Context, after thread.Pos, f *feed) (err error) {
	if f.at, err = position(after); err != nil {
		return err
	}
	stoppedAt := uint64(math.MaxUint64)
	pause := wait.Backoff{First: 50 * time.Millisecond, Last: 2 * time.Second}
	for {
		err := f.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case f.failed != nil:
			return f.failed
		case s.nc.IsClosed():
			return errors.New("the store is closed")
		}
		level := slog.LevelDebug
		if f.at != stoppedAt {
			level, stoppedAt = slog.LevelWarn, f.at // the first stop here
			pause.Reset(0)
		}
		s.cfg.Log.Log(ctx, level, "the feed of the store has stopped; it begins again", "after", f.at, "err", err)
		if !wait.For(ctx, pause.Next()) {
			return nil
		}
	}
}

// feed is one call of Feed.
type feed struct {
	s      *Store
	at     uint64 // sequence of the last message
	level  bool
	fn     func(thread.Change) error
	failed error // that ends the feed

	envelopes    bool   // without messages
	fromSnapshot bool   // it begins with the snapshot
	envelope     []byte // JSON of the envelope of the last step
	delivered    bool   // the caller has had changes

	missing struct {
		seq   uint64
		tries int
	} // the record whose object is missing
	raw func(kind string, m jetstream.Msg) error // instead of fn, except for the present; nil for fn
}

// follow delivers messages until ctx ends or an error. The ordered consumer of the client library does
// not fit. It makes its next consumer with one name until that succeeds, which is never if the first
// try has placed it on a killed server.
func (f *feed) follow(ctx context.Context) error {
	end, err := f.s.lastSequence(ctx)
	if err != nil {
		return err
	}
	if f.fromSnapshot {
		if err := f.loadSnapshot(ctx, end); err != nil {
			return err
		}
	}
	switch {
	case f.at <= end:
	case f.delivered && !f.level:
		return fmt.Errorf("the stream ends at %d at a server that lags behind", end)
	default:
		f.at = 0 // the store is an older copy of its former state
	}
	if err := f.reach(end); err != nil {
		return err
	}
	try, cancel := context.WithTimeout(ctx, 2*attemptTimeout)
	defer cancel()
	consumer, err := f.s.stream.CreateConsumer(try, f.s.consumerAfter(f.at))
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(feedMessages), jetstream.PullHeartbeat(feedHeartbeat), jetstream.PullExpiry(feedExpiry))
	if err != nil {
		return err
	}
	defer messages.Stop()
	behind := false
	for delivered := uint64(1); ; {
		m, err := next(ctx, messages)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			last, err := f.s.lastSequence(ctx)
			if err != nil {
				return err
			}
			if behind && last > f.at {
				return fmt.Errorf("the consumer delivers nothing after sequence %d, and the stream ends at %d", f.at, last)
			}
			behind = last > f.at
			continue
		case err != nil:
			return err
		}
		behind = false
		if err := f.deliver(ctx, m, delivered); err != nil {
			return err
		}
		delivered++
		if err := f.reach(end); err != nil {
			return err
		}
	}
}

// next returns the next message. It waits for feedQuiet: a consumer can be alive and deliver nothing,
// for example if its server has lost the connection to the others.
func next(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	quiet, cancel := context.WithTimeout(ctx, feedQuiet)
	defer cancel()
	return messages.Next(jetstream.NextContext(quiet))
}

// consumerAfter returns the settings of a consumer of all messages after a sequence.
func (s *Store) consumerAfter(seq uint64) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		FilterSubject: s.subject(">"), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: seq + 1,
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: feedInactive, Replicas: 1, MemoryStorage: true,
	}
}

// lastSequence returns the sequence of the last message of the stream; 0 for none.
func (s *Store) lastSequence(ctx context.Context) (uint64, error) {
	last, err := s.lastMsg(ctx, s.subject(">"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return last.Sequence, nil
}

// reach reports once that the feed has reached the end.
func (f *feed) reach(end uint64) error {
	if f.level || f.at < end {
		return nil
	}
	f.level = true
	f.s.mu.Lock()
	serials := maps.Clone(f.s.serials)
	f.s.mu.Unlock()
	return f.give(thread.Change{Level: true, Serials: serials})
}

// give calls the function of the caller.
func (f *feed) give(c thread.Change) error {
	if f.at > 0 {
		c.Pos = thread.Pos(strconv.FormatUint(f.at, 10))
	}
	f.delivered = true
	f.failed = f.fn(c)
	return f.failed
}

// deliver delivers the message of the stream with a number of its consumer.
func (f *feed) deliver(ctx context.Context, m jetstream.Msg, number uint64) error {
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	if about.Sequence.Consumer != number {
		return fmt.Errorf("message %d of the consumer came instead of %d", about.Sequence.Consumer, number)
	}
	seq := about.Sequence.Stream
	if seq <= f.at {
		return fmt.Errorf("sequence %d comes after %d", seq, f.at)
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(m.Subject(), f.s.subject("")), ".")
	if m.Headers().Get(rollupHeader) == "sub" {
		f.s.noteRollup(m.Subject(), seq)
	}
	if f.raw != nil {
		if err := f.raw(kind, m); err != nil {
			return fmt.Errorf("sequence %d: %w", seq, err)
		}
		f.at = seq
		return nil
	}
	if kind != "t" && kind != "d" {
		f.at = seq
		if err := f.readFormat(kind, m.Data()); err != nil && f.failed == nil {
			return f.skip(ctx, m, seq, err)
		}
		return f.failed
	}
	if kind == "t" && f.s.isDamaged(m.Subject(), seq-1) {
		return f.skip(ctx, m, seq, errors.New("an earlier record of the thread is unreadable"))
	}
	c := thread.Change{Rev: revOf(seq)}
	record, err := f.s.record(ctx, m.Headers(), m.Data())
	if late, ok := errors.AsType[*FormatError](err); ok {
		f.failed = late
	}
	if isUnreadable(err) {
		return f.skip(ctx, m, seq, err)
	}
	if err != nil {
		return fmt.Errorf("sequence %d: %w", seq, err)
	}
	switch {
	case kind == "d" && f.s.documentSubject(record.Kind, record.ID) != m.Subject():
		return f.skip(ctx, m, seq, errOtherThread)
	case kind == "d":
		c.Kind, c.ID, c.Doc = record.Kind, record.ID, record.Doc
		if c.Doc == nil {
			c.Rev = ""
		}
	case goneRecord(record) && f.s.threadSubject(record.Gone) == m.Subject():
		c = outlineOf(record)
		f.s.recent.drop(record.Gone)
		f.s.note(record.Gone)
	default:
		if err := f.decode(record, m.Subject(), &c); err != nil {
			return f.skip(ctx, m, seq, err)
		}
	}
	f.at = seq
	return f.give(c)
}

// decode decodes a step.
func (f *feed) decode(record logformat.Record, subject string, c *thread.Change) (err error) {
	f.envelope = record.Envelope
	if f.envelopes && record.HasEnvelope() {
		if logformat.Parse(record.Envelope, &c.Envelope) != nil {
			err = unreadable(errors.New("its envelope is none"))
		}
	} else {
		c.Envelope, c.Messages, err = decodeStep(record)
	}
	if err == nil && f.s.threadSubject(c.Envelope.Ref) != subject {
		err = errOtherThread
	}
	if err == nil {
		f.s.note(c.Envelope.Ref)
	}
	return err
}

// readFormat reads the message that raises the format of the stream. A format that this program does not
// know ends the feed.
func (f *feed) readFormat(kind string, data []byte) error {
	if kind != "f" {
		return nil
	}
	n, err := readFormatDoc(data)
	if err == nil {
		f.failed = f.s.noteFormat(max(n, f.s.Format()))
		err = f.failed
	}
	return err
}

// note records the serial of a ref.
func (s *Store) note(ref string) {
	if day, serial, ok := messeaf.ParseRef(ref); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.serials[day] = max(s.serials[day], serial)
	}
}
