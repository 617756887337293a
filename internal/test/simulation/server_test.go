package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// server is the exchange's machine. Its disk keeps the written data. A power cut loses all else.
type server struct {
	t      *testing.T
	chance *chance
	cfg    exchange.Config
	faulty faults
	beat   time.Duration // heartbeat interval of its executors

	mu      sync.Mutex
	dir     string         // of the disk, "" if that is memory
	store   exchange.Store // content of the disk
	ops     []func(exchange.Store)
	x       *exchange.Exchange
	run     *run
	step    time.Duration // error of its clock
	steps   []clockStep
	seen    map[string][]seen // every written envelope, by thread
	boots   int
	lost    int
	doubled int
	granted int // starts granted to a process that then died
}

type clockStep struct {
	at   time.Time
	step time.Duration
}

// seen is a written envelope, with the sender of its message.
type seen struct {
	at      time.Time
	env     exchange.Envelope
	from    string
	message mess.Message
	also    []mess.Message // messages that the exchange added
}

// run is the exchange between two power cuts.
type run struct {
	over  context.Context
	end   context.CancelFunc
	done  chan struct{}
	dead  bool // no write reaches the disk
	dieAt int  // number of the write at which it dies
	after bool // that write still reaches the disk
}

func (s *server) count(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// clock returns the time of the machine's clock, which may be wrong.
func (s *server) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clockAt(time.Now(), s.step)
}

func (s *server) now() *exchange.Exchange {
	x, _ := s.nowUntil()
	return x
}

func (s *server) nowUntil() (*exchange.Exchange, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil || s.run.dead {
		return nil, nil
	}
	return s.x, s.run.over
}

// boot starts the exchange from its disk.
func (s *server) boot() {
	r := s.chance.at("server boot")
	ctx, end := context.WithCancel(context.Background())
	one := &run{over: ctx, end: end, done: make(chan struct{}), dieAt: 20 + r.IntN(1500), after: r.IntN(2) == 0}
	if s.faulty.forgetful && s.boots > 0 {
		s.forget()
	}
	s.mount()
	x, err := exchange.Open(ctx, s.cfg, &disk{Store: s.store, s: s, run: one}, s.clock, quiet())
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.x, s.run = x, one
	s.boots++
	s.mu.Unlock()
	go func() {
		defer close(one.done)
		if err := x.Run(ctx); err != nil && ctx.Err() == nil {
			s.t.Error(err)
		}
	}()
}

// mount opens the disk: the files in their state at the power cut, with half a record behind the
// log, or the memory store, which survives.
func (s *server) mount() {
	if s.dir == "" {
		return
	}
	was := filepath.Join(s.dir, fmt.Sprint("disk", s.boots))
	is := filepath.Join(s.dir, fmt.Sprint("disk", s.boots+1))
	if s.boots > 0 {
		err := os.CopyFS(is, os.DirFS(was))
		if err = errors.Join(err, tearLastRecord(filepath.Join(is, "log")), s.store.Close(), os.RemoveAll(was)); err != nil {
			s.t.Fatal(err)
		}
	}
	cfg := files.DefaultConfig()
	cfg.Now = s.clock
	store, err := cfg.Open(is)
	if err != nil {
		s.t.Fatal(err)
	}
	s.store = store
}

// forget loses the last writes, like a disk that reports them too early.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops = s.ops[:max(0, len(s.ops)-10)]
	s.store = memory.New()
	for _, op := range s.ops {
		op(s.store)
	}
}

// crash cuts the power.
func (s *server) crash() {
	s.mu.Lock()
	one := s.run
	one.dead = true
	s.mu.Unlock()
	one.end()
	<-one.done
	s.mu.Lock()
	s.x, s.run = nil, nil
	s.mu.Unlock()
}

// live boots and crashes until ctx ends. Then the exchange stays up.
func (s *server) live(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		r := s.chance.of("server", n)
		up, cancel := context.WithTimeout(ctx, between(r, time.Minute, 24*time.Hour))
		select {
		case <-up.Done():
		case <-s.run.over.Done(): // it died at a write
		}
		cancel()
		if s.chance.healed.Load() {
			return
		}
		s.crash()
		time.Sleep(between(r, time.Second, 10*time.Minute))
		s.mu.Lock()
		if r.IntN(3) == 0 {
			s.step = time.Duration(r.IntN(7200)-3600) * time.Second
			s.steps = append(s.steps, clockStep{time.Now(), s.step})
		}
		s.mu.Unlock()
		s.boot()
	}
}

// disk is the store of one run of the exchange.
type disk struct {
	exchange.Store
	s   *server
	run *run
}

var errPower = errors.New("the power is gone")

// write does op on the disk, except after a power cut. It calls written after a successful op,
// even if the caller receives an error.
func (d *disk) write(op func(exchange.Store) error, written func()) error {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.run.dead {
		return errPower
	}
	d.run.dieAt--
	dies := d.run.dieAt == 0 && !d.s.chance.healed.Load()
	if dies {
		d.run.dead = true
		d.run.end()
		if !d.run.after {
			return errPower
		}
	}
	err := op(d.Store)
	if err == nil {
		written()
	}
	if d.s.faulty.forgetful && err == nil {
		d.s.ops = append(d.s.ops, func(s exchange.Store) { _ = op(s) })
	}
	if dies {
		return errPower
	}
	return err
}

func (d *disk) Append(ctx context.Context, step exchange.Step) (rev thread.Rev, err error) {
	err = d.write(func(s exchange.Store) (err error) {
		rev, err = s.Append(ctx, step)
		return err
	}, func() { d.s.sees(step.Envelope, step.Messages) })
	return rev, err
}

// sees records a written envelope. The caller holds mu.
func (s *server) sees(e exchange.Envelope, m []mess.Message) {
	s.seen[e.Ref] = append(s.seen[e.Ref], seen{time.Now(), e, m[0].From, m[0], m[1:]})
}

func (d *disk) Put(ctx context.Context, kind, id string, doc []byte, after thread.Rev) (rev thread.Rev, err error) {
	err = d.write(func(s exchange.Store) (err error) {
		rev, err = s.Put(ctx, kind, id, doc, after)
		return err
	}, func() {})
	return rev, err
}

func (d *disk) Stage(ctx context.Context, data io.Reader, most int64) (st exchange.Staged, err error) {
	err = d.write(func(s exchange.Store) (err error) {
		st, err = s.Stage(ctx, data, most)
		return err
	}, func() {})
	return st, err
}
