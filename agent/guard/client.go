package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/suspend"
	"github.com/messkit/messkit/internal/wait"
)

// Process is a guard that runs. Read and Write are its answers and words.
type Process interface {
	io.ReadWriter
	// Close says nothing more to it: it makes safe what it watches, and ends.
	Close() error
	// Kill ends it at once, as it is.
	Kill() error
}

// answerTime is how long a guard may take to answer before it is replaced.
const answerTime = time.Second

// The first and the longest wait between two starts of a guard.
const (
	firstStart = 50 * time.Millisecond
	lastStart  = 5 * time.Second
)

// ErrAbsent is that there is no guard just now; a new one is being started.
var ErrAbsent = errors.New("the guard is not there")

// Client is the agent's side: it starts a guard, starts another one when that
// is gone, and tells each what may be on. It is safe for concurrent use.
type Client struct {
	start func() (Process, error)
	log   *slog.Logger
	slept func() time.Duration
	news  chan struct{} // there is something to tell
	there chan struct{} // closed when there has been a guard

	mu      sync.Mutex
	devices []Device
	held    map[string]*held
	epoch   uint64
	link    *link // to the guard that knows everything; nil while there is none
}

// held is what a guard has to know of one device.
type held struct {
	on     bool
	epoch  uint64
	until  time.Time     // zero: it may stay on
	slept  time.Duration // of the machine, when until was set
	maybe  bool          // it was not switched on, but may have been on
	untold bool          // the guard does not know this yet
}

// NewClient makes a client for the devices that a guard can watch; start starts
// a guard.
func NewClient(devices []Device, start func() (Process, error), log *slog.Logger) *Client {
	c := &Client{
		start: start, log: log, slept: suspend.Slept, devices: devices, held: map[string]*held{},
		news: make(chan struct{}, 1), there: make(chan struct{}),
	}
	for _, d := range devices {
		c.held[d.Name] = &held{}
	}
	return c
}

// Run keeps a guard running until ctx ends. The last one ends by itself, when
// everything is safe.
func (c *Client) Run(ctx context.Context) error {
	wait := firstStart
	for ctx.Err() == nil {
		began := time.Now()
		err := c.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > lastStart {
			wait = firstStart
		}
		c.log.Error("the guard is gone, and nothing is switched on until there is a new one", "err", err)
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
		wait = min(lastStart, 2*wait)
	}
	return nil
}

// session is the life of one guard.
func (c *Client) session(ctx context.Context) error {
	p, err := c.start()
	if err != nil {
		return err
	}
	l := &link{Process: p, waiting: map[uint64]chan Answer{}, words: make(chan []byte), dead: make(chan struct{}), over: make(chan struct{})}
	var g errgroup.Group
	g.Go(l.listen)
	g.Go(l.speak)
	err = c.talk(ctx, l)
	close(l.over)
	c.mu.Lock()
	c.link = nil
	c.mu.Unlock()
	if ctx.Err() != nil {
		err = p.Close()
	} else {
		err = errors.Join(err, p.Kill())
	}
	_ = g.Wait() // what it says is the end of it
	return err
}

// talk tells a guard what there is to tell, at every beat at least.
func (c *Client) talk(ctx context.Context, l *link) error {
	t := time.NewTicker(Beat)
	defer t.Stop()
	first := true
	for {
		err := l.ask(c.word(first))
		first = false
		if no, ok := errors.AsType[*No](err); ok {
			c.log.Warn("the guard refuses", "err", no)
			c.untell() // and says it again at the next beat
		} else if err != nil {
			return err
		} else {
			c.up(l)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.dead:
			return ErrAbsent
		case <-c.news:
		case <-t.C:
		}
	}
}

// word is what a guard has not been told yet: to a new one, everything.
func (c *Client) word(first bool) Word {
	c.mu.Lock()
	defer c.mu.Unlock()
	var w Word
	if first {
		w.Devices = c.devices
	}
	for name, h := range c.held {
		switch {
		case !h.untold && !first:
			continue
		case h.on:
			w.On = append(w.On, c.announce(name, *h))
		case h.epoch > 0:
			w.Off = append(w.Off, Off{name, h.epoch})
		}
		h.untold = false
	}
	return w
}

// untell has everything told anew.
func (c *Client) untell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		h.untold = true
	}
}

// announce is how a guard is told that a device may be on.
func (c *Client) announce(device string, h held) On {
	o := On{Device: device, Epoch: h.epoch, Maybe: h.maybe}
	if !h.until.IsZero() {
		o.Left = max(1, time.Until(h.until)-max(0, c.slept()-h.slept))
	}
	return o
}

