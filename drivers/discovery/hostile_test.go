package discovery_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers/discovery"
)

// head returns the header of a message with this number of records.
func head(records uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{0, 0, 0x84, 0, 0, 0}, records)
}

// labels encodes a name.
func labels(list ...string) []byte {
	var b []byte
	for _, l := range list {
		b = append(append(b, byte(len(l))), l...)
	}
	return append(b, 0)
}

// record encodes a record with the length field size.
func record(name []byte, kind uint16, size int, data []byte) []byte {
	b := binary.BigEndian.AppendUint16(append([]byte{}, name...), kind)
	b = append(b, 0x80, 1, 0, 0, 0, 120)
	return append(binary.BigEndian.AppendUint16(b, uint16(size)), data...)
}

// message encodes a message with these records.
func message(records ...[]byte) []byte {
	b := append(head(uint16(len(records))), 0, 0, 0, 0)
	for _, r := range records {
		b = append(b, r...)
	}
	return b
}

// device encodes all records of a device.
func device(name string, addr [4]byte, port uint16) []byte {
	service, full, host := labels("_shelly", "_tcp", "local"), labels(name, "_shelly", "_tcp", "local"), labels("h"+fmt.Sprint(port), "local")
	srv := append(binary.BigEndian.AppendUint16(make([]byte, 4), port), host...)
	return message(record(service, 12, len(full), full), record(full, 33, len(srv), srv), record(host, 1, 4, addr[:]))
}

// hostile returns invalid messages.
func hostile() [][]byte {
	service := labels("_shelly", "_tcp", "local")
	loop := []byte{0xc0, 12}
	list := [][]byte{
		nil,
		{0},
		make([]byte, 12), head(0xffff), append(head(0xffff), make([]byte, 8000)...),
		message(record(loop, 12, 2, loop)),                                                    // a name that points to itself
		message(record(append([]byte{1, 'a'}, 0xc0, 12), 12, 2, loop)),                        // a growing name that points to itself
		message(record([]byte{0xff, 0xff}, 12, 0, nil)),                                       // a pointer beyond the end
		message(record([]byte{0x80, 'a'}, 12, 0, nil)),                                        // a reserved length
		message(record([]byte{60, 'a', 0}, 12, 0, nil)),                                       // a label beyond the end
		message(record(service, 12, 60000, []byte{0})),                                        // a data length beyond the end
		message(record(service, 1, 3, []byte{1, 2, 3})),                                       // an address that is too short
		message(record(service, 33, 2, []byte{0, 0})),                                         // a service that is too short
		message(record(service, 16, 3, []byte{200, 'a', '='})),                                // a text that is too short
		message(record(service, 16, 600, append([]byte{255}, make([]byte, 599)...))),          // an empty text
		message(record(labels(strings.Repeat("x", 63), strings.Repeat("y", 63)), 12, 0, nil)), // a PTR record without a target
		device("to nobody", [4]byte{0, 0, 0, 0}, 80), device("to a group", [4]byte{224, 0, 0, 1}, 81), device("to everybody", [4]byte{255, 255, 255, 255}, 82),
		device("without a port", [4]byte{192, 168, 1, 9}, 0),
		device("evil\n  rogue: {driver: exec}\x1b[2J", [4]byte{192, 168, 1, 66}, 8066),
		device(strings.Repeat("long", 15), [4]byte{192, 168, 1, 67}, 8067),
	}
	deep := head(1)
	deep = append(deep, 0, 0, 0, 0)
	for n := range 200 { // each name points to the previous name
		deep = append(deep, 1, 'a', 0xc0, byte(max(12, 12+4*(n-1))))
	}
	return append(list, deep)
}

// Browse ignores invalid messages, returns no invalid address, treats a name as data, and
// ends in time despite thousands of answers.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		buf := make([]byte, 1500)
		for {
			_, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			for _, data := range hostile() {
				_, _ = c.WriteToUDPAddrPort(data, from)
			}
			_, _ = c.WriteToUDPAddrPort(answer(), from)
			for n := range 3000 {
				_, _ = c.WriteToUDPAddrPort(device(fmt.Sprintf("flood-%d", n), [4]byte{10, 0, byte(n >> 8), byte(n)}, uint16(10000+n)), from)
			}
		}
	}()
	defer func() { _ = c.Close(); <-over }()
	for long := 2 * time.Second; ; long *= 2 { // Browse repeats lost questions
		ctx, cancel := context.WithTimeout(t.Context(), long)
		got, err := discovery.Browse(ctx, netip.MustParseAddrPort(c.LocalAddr().String()), "_shelly._tcp")
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]discovery.Instance{}
		for _, i := range got {
			found[i.Name] = i
			if addr := i.Addr.Addr(); i.Addr.IsValid() && (addr.IsUnspecified() || addr.IsMulticast() || addr.As4()[0] == 255 || i.Addr.Port() == 0) {
				t.Errorf("%q is at %v", i.Name, i.Addr)
			}
			if id := discovery.ID(i.Name); len(id) > 60 || strings.ContainsAny(id, "\n\x1b {}:") {
				t.Errorf("%q is called %q", i.Name, id)
			}
		}
		evil := found["evil\n  rogue: {driver: exec}\x1b[2J"]
		if found["shelly-a8 x"].URL() == "http://192.168.1.40" && discovery.ID(evil.Name) == "evil-rogue-driver-exec-2j" && len(found) > 100 {
			return
		}
		if long > time.Minute {
			t.Fatalf("%d services found, with %+v and %+v", len(found), found["shelly-a8 x"], evil)
		}
	}
}
