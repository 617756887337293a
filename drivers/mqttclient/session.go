package mqttclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/messkit/messkit/drivers"
)

const atLeastOnce = 1 // quality of service of all messages

var (
	errSlow = errors.New("no answer")
	errLost = errors.New("the connection was lost")
	errOver = errors.New("the connection has no members")
)

// session is one connection to the broker. A message belongs to one session. When the
// session ends, nothing sends the message later.
type session struct {
	conn    net.Conn
	in      *bufio.Reader
	limit   time.Duration // limit for each answer
	deliver func(*packets.PublishPacket)
	ended   func(error) // called once at the end of the session

	write chan struct{} // semaphore for writers
	dead  chan struct{} // closes at the end of the session
	last  atomic.Int64  // time of the last received packet in Unix nanoseconds
	pulse *time.Timer

	mu    sync.Mutex
	cause error // reason for the end; nil while the session is open
	id    uint16
	waits map[uint16]*pending
	acks  []byte // acknowledgments to write
}

// pending is a packet that the broker has not answered yet.
type pending struct {
	done  chan struct{} // closes at the answer
	lost  func()        // called once if the session ends before the answer; may be nil
	limit *time.Timer   // ends the session
	codes []byte        // codes of a SUBACK; set before done closes
}

// firstID is the ID of the first packet. Some brokers reject a subscription whose ID equals
// that of one of their own messages under way. They count from 1.
const firstID = 1 << 15

func newSession(conn net.Conn, in *bufio.Reader, limit time.Duration, deliver func(*packets.PublishPacket), ended func(error)) *session {
	s := &session{
		conn: conn, in: in, limit: limit, deliver: deliver, ended: ended, id: firstID,
		write: make(chan struct{}, 1), dead: make(chan struct{}), waits: map[uint16]*pending{},
	}
	s.last.Store(time.Now().UnixNano())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulse = time.AfterFunc(pulse, s.beat)
	return s
}

// kill ends the session and drops the bytes that the kernel has not sent.
func (s *session) kill(cause error) {
	s.mu.Lock()
	if s.cause != nil {
		s.mu.Unlock()
		return
	}
	s.cause = cause
	waits := s.waits
	s.waits = nil
	s.pulse.Stop()
	s.mu.Unlock()
	closeNow(s.conn)
	s.ended(cause)
	for _, w := range waits {
		w.limit.Stop()
		if w.lost != nil {
			w.lost()
		}
	}
	close(s.dead)
}

// close ends the session with DISCONNECT if no packet is under way.
func (s *session) close() {
	s.mu.Lock()
	idle := len(s.waits) == 0 && s.cause == nil
	s.mu.Unlock()
	select {
	case s.write <- struct{}{}:
		if idle {
			_ = s.conn.SetWriteDeadline(time.Now().Add(disconnectTimeout))
			if packets.NewControlPacket(packets.Disconnect).Write(s.conn) == nil {
				drivers.DropUnsent(s.conn, false)
			}
		}
		<-s.write
	default: // the connection is stalled
	}
	s.kill(errOver)
}

// closeNow closes a connection without the TLS closing message, which may wait for a
// stalled network.
func closeNow(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close() // an error does not matter at the end of a connection
}

const disconnectTimeout = 250 * time.Millisecond // limit for DISCONNECT

// lock waits until no other caller writes. After an error the caller must not write.
func (s *session) lock(ctx context.Context) error {
	limit := time.NewTimer(s.limit)
	defer limit.Stop()
	select {
	case s.write <- struct{}{}:
	case <-s.dead:
		return s.err()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-limit.C:
		return errSlow
	}
	if err := s.err(); err != nil {
		<-s.write
		return err
	}
	return nil
}

func (s *session) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// unlock releases the writer semaphore and writes pending acknowledgments.
func (s *session) unlock() {
	s.flush()
	<-s.write
	s.acknowledge()
}

// flush writes the pending acknowledgments. The caller holds write.
func (s *session) flush() {
	s.mu.Lock()
	acks := s.acks
	s.acks = nil
	s.mu.Unlock()
	if len(acks) == 0 {
		return
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.limit))
	if _, err := s.conn.Write(acks); err != nil {
		s.kill(errLost)
	}
}

// acknowledge writes the pending acknowledgments, unless another caller writes, which then
// writes them too.
func (s *session) acknowledge() {
	for {
		s.mu.Lock()
		none := len(s.acks) == 0 || s.cause != nil
		s.mu.Unlock()
		if none {
			return
		}
		select {
		case s.write <- struct{}{}:
			s.flush()
			<-s.write
		default:
			return
		}
	}
}

