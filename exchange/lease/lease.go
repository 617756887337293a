// Package lease gives a work to one of several exchanges with the same store. If that exchange fails,
// another one takes the work over. No clocks are compared: an exchange trusts only the time that it has
// measured itself.
package lease

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	// holdTime is how long a holder works after the beginning of its last renewal.
	holdTime = 15 * time.Second
	// takeAfter is how long the lease must not change before another exchange takes it. It is longer
	// than holdTime, so that two never work at a time.
	takeAfter  = 20 * time.Second
	renewEvery = 3 * time.Second // the servers of the store may need 9 s for a new leader
	endBefore  = time.Second     // the end of holdTime: the work has this time to end
	lookEvery  = time.Second
)

// Documents has small documents that several exchanges share. *exchange.Exchange implements it.
type Documents interface {
	ChannelDocument(channel, name string) []byte
	ChangeChannelState(ctx context.Context, channel, name string, change func(doc []byte) ([]byte, error)) error
}

// channel is the name under which the exchanges store leases.
const channel = "leases"

// stored is the document of a lease.
type stored struct {
	Holder string `json:"holder"` // a name that an exchange makes at its start
	Term   uint64 `json:"term"`   // rises with each new holder
	Beat   uint64 `json:"beat"`   // rises with each renewal
	Free   bool   `json:"free,omitempty"`
}

// Lease is the right of one exchange to do a work.
type Lease struct {
	docs Documents
	name string
	id   string
	log  *slog.Logger

	until atomic.Pointer[time.Time] // end of the hold of this exchange; nil: it does not hold the lease
}

// New returns the lease of a name. All exchanges with the same documents have the same leases.
func New(docs Documents, name string, log *slog.Logger) *Lease {
	return &Lease{docs: docs, name: name, id: rand.Text(), log: log}
}

// IsHeld reports whether this exchange holds the lease now. No other exchange does so then.
func (l *Lease) IsHeld() bool {
	until := l.until.Load()
	return until != nil && time.Now().Before(*until)
}

// Run waits for the lease, and calls do while this exchange holds it, until ctx ends. The context of do
// ends with the hold; do must return then, and may be called again later with a higher term. A store
// that keeps the term can refuse what an earlier holder writes late. Run returns the error of do.
func (l *Lease) Run(ctx context.Context, do func(ctx context.Context, term uint64) error) error {
	for ctx.Err() == nil {
		is, err := l.await(ctx)
		if err != nil {
			return nil // ctx has ended
		}
		if err := l.hold(ctx, is, do); err != nil {
			return err
		}
	}
	return nil
}

// errMoved says that another exchange has changed the lease.
var errMoved error = mess.Errorf(mess.Conflict, "another exchange has the lease")

// await waits until this exchange has taken the lease. The error is that of ctx.
func (l *Lease) await(ctx context.Context) (is stored, err error) {
	seen, since := l.document(), time.Now()
	for {
		var was stored
		readable := seen != nil && json.Unmarshal(seen, &was) == nil
		if !readable || was.Free || time.Since(since) >= takeAfter {
			began := time.Now()
			is = stored{Holder: l.id, Term: was.Term + 1}
			err := l.write(ctx, seen, is)
			if err == nil {
				l.until.Store(new(began.Add(holdTime)))
				l.log.Info("this exchange has taken a lease", "lease", l.name)
				return is, nil
			}
			if err != errMoved && ctx.Err() == nil {
				l.log.Debug("the exchange could not take a lease", "lease", l.name, "err", err)
			}
		}
		if !wait.For(ctx, lookEvery) {
			return is, ctx.Err()
		}
		if now := l.document(); !bytes.Equal(now, seen) {
			seen, since = now, time.Now()
		}
	}
}

// hold calls do while this exchange holds the lease, and gives the lease back at the end.
func (l *Lease) hold(ctx context.Context, is stored, do func(ctx context.Context, term uint64) error) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- do(working, is.Term) }()
	renewed := make(chan stored, 1)
	go func() { defer stop(); renewed <- l.renew(working, is) }()
	err := <-done
	stop()
	is = <-renewed
	if l.IsHeld() {
		free := is
		free.Free = true
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookEvery)
		defer cancel()
		if err := l.writeAfter(ending, is, free); err != nil {
			l.log.Debug("the exchange could not give a lease back; another one takes it later", "lease", l.name, "err", err)
		}
	}
	l.until.Store(nil)
	return err
}

// renew renews the lease until ctx ends, or until this exchange does not hold it any more. It returns
// the last document.
func (l *Lease) renew(ctx context.Context, is stored) stored {
	pause := renewEvery
	for {
		end := l.until.Load().Add(-endBefore)
		if !wait.For(ctx, min(pause, time.Until(end))) || !time.Now().Before(end) {
			break
		}
		pause = renewEvery
		next, began := is, time.Now()
		next.Beat++
		limited, cancel := context.WithDeadline(ctx, end)
		err := l.writeAfter(limited, is, next)
		cancel()
		switch {
		case err == nil:
			is = next
			l.until.Store(new(began.Add(holdTime)))
		case err == errMoved:
			l.until.Store(nil)
			l.log.Warn("another exchange has taken a lease", "lease", l.name)
			return is
		case ctx.Err() == nil:
			l.log.Debug("the exchange could not renew a lease; it tries again", "lease", l.name, "err", err)
			pause = lookEvery
		}
	}
	if ctx.Err() == nil {
		l.log.Warn("the store has not renewed a lease; its work goes on at the next holder", "lease", l.name)
	}
	return is
}

func (l *Lease) document() []byte { return l.docs.ChannelDocument(channel, l.name) }

// writeAfter replaces an own document. A try whose answer was lost may have written next already.
func (l *Lease) writeAfter(ctx context.Context, is, next stored) error {
	return l.docs.ChangeChannelState(ctx, channel, l.name, func(doc []byte) ([]byte, error) {
		var now stored
		if json.Unmarshal(doc, &now) != nil || now.Holder != is.Holder || now.Term != is.Term || now.Free {
			return nil, errMoved
		}
		return json.Marshal(next)
	})
}

// write replaces the document that this exchange has seen.
func (l *Lease) write(ctx context.Context, seen []byte, next stored) error {
	doc, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return l.docs.ChangeChannelState(ctx, channel, l.name, func(is []byte) ([]byte, error) {
		if !bytes.Equal(is, seen) && !bytes.Equal(is, doc) { // an earlier try may have written it
			return nil, errMoved
		}
		return doc, nil
	})
}
