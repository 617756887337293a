package watchdog

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

// Process is a running watchdog. Read returns its answers, Write sends it messages.
type Process interface {
	io.ReadWriter
	// Close ends the messages: the watchdog takes its devices to their safe state and exits.
	Close() error
	// Kill ends it at once and leaves the devices as they are.
	Kill() error
}

// answerTime is how long a watchdog may take to answer before the client replaces it.
const answerTime = time.Second

// First and longest delay between two starts of a watchdog.
const (
	firstStart = 50 * time.Millisecond
	lastStart  = 5 * time.Second
)

// ErrNotRunning reports that no watchdog runs now; the client is starting a new one.
var ErrNotRunning = errors.New("the guard is not there")

// Client is the agent's side of the watchdog. It starts a watchdog, replaces one that has
// ended, and reports to each which devices may be on. It is safe for concurrent use.
type Client struct {
	start func() (Process, error)
	log   *slog.Logger
	slept func() time.Duration
	news  chan struct{} // signals unsent reports
	there chan struct{} // closed when the first watchdog is ready

	mu      sync.Mutex
	devices []Device
	held    map[string]*held
	epoch   uint64
	link    *link // to the watchdog with the complete state; nil while there is none
}

// held is the state of one device that the watchdog must know.
type held struct {
	on     bool
	epoch  uint64
	until  time.Time     // zero: it may stay on
	slept  time.Duration // time that the machine had slept when until was set
	maybe  bool          // the device may have been on before
	untold bool          // the watchdog does not know this state yet
}

// NewClient returns a client for the devices that a watchdog can switch off. start starts a
// watchdog.
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

// Run keeps a watchdog running until ctx ends. The last one exits by itself after all devices
// are safe.
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

// session runs one watchdog until it ends.
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
	_ = g.Wait() // the end of the connection explains them
	return err
}

// talk sends the watchdog unsent reports, and at least one message per Beat.
func (c *Client) talk(ctx context.Context, l *link) error {
	t := time.NewTicker(HeartbeatInterval)
	defer t.Stop()
	first := true
	for {
		err := l.ask(c.word(first))
		first = false
		if no, ok := errors.AsType[*RejectionError](err); ok {
			c.log.Warn("the guard refuses", "err", no)
			c.untell() // the next beat repeats it
		} else if err != nil {
			return err
		} else {
			c.up(l)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.dead:
			return ErrNotRunning
		case <-c.news:
		case <-t.C:
		}
	}
}

// word returns a message with the unsent reports; a new watchdog gets the complete state.
func (c *Client) word(first bool) Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	var w Message
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
			w.Off = append(w.Off, OffMessage{name, h.epoch})
		}
		h.untold = false
	}
	return w
}

// untell marks the complete state as unsent.
func (c *Client) untell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		h.untold = true
	}
}

// announce converts the state of a device to an On message.
func (c *Client) announce(device string, h held) OnMessage {
	o := OnMessage{Device: device, Epoch: h.epoch, Maybe: h.maybe}
	if !h.until.IsZero() {
		o.Left = max(1, time.Until(h.until)-max(0, c.slept()-h.slept))
	}
	return o
}

// up records that the watchdog has the complete state.
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

// AwaitReady waits for the first watchdog or the end of ctx.
func (c *Client) AwaitReady(ctx context.Context) {
	select {
	case <-c.there:
	case <-ctx.Done():
	}
}

// Ready returns why the watchdog cannot cover a device now; nil if the watchdog runs, or if the
// device needs none.
func (c *Client) Ready(device string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[device] == nil || c.link != nil {
		return nil
	}
	return ErrNotRunning
}

// Watches reports whether the watchdog covers a device.
func (c *Client) Watches(device string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[device] != nil
}

// WillBeOn announces that a device will be on for at most left; 0 means without limit. When it
// returns nil, the watchdog has accepted this, and the caller may switch the device on.
func (c *Client) WillBeOn(device string, left time.Duration) error {
	c.mu.Lock()
	h, l := c.held[device], c.link
	if h == nil {
		c.mu.Unlock()
		return nil
	}
	if l == nil {
		c.mu.Unlock()
		return ErrNotRunning
	}
	before := *h
	c.set(h, left, false)
	now := *h
	c.mu.Unlock()
	err := l.ask(Message{On: []OnMessage{c.announce(device, now)}})
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.epoch == now.epoch {
		// The old state remains valid, even if the watchdog has received the new one.
		h.on, h.until, h.slept, h.maybe, h.untold = before.on, before.until, before.slept, before.maybe, true
		wait.Notify(c.news)
	}
	return err
}

// MayBeOn announces without waiting that a device may already be on.
func (c *Client) MayBeOn(device string, left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[device]; h != nil {
		c.set(h, left, true)
		h.untold = true
		wait.Notify(c.news)
	}
}

// set records that a device may be on. The caller holds mu.
func (c *Client) set(h *held, left time.Duration, maybe bool) {
	c.epoch++
	h.on, h.epoch, h.until, h.maybe = true, c.epoch, time.Time{}, maybe
	if left > 0 {
		h.until, h.slept = time.Now().Add(left), c.slept()
	}
}

// IsOff reports that a device is off.
func (c *Client) IsOff(device string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[device]; h != nil && h.on {
		h.on, h.until, h.untold = false, time.Time{}, true
		wait.Notify(c.news)
	}
}

// link is the connection to a running watchdog.
type link struct {
	Process
	words chan []byte   // on their way to the watchdog
	dead  chan struct{} // closed when its answers end
	over  chan struct{} // closed when the client stops sending

	mu      sync.Mutex
	seq     uint64
	waiting map[uint64]chan Answer
}

// listen passes the answers to the waiting calls until the answers end.
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
			c <- a // its buffer has room for one
			delete(l.waiting, a.Seq)
		}
		return nil
	})
}

// speak writes the messages. A frozen watchdog does not read, so a write may block; it blocks
// only this goroutine.
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

// ask sends a message and waits for the answer.
func (l *link) ask(w Message) error {
	line, answer, err := l.word(w)
	if err != nil {
		return err
	}
	t := time.NewTimer(answerTime)
	defer t.Stop()
	late := fmt.Errorf("no answer within %v: %w", answerTime, ErrNotRunning)
	select {
	case l.words <- line:
	case <-l.over:
		return ErrNotRunning
	case <-l.dead:
		return ErrNotRunning
	case <-t.C:
		return late
	}
	select {
	case a := <-answer:
		if a.Reason != "" {
			return &RejectionError{a.Reason}
		}
		return nil
	case <-l.dead:
		return ErrNotRunning
	case <-t.C:
		return late
	}
}

// word encodes a message and returns it with the channel for its answer.
func (l *link) word(w Message) (line []byte, answer chan Answer, err error) {
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

// RejectionError is a rejection by the watchdog.
type RejectionError struct{ Reason string }

func (n *RejectionError) Error() string { return n.Reason }
