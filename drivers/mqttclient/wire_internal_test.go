package mqttclient

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// Any input is a packet or an error, and read allocates no more than its limit.
func FuzzRead(f *testing.F) {
	f.Add([]byte{packets.Connack << 4, 2, 0, 0})
	f.Add([]byte{packets.Publish<<4 | 2, 7, 0, 1, 'a', 0, 9, 'o', 'n'})
	f.Add([]byte{packets.Publish << 4, 3, 0, 1, 'a'})
	f.Add([]byte{packets.Suback << 4, 4, 0, 9, 0x80, 1})
	f.Add([]byte{packets.Publish<<4 | 2, 0xff, 0xff, 0xff, 0x7f, 0, 1, 'a', 0, 9})
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := read(bufio.NewReader(bytes.NewReader(data)))
		if (p == nil) == (err == nil) {
			t.Fatalf("%v, %v", p, err)
		}
		if m, ok := p.(*packets.PublishPacket); ok && len(m.Payload) > len(data) {
			t.Errorf("%d bytes of %d", len(m.Payload), len(data))
		}
	})
}

// The client skips and acknowledges an oversized message.
func TestOversizedMessage(t *testing.T) {
	var b bytes.Buffer
	for _, size := range []int{maxPacket + 1, 2} {
		p := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
		p.TopicName, p.Qos, p.MessageID, p.Payload = "a/b", 1, 77, make([]byte, size)
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	r := bufio.NewReader(&b)
	for _, want := range []string{"", "a/b"} {
		p, err := read(r)
		m, ok := p.(*packets.PublishPacket)
		if err != nil || !ok || m.TopicName != want || m.MessageID != 77 {
			t.Fatalf("%v, %v; want the topic %q", p, err, want)
		}
	}
}
