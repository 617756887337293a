// Package brokertest is a broker for tests. It serves one client at a time over a pipe, with the
// faults that a test sets.
package brokertest

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// Broker is a broker with the faults of a Behaviour. Change them with Set.
type Broker struct {
	mu      sync.Mutex
	b       Behavior
	dials   []time.Time
	conn    net.Conn
	serving sync.WaitGroup
	outs    map[net.Conn]chan packets.ControlPacket // so that reading never waits for writing
	next    uint16
	wills   [][]byte
}

// Behavior sets the faults of a broker.
type Behavior struct {
	Gone    bool   // no broker listens
	Kick    bool   // accept connections, then close them
	Refuse  byte   // the return code of its CONNACK
	Swallow bool   // accept messages, without an acknowledgement
	Deny    string // a topic that the client may not read
	// Published receives the messages of the client; answer sends to the client.
	Published func(topic string, payload []byte, answer func(topic string, payload []byte, retain bool))
	// Subscribed runs after the client has subscribed.
	Subscribed func(answer func(topic string, payload []byte, retain bool))
}

// Set changes the behavior of the broker.
func (b *Broker) Set(change func(*Behavior)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.b)
}

func (b *Broker) behavior() Behavior {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b
}

// Dials returns the times of the attempts to connect.
func (b *Broker) Dials() []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]time.Time{}, b.dials...)
}

// Wills returns the payloads of the wills of all clients.
func (b *Broker) Wills() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([][]byte{}, b.wills...)
}

// Dial connects to the broker.
func (b *Broker) Dial(context.Context) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dials = append(b.dials, time.Now())
	if b.b.Gone {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	b.conn = theirs
	if b.outs == nil {
		b.outs = map[net.Conn]chan packets.ControlPacket{}
	}
	out := make(chan packets.ControlPacket, 1024)
	b.outs[theirs] = out
	b.serving.Go(func() {
		defer theirs.Close()
		for p := range out {
			_ = p.Write(theirs) // the client may have left
		}
	})
	b.serving.Go(func() { b.serve(theirs) })
	return ours, nil
}

// Cut closes the present connection.
func (b *Broker) Cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil {
		_ = b.conn.Close()
	}
}

// Wait waits until all connections have ended.
func (b *Broker) Wait() { b.serving.Wait() }

func (b *Broker) serve(conn net.Conn) {
	defer func() { // the writer first sends the queued packets
		b.mu.Lock()
		defer b.mu.Unlock()
		close(b.outs[conn])
		delete(b.outs, conn)
	}()
	for {
		p, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		if !b.take(conn, p) {
			return
		}
	}
}

// take handles one packet, and returns false when the connection ends with it.
func (b *Broker) take(conn net.Conn, p packets.ControlPacket) bool {
	does := b.behavior()
	switch p := p.(type) {
	case *packets.ConnectPacket:
		b.mu.Lock()
		b.wills = append(b.wills, p.WillMessage)
		b.mu.Unlock()
		a := packets.NewControlPacket(packets.Connack).(*packets.ConnackPacket)
		a.ReturnCode = does.Refuse
		b.write(conn, a)
		return !does.Kick && does.Refuse == 0
	case *packets.SubscribePacket:
		a := packets.NewControlPacket(packets.Suback).(*packets.SubackPacket)
		a.MessageID, a.ReturnCodes = p.MessageID, make([]byte, len(p.Topics))
		for i, t := range p.Topics {
			if t == does.Deny {
				a.ReturnCodes[i] = 0x80
			}
		}
		b.write(conn, a)
		if does.Subscribed != nil {
			b.serving.Go(func() { does.Subscribed(b.answers(conn)) })
		}
	case *packets.PublishPacket:
		if does.Swallow {
			return true
		}
		a := packets.NewControlPacket(packets.Puback).(*packets.PubackPacket)
		a.MessageID = p.MessageID
		b.write(conn, a)
		if does.Published != nil {
			b.serving.Go(func() { does.Published(p.TopicName, p.Payload, b.answers(conn)) })
		}
	case *packets.PingreqPacket:
		b.write(conn, packets.NewControlPacket(packets.Pingresp))
	case *packets.DisconnectPacket:
		return false
	}
	return true
}

func (b *Broker) write(conn net.Conn, p packets.ControlPacket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if out := b.outs[conn]; out != nil {
		out <- p
	}
}

func (b *Broker) answers(conn net.Conn) func(string, []byte, bool) {
	return func(topic string, payload []byte, retain bool) {
		p := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
		b.mu.Lock()
		b.next++
		p.MessageID = b.next
		b.mu.Unlock()
		p.Qos, p.Retain, p.TopicName, p.Payload = 1, retain, topic, payload
		b.write(conn, p)
	}
}
