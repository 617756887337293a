package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
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

// server is the machine of an exchange. Its disk keeps the written data. A power cut loses all else.
type server struct {
	name   string
	nodes  []*server // the machines of all exchanges of the store
	t      *testing.T
	chance *chance
	cfg    exchange.Config
	faulty faults
	beat   time.Duration // heartbeat interval of its executors

	mu      *sync.Mutex    // shared by the nodes, so that seen has the order of the writes
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

// pick returns one of the exchanges that are up, and the context of its run; nil if none is.
func (s *server) pick(r *rand.Rand) (*exchange.Exchange, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var up []*server
	for _, n := range s.nodes {
		if n.run != nil && !n.run.dead {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return nil, nil
	}
	one := up[r.IntN(len(up))]
	return one.x, one.run.over
}

// join adds a second exchange, on a machine of its own, to the store.
func (s *server) join() {
	b := &server{name: "second server", t: s.t, chance: s.chance, cfg: s.cfg, faulty: s.faulty, beat: s.beat, mu: s.mu, store: s.store, seen: s.seen}
	s.nodes = []*server{s, b}
	b.nodes = s.nodes
}

// boot starts the exchange from its disk.
func (s *server) boot() {
	r := s.chance.at(s.name, "boot")
	ctx, end := context.WithCancel(context.Background())
	one := &run{over: ctx, end: end, done: make(chan struct{}), dieAt: 20 + r.IntN(1500), after: r.IntN(2) == 0}
	if s.faulty.forgetful && s.boots > 0 {
		s.forget()
	}
	s.mount()
	store := exchange.Store(&disk{Store: s.store, s: s, run: one})
	if len(s.nodes) > 1 {
		store = &sharedDisk{store.(*disk)}
	}
	x, err := exchange.Open(ctx, s.cfg, store, s.clock, quiet())
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
		r := s.chance.of(s.name, n)
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

// sharedDisk is the store of one of several exchanges, over a network. An exchange hears of the steps of
// the others late, and it may not hear whether its own were stored.
type sharedDisk struct{ *disk }

func (*sharedDisk) Shared() {}

func (d *sharedDisk) Document(ctx context.Context, kind, id string) ([]byte, error) {
	if d.s.chance.bad(d.s.chance.at(d.s.name, "document", kind, id), 0.01) {
		return nil, thread.ErrUnknown
	}
	return d.Store.(thread.DocumentReader).Document(ctx, kind, id)
}

func (d *sharedDisk) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	r := d.s.chance.at(d.s.name, "append", step.Envelope.Ref)
	if d.s.chance.bad(r, 0.01) {
		return "", thread.ErrUnknown
	}
	rev, err := d.disk.Append(ctx, step)
	if err == nil && d.s.chance.bad(r, 0.01) {
		return "", thread.ErrUnknown
	}
	return rev, err
}

func (d *sharedDisk) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	level := false
	return d.disk.Feed(ctx, after, func(c thread.Change) error {
		r := d.s.chance.at(d.s.name, "feed", c.Pos)
		switch {
		case c.Level:
			level = true
		case level && d.s.chance.bad(r, 0.02):
			sleep(ctx, between(r, time.Second, time.Minute))
		case level:
			sleep(ctx, between(r, 0, 20*time.Millisecond))
		}
		return fn(c)
	})
}
