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

// Policy is the safety policy that a stop acts on.
type Policy interface {
	Stop(reason string)
	ResetStop()
	// Watch returns a channel that closes when the result of Devices may have changed.
	Watch() (reason string, changed <-chan struct{})
}

// Config configures a Latch.
type Config struct {
	Dir     string          // folder of the latch; "" keeps it in memory alone
	Devices func() []Device // returns the results of the last stop
	Input   Input           // nil for none
}

// Latch is the emergency stop of an executor, for all its sources. It is safe for concurrent
// use.
type Latch struct {
	cfg    Config
	policy Policy
	now    func() time.Time
	log    *slog.Logger
	check  chan struct{} // signals unsaved orders or a change

	mu          sync.Mutex
	changed     chan struct{} // closed when any of the following changes
	orders      []Order       // active orders
	unsaved     []Order       // active orders that are not on the disk
	warned      bool          // the log has the warning about unsaved orders
	accepted    []string      // ids of accepted orders, including cleared ones
	cleared     string        // the last known reset
	inputActive string        // why the stop line is active; "" if it is not
}

// Open reads the latch and stops the safety policy if the latch is set. Keep Run running afterwards.
func Open(cfg Config, g Policy, now func() time.Time, log *slog.Logger) *Latch {
	s := &Latch{cfg: cfg, policy: g, now: now, log: log, check: make(chan struct{}, 1), changed: make(chan struct{})}
	if cfg.Dir == "" {
		return s
	}
	last := lastClear(cfg.Dir)
	s.cleared = last.Clear
	for _, o := range last.Orders {
		s.accept(o.ID)
	}
	s.readFolder()
	s.save()
	_ = createFolder(cfg.Dir) // Run reports a failure
	return s
}

// Stop stops everything at once; Run then saves the order. Stop ignores an order that it has
// accepted before.
func (s *Latch) Stop(o Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.ID == "" {
		o.ID = rand.Text()
	}
	if o.At.IsZero() {
		o.At = s.now()
	}
	if o = o.bounded(); o.ID != unreadable && slices.Contains(s.accepted, o.ID) {
		return
	}
	s.add(o)
	s.queue(o)
}

// add stops the safety policy for one more order. The caller holds mu.
func (s *Latch) add(o Order) {
	s.policy.Stop(o.String())
	s.accept(o.ID)
	s.orders = append(s.orders, o)
	s.orders = s.orders[max(0, len(s.orders)-maxOrders):]
	s.notifyChanged()
}

// queue queues orders for saving. The caller holds mu.
func (s *Latch) queue(orders ...Order) {
	s.unsaved = append(s.unsaved, orders...)
	s.unsaved = s.unsaved[max(0, len(s.unsaved)-maxOrders):]
	wait.Notify(s.check)
	s.notifyChanged()
}

// notifyChanged wakes the callers of Watch. The caller holds mu.
func (s *Latch) notifyChanged() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Latch) accept(id string) {
	s.accepted = append(s.accepted, id)
	s.accepted = s.accepted[max(0, len(s.accepted)-maxOrders):]
}

// Watch returns the active orders (none: nothing is stopped) and the ids of orders that a
// sender need not repeat, because the disk has or had them. changed closes when either changes.
func (s *Latch) Watch() (orders []Order, taken []string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unsaved) == 0 || s.cfg.Dir == "" {
		taken = slices.Clone(s.accepted)
	}
	return slices.Clone(s.orders), taken, s.changed
}

// Devices returns the results of the last stop.
func (s *Latch) Devices() []Device { return s.cfg.Devices() }

// Run saves orders, applies orders and resets that other programs write, watches the stop line,
// and writes the report, until ctx ends.
func (s *Latch) Run(ctx context.Context) error {
	var g errgroup.Group
	if s.cfg.Input != nil {
		g.Go(func() error { s.watchInput(ctx); return nil })
	}
	if s.cfg.Dir != "" {
		g.Go(func() error { return s.syncFolder(ctx) })
		g.Go(func() error { s.report(ctx); return nil })
		g.Go(func() error { return s.answer(ctx) })
	}
	return g.Wait()
}

// syncFolder synchronizes the folder with memory.
func (s *Latch) syncFolder(ctx context.Context) error {
	w := watch(s.cfg.Dir, s.log)
	defer w.close()
	for {
		s.save()
		s.readFolder()
		s.save() // a lost order must be on the disk before follow creates the folder again
		w.follow()
		if !w.wait(ctx, s.check) {
			s.save()
			return nil
		}
	}
}

// save writes the unsaved orders. An order that it cannot write stays active in memory, and the
// next check retries.
func (s *Latch) save() {
	s.mu.Lock()
	orders := slices.Clone(s.unsaved)
	s.mu.Unlock()
	for _, o := range orders {
		err := WriteOrder(s.cfg.Dir, o)
		if s.saved(o, err); err != nil {
			return
		}
	}
}

// saved records that an order is on the disk, or logs once that it is not.
func (s *Latch) saved(o Order, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.unsaved = without(s.unsaved, []Order{o})
		s.warned = false
		s.notifyChanged()
		return
	}
	if !s.warned {
		s.log.Error("stopped, but cannot write the stop to the disk; a restart would end it", "err", err)
	}
	s.warned = true
}

// without returns a list without some of its orders.
func without(list, some []Order) []Order {
	return slices.DeleteFunc(slices.Clone(list), func(o Order) bool { return hasOrder(some, o.ID) })
}

// readFolder applies the content of the folder.
func (s *Latch) readFolder() {
	last := lastClear(s.cfg.Dir)
	found, err := read(s.cfg.Dir)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || lastClear(s.cfg.Dir).Clear != last.Clear {
		return // the content is unknown now; the next check follows soon
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range found {
		if !hasOrder(s.orders, o.ID) {
			s.add(o)
		}
	}
	if errors.Is(err, errFolderLost) {
		s.queue(without(found, s.unsaved)...)
	}
	if last.Clear != s.cleared && !slices.ContainsFunc(last.Orders, func(o Order) bool { return hasOrder(found, o.ID) }) {
		s.clear(last)
	}
	if len(found) == 0 && len(s.orders) > 0 && len(s.unsaved) == 0 {
		s.log.Warn("the latch file is missing without a reset; writing it again")
		s.queue(s.orders...)
	}
}

// clear removes cleared orders. The caller holds mu.
func (s *Latch) clear(c record) {
	s.cleared = c.Clear
	s.orders, s.unsaved = without(s.orders, c.Orders), without(s.unsaved, c.Orders)
	s.log.Warn("stop reset", "by", c.By)
	switch {
	case len(s.orders) > 0: // later orders
	case s.inputActive != "":
		s.addInputOrder()
	default:
		s.policy.ResetStop()
	}
	s.notifyChanged()
}
