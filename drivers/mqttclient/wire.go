package mqttclient

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/messkit/messkit/drivers"
)

const (
	maxPacket = 4 << 20          // size limit in bytes for a packet; read skips the rest of a larger message
	keepAlive = 30 * time.Second // value for the broker
	pulse     = keepAlive / 2    // interval of heartbeats
	silence   = keepAlive + pulse
)

// dial opens a connection and logs in. It sets the connection to drop unsent bytes at its
// end, because a command must not arrive after its caller has given up.
func dial(ctx context.Context, o Options) (net.Conn, *bufio.Reader, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	scheme, host, _ := strings.Cut(o.Address, "://")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", packets.ErrorNetworkError, err)
	}
	if scheme == "tls" {
		name, _, _ := net.SplitHostPort(host)
		conn = tls.Client(conn, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12})
	}
	drivers.DropUnsent(conn, true)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	r := bufio.NewReader(conn)
	err = login(conn, r, o)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close() // an error does not matter here
		if ctx.Err() != nil {
			err = fmt.Errorf("%w in %v; check that the broker runs, and that user and password are right", errSlow, o.Timeout)
		}
		return nil, nil, err
	}
	return conn, r, nil
}

// login sends CONNECT and reads CONNACK.
func login(conn net.Conn, r *bufio.Reader, o Options) error {
	c := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	c.ProtocolName, c.ProtocolVersion, c.CleanSession, c.Keepalive = "MQTT", 4, true, uint16(keepAlive/time.Second)
	c.ClientIdentifier = o.ClientID
	if o.ClientID == "" { // the broker may still remove the state of the last client ID
		c.ClientIdentifier = "messkit-" + rand.Text()[:12]
	}
	c.UsernameFlag, c.Username = o.Username != "", o.Username
	c.PasswordFlag, c.Password = o.Password != "", []byte(o.Password)
	if err := c.Write(conn); err != nil {
		return fmt.Errorf("%w: %w", packets.ErrorNetworkError, err)
	}
	p, err := read(r)
	if err != nil {
		return fmt.Errorf("%w: %w", packets.ErrorNetworkError, err)
	}
	a, ok := p.(*packets.ConnackPacket)
	switch {
	case !ok:
		return packets.ErrorProtocolViolation
	case a.ReturnCode != packets.Accepted:
		if err := packets.ConnErrors[a.ReturnCode]; err != nil {
			return err
		}
		return fmt.Errorf("the broker answers with the unknown code %d", a.ReturnCode)
	}
	return nil
}

var errPacket = errors.New("the broker sent invalid MQTT")

// read reads one packet. For an oversized message it returns the packet without topic and
// payload.
func read(r *bufio.Reader) (packets.ControlPacket, error) {
	first, err := r.ReadByte()
	if err != nil {
		return nil, err
	}
	length, err := remaining(r)
	if err != nil {
		return nil, err
	}
	p, err := packets.NewControlPacketWithHeader(packets.FixedHeader{
		MessageType: first >> 4, Dup: first&8 != 0, Qos: first >> 1 & 3, Retain: first&1 != 0, RemainingLength: length,
	})
	if err != nil {
		return nil, errPacket
	}
	if length > maxPacket {
		return skip(r, p, length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	if p.Unpack(bytes.NewBuffer(body)) != nil {
		return nil, errPacket
	}
	return p, nil
}

// remaining reads the remaining length (§2.2.3).
func remaining(r *bufio.Reader) (n int, err error) {
	for shift := 0; shift <= 21; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		n |= int(b&0x7f) << shift
		if b&0x80 == 0 {
			return n, nil
		}
	}
	return 0, errPacket
}

// skip skips an oversized message, except for its packet ID.
func skip(r *bufio.Reader, p packets.ControlPacket, length int) (packets.ControlPacket, error) {
	m, ok := p.(*packets.PublishPacket)
	if !ok {
		return nil, errPacket
	}
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	topic := int(size[0])<<8 | int(size[1])
	if _, err := r.Discard(topic); err != nil {
		return nil, err
	}
	left := length - 2 - topic
	if m.Qos > 0 {
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return nil, err
		}
		m.MessageID = uint16(size[0])<<8 | uint16(size[1])
		left -= 2
	}
	if _, err := io.CopyN(io.Discard, r, int64(left)); err != nil {
		return nil, err
	}
	return m, nil
}