// up notes that a guard knows everything.
func (c *Client) up(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		if h.untold {
			wait.Notify(c.news)
			return
		}
	}
	if c.link == nil {
		c.link = l
		c.log.Info("the guard is there")
		select {
		case <-c.there:
		default:
			close(c.there)
		}
	}
}

// Await waits for the first guard, as long as ctx.
func (c *Client) Await(ctx context.Context) {
	select {
	case <-c.there:
	case <-ctx.Done():
	}
}

// Ready tells why a device cannot be switched on now; nil where it needs no
// guard, or has one.
func (c *Client) Ready(device string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[device] == nil || c.link != nil {
		return nil
	}
	return ErrAbsent
}

// Watches reports whether the guard switches a device off.
func (c *Client) Watches(device string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[device] != nil
}

// On announces that a device is going to be on, for at most left; 0 is without
// a limit. When it returns nil the guard has taken it, and the device may be
// switched on at once.
func (c *Client) On(device string, left time.Duration) error {
	c.mu.Lock()
	h, l := c.held[device], c.link
	if h == nil {
		c.mu.Unlock()
		return nil
	}
	if l == nil {
		c.mu.Unlock()
		return ErrAbsent
	}
	before := *h
	c.set(h, left, false)
	now := *h
	c.mu.Unlock()
	err := l.ask(Word{On: []On{c.announce(device, now)}})
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.epoch == now.epoch {
		// It is as before, whether or not the guard has heard of this.
		h.on, h.until, h.slept, h.maybe, h.untold = before.on, before.until, before.slept, before.maybe, true
		wait.Notify(c.news)
	}
	return err
}

// Note announces that a device may be on already, without waiting.
func (c *Client) Note(device string, left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[device]; h != nil {
		c.set(h, left, true)
		h.untold = true
		wait.Notify(c.news)
	}
}

// set notes that a device may be on. mu is held.
func (c *Client) set(h *held, left time.Duration, maybe bool) {
	c.epoch++
	h.on, h.epoch, h.until, h.maybe = true, c.epoch, time.Time{}, maybe
	if left > 0 {
		h.until, h.slept = time.Now().Add(left), c.slept()
	}
}

// Off says that a device is off.
func (c *Client) Off(device string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[device]; h != nil && h.on {
		h.on, h.until, h.untold = false, time.Time{}, true
		wait.Notify(c.news)
	}
}

// link is a guard that is spoken to.
type link struct {
	Process
	words chan []byte   // on their way to the guard
	dead  chan struct{} // closed when it answers no more
	over  chan struct{} // closed when nothing more is said to it

	mu      sync.Mutex
	seq     uint64
	waiting map[uint64]chan Answer
}

// listen hands on the answers until there are no more.
func (l *link) listen() error {
	defer close(l.dead)
	return lines(l, func(line []byte) error {
		a, err := parseAnswer(line)
		if err != nil {
			return fmt.Errorf("guard: %w", err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if c := l.waiting[a.Seq]; c != nil {
			c <- a // there is room for one
			delete(l.waiting, a.Seq)
		}
		return nil
	})
}

// speak writes what is said. A guard that is frozen reads nothing, and writing to it then
// waits: that keeps nobody but this from going on.
func (l *link) speak() error {
	for {
		select {
		case line := <-l.words:
			if _, err := l.Write(line); err != nil {
				return err
			}
		case <-l.over:
			return nil
		}
	}
}

// ask says something and waits for the answer.
func (l *link) ask(w Word) error {
	line, answer, err := l.word(w)
	if err != nil {
		return err
	}
	t := time.NewTimer(answerTime)
	defer t.Stop()
	late := fmt.Errorf("no answer within %v: %w", answerTime, ErrAbsent)
	select {
	case l.words <- line:
	case <-l.over:
		return ErrAbsent
	case <-l.dead:
		return ErrAbsent
	case <-t.C:
		return late
	}
	select {
	case a := <-answer:
		if a.No != "" {
			return &No{a.No}
		}
		return nil
	case <-l.dead:
		return ErrAbsent
	case <-t.C:
		return late
	}
}

// word is a word as it is written, and where its answer comes.
func (l *link) word(w Word) (line []byte, answer chan Answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	w.Seq = l.seq
	if line, err = print(w); err != nil {
		return nil, nil, err
	}
	answer = make(chan Answer, 1)
	l.waiting[w.Seq] = answer
	return line, answer, nil
}

// No is what the guard will not do.
type No struct{ Why string }

func (n *No) Error() string { return n.Why }
