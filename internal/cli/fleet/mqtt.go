package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/messkit/messkit/mess/topic"
)

// mqttLine is one actor over MQTT 3.1.1, with one connection and one goroutine.
type mqttLine struct {
	host   string // of the broker, with its port
	id     string
	key    string
	out    string // topic
	in     []string
	status string // topic of an executor's status; "": a requester

	mu    sync.Mutex
	conn  net.Conn // nil: not connected
	next  uint16
	waits map[string]chan answer // by the id of the message
	epoch int64
}

var _ line = (*mqttLine)(nil)

// newMQTT makes the line of an executor or a requester.
func newMQTT(host, exchange, id, key string, executor bool) *mqttLine {
	root := topic.Of(exchange)
	l := &mqttLine{host: host, id: id, key: key, waits: map[string]chan answer{}}
	if executor {
		l.out, l.status = root.Executor(id, topic.Out), root.Executor(id, topic.Status)
		l.in = []string{root.Executor(id, topic.In), root.Executor(id, topic.Now)}
		return l
	}
	l.out, l.in = root.Agent(id, topic.Out), []string{root.Agent(id, topic.In)}
	return l
}

var errNoLine = errors.New("there is no connection to the broker")

// post publishes a message, and waits for its ack on the topic of this actor.
func (l *mqttLine) post(ctx context.Context, name string, text []byte) (answer, error) {
	got := make(chan answer, 1)
	l.mu.Lock()
	l.waits[name] = got
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waits, name)
	}()
	if err := l.publish(l.out, text, false); err != nil {
		return answer{}, err
	}
	select {
	case a := <-got:
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

func (l *mqttLine) publish(to string, text []byte, retain bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return errNoLine
	}
	l.next = l.next%0xfffe + 1
	p := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	p.TopicName, p.Payload, p.Qos, p.Retain, p.MessageID = to, text, 1, retain, l.next
	return l.write(p)
}

// write sends a packet. The caller holds l.mu.
func (l *mqttLine) write(p packets.ControlPacket) error {
	_ = l.conn.SetWriteDeadline(time.Now().Add(answerTime)) // a TCP connection has deadlines
	return p.Write(l.conn)
}

// listen keeps a session.
func (l *mqttLine) listen(ctx context.Context, ready func(context.Context) error, receive func(incoming), broken func(error)) error {
	reconnect(ctx, l.host, func(ctx context.Context, conn net.Conn) error { return l.session(ctx, conn, ready, receive) }, broken)
	return nil
}

// keepAlive in seconds is longer than the time between two heartbeats.
const keepAlive = 3600

// session begins a session on a new connection, subscribes, and reads until the connection ends.
func (l *mqttLine) session(ctx context.Context, conn net.Conn, ready func(context.Context) error, receive func(incoming)) error {
	in := bufio.NewReaderSize(conn, 1<<10)
	if err := l.connect(conn, in); err != nil {
		return err
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conn = nil
	}()
	if ready != nil {
		stop, cancel := context.WithCancel(ctx)
		defer cancel()
		var g sync.WaitGroup
		defer g.Wait()
		g.Go(func() { // its ack comes while this goroutine reads
			if ready(stop) != nil {
				_ = conn.Close() // the session ends
			}
		})
	}
	for {
		p, err := packets.ReadPacket(in)
		if err != nil {
			return err
		}
		m, ok := p.(*packets.PublishPacket)
		if !ok {
			continue
		}
		if err := l.acknowledge(m); err != nil {
			return err
		}
		l.take(m.Payload, receive)
	}
}

// connect connects and subscribes on a new connection.
func (l *mqttLine) connect(conn net.Conn, in *bufio.Reader) error {
	_ = conn.SetDeadline(time.Now().Add(answerTime)) // a TCP connection has deadlines
	c := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	c.ProtocolName, c.ProtocolVersion, c.CleanSession, c.Keepalive = "MQTT", 4, true, keepAlive
	c.ClientIdentifier, c.Username, c.UsernameFlag, c.Password, c.PasswordFlag = l.id, l.id, true, []byte(l.key), true
	if err := c.Write(conn); err != nil {
		return err
	}
	p, err := packets.ReadPacket(in)
	if err != nil {
		return err
	}
	if ack, ok := p.(*packets.ConnackPacket); !ok || ack.ReturnCode != 0 {
		return &countedError{"MQTT refused the connection", fmt.Errorf("%v", p)}
	}
	s := packets.NewControlPacket(packets.Subscribe).(*packets.SubscribePacket)
	s.Topics, s.Qoss, s.MessageID = l.in, make([]byte, len(l.in)), 0xffff
	for i := range s.Qoss {
		s.Qoss[i] = 1
	}
	if err := s.Write(conn); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Time{}) // as above
	l.mu.Lock()
	l.conn = conn
	l.mu.Unlock()
	if l.status == "" {
		return nil
	}
	l.epoch = max(l.epoch+1, time.Now().Unix())
	return l.publish(l.status, fmt.Appendf(nil, `{"state":"ready","epoch":%d,"instance":"simulated"}`, l.epoch), true)
}

func (l *mqttLine) acknowledge(m *packets.PublishPacket) error {
	if m.Qos == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := packets.NewControlPacket(packets.Puback).(*packets.PubackPacket)
	a.MessageID = m.MessageID
	return l.write(a)
}

// take passes an ack to the goroutine that waits for it, and every other message to receive.
func (l *mqttLine) take(payload []byte, receive func(incoming)) {
	s, ok := parse(payload)
	if !ok {
		return
	}
	a := s.ack()
	if a == nil {
		receive(s)
		return
	}
	if len(s.Re) != 1 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := l.waits[s.Re[0]]; got != nil {
		select {
		case got <- *a:
		default: // a duplicate
		}
	}
}
