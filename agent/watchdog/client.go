package watchdog

import (
	"context"
	"errors"
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
var ErrNotRunning = errors.New("the watchdog is not running")

// Client is the agent's side of the watchdog. It starts a watchdog, replaces one that has
// ended, and reports to each which devices may be on. It is safe for concurrent use.
type Client struct {
	start     func() (Process, error)
	log       *slog.Logger
	suspended func() time.Duration
	unsent    chan struct{} // signals unsent reports
	ready     chan struct{} // closed when the first watchdog is ready

	mu         sync.Mutex
	devices    []Device
	states     map[string]*reportedState
	epoch      uint64
	connection *connection // to the watchdog with the complete state; nil while there is none
}

// reportedState is the state of one device that the watchdog must know.
type reportedState struct {
	on        bool
	epoch     uint64
	until     time.Time     // zero: it may stay on
	suspended time.Duration // time that the machine had slept when until was set
	maybe     bool          // the device may have been on before
	unsent    bool          // the watchdog does not know this state yet
}

// NewClient returns a client for the devices that a watchdog can switch off. start starts a
// watchdog.
func NewClient(devices []Device, start func() (Process, error), log *slog.Logger) *Client {
	c := &Client{
		start: start, log: log, suspended: suspend.Slept, devices: devices, states: map[string]*reportedState{},
		unsent: make(chan struct{}, 1), ready: make(chan struct{}),
	}
	for _, d := range devices {
		c.states[d.Name] = &reportedState{}
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
		c.log.Error("the watchdog has ended; messkit switches on no device until a new one runs", "err", err)
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
	l := &connection{Process: p, waiting: map[uint64]chan Answer{}, outgoing: make(chan []byte), closed: make(chan struct{}), stopped: make(chan struct{})}
	var g errgroup.Group
	g.Go(l.receive)
	g.Go(l.send)
	err = c.sendReports(ctx, l)
	close(l.stopped)
	c.mu.Lock()
	c.connection = nil
	c.mu.Unlock()
	if ctx.Err() != nil {
		err = p.Close()
	} else {
		err = errors.Join(err, p.Kill())
	}
	_ = g.Wait() // the end of the connection explains them
	return err
}

// sendReports sends the watchdog unsent reports, and at least one message per Beat.
func (c *Client) sendReports(ctx context.Context, l *connection) error {
	t := time.NewTicker(HeartbeatInterval)
	defer t.Stop()
	first := true
	for {
		err := l.request(c.message(first))
		first = false
		if no, ok := errors.AsType[*RejectionError](err); ok {
			c.log.Warn("the watchdog rejects a message", "err", no)
			c.markUnsent() // the next beat repeats it
		} else if err != nil {
			return err
		} else {
			c.markReady(l)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.closed:
			return ErrNotRunning
		case <-c.unsent:
		case <-t.C:
		}
	}
}

// message returns a message with the unsent reports; a new watchdog gets the complete state.
func (c *Client) message(first bool) Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	var w Message
	if first {
		w.Devices = c.devices
	}
	for name, h := range c.states {
		switch {
		case !h.unsent && !first:
			continue
		case h.on:
			w.On = append(w.On, c.onMessage(name, *h))
		case h.epoch > 0:
			w.Off = append(w.Off, OffMessage{name, h.epoch})
		}
		h.unsent = false
	}
	return w
}

// markUnsent marks the complete state as unsent.
func (c *Client) markUnsent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.states {
		h.unsent = true
	}
}

// onMessage converts the state of a device to an On message.
func (c *Client) onMessage(device string, h reportedState) OnMessage {
	o := OnMessage{Device: device, Epoch: h.epoch, Maybe: h.maybe}
	if !h.until.IsZero() {
		o.Left = max(1, time.Until(h.until)-max(0, c.suspended()-h.suspended))
	}
	return o
}

// markReady records that the watchdog has the complete state.
func (c *Client) markReady(l *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.states {
		if h.unsent {
			wait.Notify(c.unsent)
			return
		}
	}
	if c.connection == nil {
		c.connection = l
		c.log.Info("the watchdog runs")
		select {
		case <-c.ready:
		default:
			close(c.ready)
		}
	}
}

// AwaitReady waits for the first watchdog or the end of ctx.
func (c *Client) AwaitReady(ctx context.Context) {
	select {
	case <-c.ready:
	case <-ctx.Done():
	}
}

// Ready returns why the watchdog cannot cover a device now; nil if the watchdog runs, or if the
// device needs none.
func (c *Client) Ready(device string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states[device] == nil || c.connection != nil {
		return nil
	}
	return ErrNotRunning
}

// Watches reports whether the watchdog covers a device.
func (c *Client) Watches(device string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states[device] != nil
}

// WillBeOn announces that a device will be on for at most left; 0 means without limit. When it
// returns nil, the watchdog has accepted this, and the caller may switch the device on.
func (c *Client) WillBeOn(device string, left time.Duration) error {
	c.mu.Lock()
	h, l := c.states[device], c.connection
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
	err := l.request(Message{On: []OnMessage{c.onMessage(device, now)}})
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.epoch == now.epoch {
		// The old state remains valid, even if the watchdog has received the new one.
		h.on, h.until, h.suspended, h.maybe, h.unsent = before.on, before.until, before.suspended, before.maybe, true
		wait.Notify(c.unsent)
	}
	return err
}

// MayBeOn announces without waiting that a device may already be on.
func (c *Client) MayBeOn(device string, left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.states[device]; h != nil {
		c.set(h, left, true)
		h.unsent = true
		wait.Notify(c.unsent)
	}
}

// set records that a device may be on. The caller holds mu.
func (c *Client) set(h *reportedState, left time.Duration, maybe bool) {
	c.epoch++
	h.on, h.epoch, h.until, h.maybe = true, c.epoch, time.Time{}, maybe
	if left > 0 {
		h.until, h.suspended = time.Now().Add(left), c.suspended()
	}
}

// IsOff reports that a device is off.
func (c *Client) IsOff(device string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.states[device]; h != nil && h.on {
		h.on, h.until, h.unsent = false, time.Time{}, true
		wait.Notify(c.unsent)
	}
}
