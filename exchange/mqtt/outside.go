package mqtt

import (
	"context"
	"log/slog"
	"net"
	"sync"

	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess/topic"
)

// OutsideConfig of a broker elsewhere.
type OutsideConfig struct {
	broker.Address
	Client string                                      // its id there; "": messkit-{exchange}
	Dial   func(ctx context.Context) (net.Conn, error) // nil: over the network
}

// Outside is a broker elsewhere. Its access rules are its own; rules for mosquitto
// ACL prints.
type Outside struct {
	door *Door
	link *broker.Link
	log  *slog.Logger

	mu    sync.Mutex
	open  bool                // there is a session in which can be answered
	lanes map[string][]func() // what waits, by who has sent it
	runs  map[string]bool     // lanes that are driven now
	wait  int
	group sync.WaitGroup
}

// maxLanes is how many messages may wait that the broker does not keep for us.
const maxLanes = 4096

// NewOutside makes the connection of a door to a broker elsewhere.
func NewOutside(d *Door, cfg OutsideConfig, log *slog.Logger) *Outside {
	o := &Outside{door: d, log: log, lanes: map[string][]func(){}, runs: map[string]bool{}}
	if cfg.Client == "" {
		cfg.Client = "messkit-" + d.x.ID()
	}
	r := d.root
	o.link = broker.New(broker.Config{
		Address: cfg.Address, ID: cfg.Client, Manual: true, Dial: cfg.Dial,
		Filters: []string{
			r.Stop(), r.Executor(topic.Wild, topic.Status), r.Executor(topic.Wild, topic.Out), r.Agent(topic.Wild, topic.Out),
			r.Attachment(topic.Wild, topic.Wild), r.State(topic.Wild),
		},
		Begin:  o.greet,
		Handle: o.handle,
		Up:     o.up,
	}, log)
	return o
}

// Run serves until ctx ends.
func (o *Outside) Run(ctx context.Context) error {
	defer o.group.Wait()
	return o.link.Run(ctx)
}

func (o *Outside) greet() (broker.Session, error) {
	says, err := o.door.greet(context.Background())
	to := func(m outgoing) broker.Message {
		return broker.Message{Topic: m.topic, Payload: m.payload, Retain: m.retain}
	}
	return broker.Session{Will: to(says.lost), Birth: to(says.ready), End: to(says.lost)}, err
}

// up is a session. What has come before it began is taken now.
func (o *Outside) up(ctx context.Context) error {
	defer o.opened(false)
	return o.door.session(ctx, o, func() { o.opened(true) })
}

func (o *Outside) opened(open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = open
	for lane := range o.lanes {
		o.begin(lane)
	}
}

// begin drives a lane, if it is not driven already. o.mu is held.
func (o *Outside) begin(lane string) {
	if o.open && !o.runs[lane] {
		o.runs[lane] = true
		o.group.Go(func() { o.drive(lane) })
	}
}

// publish hands a message to the broker, and returns when that has it.
func (o *Outside) publish(ctx context.Context, m outgoing) error {
	return o.link.Publish(ctx, broker.Message{Topic: m.topic, Payload: m.payload, Retain: m.retain})
}

// handle puts a message into the lane of its sender: what one says is taken in
// order, and nobody waits for another. The broker keeps what has a QoS until it
// is taken.
func (o *Outside) handle(m broker.Message) {
	in := incoming{topic: m.Topic, payload: m.Payload, retain: m.Retain, again: m.QoS > 0}
	t, ok := o.door.root.Parse(m.Topic)
	if !ok || t.Kind == topic.ThreadState && !m.Retain {
		m.Done()
		return
	}
	lane := string(t.Kind[:1]) + t.ID
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wait >= maxLanes && m.QoS == 0 {
		if n := o.door.counts.dropped.Add(1); report(n) {
			o.log.Warn("too much at once with QoS 0; messages are dropped", "count", n)
		}
		return
	}
	o.wait++
	o.lanes[lane] = append(o.lanes[lane], func() {
		o.door.take(context.Background(), in)
		m.Done()
	})
	o.begin(lane)
}

// drive takes what waits in a lane until nothing does, or the session is over.
func (o *Outside) drive(lane string) {
	for {
		o.mu.Lock()
		if len(o.lanes[lane]) == 0 {
			delete(o.lanes, lane)
		}
		if !o.open || len(o.lanes[lane]) == 0 {
			delete(o.runs, lane)
			o.mu.Unlock()
			return
		}
		next := o.lanes[lane][0]
		o.lanes[lane] = o.lanes[lane][1:]
		o.wait--
		o.mu.Unlock()
		next()
	}
}
