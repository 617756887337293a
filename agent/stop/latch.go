package stop

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/wait"
)

// Gate is what a stop acts on.
type Gate interface {
	Stop(why string)
	Clear()
	// Watch tells when Devices may say something new: changed is closed then.
	Watch() (why string, changed <-chan struct{})
}

// Config of a Stopper.
type Config struct {
	Dir     string          // folder of the latch; "": it is kept in memory alone
	Devices func() []Device // what the devices have done in the last stop
	Line    Line            // nil for none
}

// Stopper is the one way to stop an executor, for every entrance. It is safe for
// concurrent use.
type Stopper struct {
	cfg  Config
	gate Gate
	now  func() time.Time
	log  *slog.Logger
	ring chan struct{} // there is something to write, or to look at

	mu      sync.Mutex
	changed chan struct{} // closed when any of the following changes
	orders  []Order       // that hold
	unsaved []Order       // those of them that are not on the disk
	warned  bool          // that they cannot be written was said
	taken   []string      // ids of orders that were taken, those too that were cleared
	cleared string        // the last clear that was seen
	held    string        // why the line stops now; "" if it does not
}

// Open reads the latch, and stops the gate if it is latched.
func Open(cfg Config, g Gate, now func() time.Time, log *slog.Logger) *Stopper {
	s := &Stopper{cfg: cfg, gate: g, now: now, log: log, ring: make(chan struct{}, 1), changed: make(chan struct{})}
	if cfg.Dir == "" {
		return s
	}
	last := lastClear(cfg.Dir)
	s.cleared = last.Clear
	for _, o := range last.Orders {
		s.take(o.ID)
	}
	s.look()
	s.save()
	_ = begin(cfg.Dir) // where it cannot be made, whoever watches it says so
	return s
}

// Stop stops everything, at once, and has it written down. An order that was
// taken before is not taken again.
func (s *Stopper) Stop(o Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.ID == "" {
		o.ID = rand.Text()
	}
	if o.At.IsZero() {
		o.At = s.now()
	}
	if o = o.bounded(); o.ID != unreadable && slices.Contains(s.taken, o.ID) {
		return
	}
	s.add(o)
	s.write(o)
}

// add stops the gate by one more order. mu is held.
func (s *Stopper) add(o Order) {
	s.gate.Stop(o.String())
	s.take(o.ID)
	s.orders = append(s.orders, o)
	s.orders = s.orders[max(0, len(s.orders)-maxOrders):]
	s.tell()
}

// write has orders written down. mu is held.
func (s *Stopper) write(orders ...Order) {
	s.unsaved = append(s.unsaved, orders...)
	s.unsaved = s.unsaved[max(0, len(s.unsaved)-maxOrders):]
	wait.Notify(s.ring)
	s.tell()
}

// tell tells those who Watch. mu is held.
func (s *Stopper) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Stopper) take(id string) {
	s.taken = append(s.taken, id)
	s.taken = s.taken[max(0, len(s.taken)-maxOrders):]
}

// Watch tells the orders that hold (none: nothing is stopped), the ids of those
// that need not be sent again, since they are on the disk or were, and when to
// ask again: changed is closed then.
func (s *Stopper) Watch() (orders []Order, taken []string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unsaved) == 0 || s.cfg.Dir == "" {
		taken = slices.Clone(s.taken)
	}
	return slices.Clone(s.orders), taken, s.changed
}

// Devices tell what they have done in the last stop.
func (s *Stopper) Devices() []Device { return s.cfg.Devices() }

// Run writes down what is stopped, stops by what others write, clears by their
// clear, follows the line, and keeps the report, until ctx ends.
func (s *Stopper) Run(ctx context.Context) error {
	var g errgroup.Group
	if s.cfg.Line != nil {
		g.Go(func() error { s.follow(ctx); return nil })
	}
	if s.cfg.Dir != "" {
		g.Go(func() error { return s.keep(ctx) })
		g.Go(func() error { s.report(ctx); return nil })
		g.Go(func() error { return s.answer(ctx) })
	}
	return g.Wait()
}

// keep has the folder and the memory agree.
func (s *Stopper) keep(ctx context.Context) error {
	w := watch(s.cfg.Dir, s.log)
	defer w.close()
	for {
		s.save()
		s.look()
		s.save() // what has gone is written before its folder is made anew
		w.follow()
		if !w.wait(ctx, s.ring) {
			s.save()
			return nil
		}
	}
}

// save writes the orders down that are not on the disk. What cannot be written
// holds in memory, and is tried again with the next look.
func (s *Stopper) save() {
	s.mu.Lock()
	orders := slices.Clone(s.unsaved)
	s.mu.Unlock()
	for _, o := range orders {
		err := Latch(s.cfg.Dir, o)
		if s.saved(o, err); err != nil {
			return
		}
	}
}

// saved notes that an order was written down, or says once that it cannot be.
func (s *Stopper) saved(o Order, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.unsaved = without(s.unsaved, []Order{o})
		s.warned = false
		s.tell()
		return
	}
	if !s.warned {
		s.log.Error("stopped, but it cannot be written down, so it would not survive a restart", "err", err)
	}
	s.warned = true
}

// without is a list without some orders.
func without(list, some []Order) []Order {
	return slices.DeleteFunc(slices.Clone(list), func(o Order) bool { return holds(some, o.ID) })
}

// look takes over what the folder says.
func (s *Stopper) look() {
	last := lastClear(s.cfg.Dir)
	found, err := read(s.cfg.Dir)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || lastClear(s.cfg.Dir).Clear != last.Clear {
		return // nothing is known now; the next look is soon
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range found {
		if !holds(s.orders, o.ID) {
			s.add(o)
		}
	}
	if errors.Is(err, errGone) {
		s.write(without(found, s.unsaved)...)
	}
	if last.Clear != s.cleared && !slices.ContainsFunc(last.Orders, func(o Order) bool { return holds(found, o.ID) }) {
		s.clear(last)
	}
	if len(found) == 0 && len(s.orders) > 0 && len(s.unsaved) == 0 {
		s.log.Warn("the latch has gone without a clear; it is written anew")
		s.write(s.orders...)
	}
}

// clear drops the orders that were cleared. mu is held.
func (s *Stopper) clear(c record) {
	s.cleared = c.Clear
	s.orders, s.unsaved = without(s.orders, c.Orders), without(s.unsaved, c.Orders)
	s.log.Warn("cleared", "by", c.By)
	switch {
	case len(s.orders) > 0: // they came later
	case s.held != "":
		s.addLine()
	default:
		s.gate.Clear()
	}
	s.tell()
}