// put writes a packet. The caller holds write. If the write is incomplete, put ends the
// session.
func (s *session) put(p packets.ControlPacket) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.limit))
	if err := p.Write(s.conn); err != nil {
		s.kill(errLost)
	}
}

// expect reserves a packet ID and registers a wait for its answer. Without an answer in
// time, the session ends.
func (s *session) expect(lost func()) (id uint16, w *pending, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil {
		return 0, nil, s.cause
	}
	for s.id == 0 || s.waits[s.id] != nil {
		s.id++
	}
	id = s.id
	s.id++
	w = &pending{done: make(chan struct{}), lost: lost, limit: time.AfterFunc(s.limit, func() { s.kill(errSlow) })}
	s.waits[id] = w
	return id, w, nil
}

// answered records the answer to a packet.
func (s *session) answered(id uint16, codes []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waits[id]
	if w == nil {
		return
	}
	delete(s.waits, id)
	w.limit.Stop()
	w.codes = codes
	close(w.done)
}

// await waits for the answer, the end of the session, or the end of ctx. After the end of
// ctx the time limit for the answer remains.
func (s *session) await(ctx context.Context, w *pending) error {
	select {
	case <-w.done:
		return nil
	case <-s.dead:
	case <-ctx.Done():
	}
	select {
	case <-w.done:
		return nil
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.err()
}

// publish sends a message that is not retained, and waits for its acknowledgment. After an
// error the broker may have the message, unless the error is drivers.ErrNothingDone.
// Without an acknowledgment in time the session ends, even if ctx has ended.
func (s *session) publish(ctx context.Context, topic string, payload []byte, lost func()) error {
	if err := s.lock(ctx); err != nil {
		return drivers.MarkNothingDone(err)
	}
	p := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	p.Qos, p.TopicName, p.Payload = atLeastOnce, topic, payload
	id, w, err := s.expect(lost)
	if err == nil {
		p.MessageID = id
		s.put(p)
	}
	s.unlock()
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	return s.await(ctx, w)
}

// subscribe sends filters, and returns the code of each.
func (s *session) subscribe(ctx context.Context, filters []string) ([]byte, error) {
	p := packets.NewControlPacket(packets.Subscribe).(*packets.SubscribePacket)
	p.Topics = filters
	for range filters {
		p.Qoss = append(p.Qoss, atLeastOnce)
	}
	codes, err := s.ask(ctx, p, func(id uint16) { p.MessageID = id })
	if err == nil && len(codes) != len(filters) {
		s.kill(errPacket)
		return nil, errPacket
	}
	return codes, err
}

func (s *session) unsubscribe(ctx context.Context, filters []string) error {
	p := packets.NewControlPacket(packets.Unsubscribe).(*packets.UnsubscribePacket)
	p.Topics = filters
	_, err := s.ask(ctx, p, func(id uint16) { p.MessageID = id })
	return err
}

func (s *session) ask(ctx context.Context, p packets.ControlPacket, number func(uint16)) ([]byte, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	id, w, err := s.expect(nil)
	if err == nil {
		number(id)
		s.put(p)
	}
	s.unlock()
	if err != nil {
		return nil, err
	}
	if err := s.await(ctx, w); err != nil {
		return nil, err
	}
	return w.codes, nil
}

// beat sends a heartbeat, and ends a session without a packet of the broker for too long.
func (s *session) beat() {
	if time.Since(time.Unix(0, s.last.Load())) > silence {
		s.kill(errLost)
		return
	}
	select {
	case s.write <- struct{}{}:
		s.put(packets.NewControlPacket(packets.Pingreq))
		s.unlock()
	default: // the present write replaces the heartbeat
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.pulse.Reset(pulse)
	}
}

// read receives packets until the session ends.
func (s *session) read() {
	for {
		p, err := read(s.in)
		if err != nil {
			s.kill(errLost)
			return
		}
		s.last.Store(time.Now().UnixNano())
		switch p := p.(type) {
		case *packets.PublishPacket:
			s.take(p)
		case *packets.PubackPacket:
			s.answered(p.MessageID, nil)
		case *packets.SubackPacket:
			s.answered(p.MessageID, p.ReturnCodes)
		case *packets.UnsubackPacket:
			s.answered(p.MessageID, nil)
		}
		if s.in.Buffered() == 0 {
			s.acknowledge()
		}
	}
}

// take delivers a message, and queues its acknowledgment.
func (s *session) take(p *packets.PublishPacket) {
	if p.TopicName != "" {
		s.deliver(p)
	}
	if p.Qos == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acks = append(s.acks, packets.Puback<<4, 2, byte(p.MessageID>>8), byte(p.MessageID))
}
