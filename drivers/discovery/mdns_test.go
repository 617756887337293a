package discovery_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers/discovery"
)

// answer returns the answer of a Shelly in the encoding of RFC 1035 §4.1, with compressed
// names: _shelly._tcp.local PTR, SRV, TXT and A.
func answer() []byte {
	b := []byte{0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 3}
	name := func(labels ...string) {
		for _, l := range labels {
			b = append(b, byte(len(l)))
			b = append(b, l...)
		}
	}
	head := func(kind uint16, size int) {
		b = binary.BigEndian.AppendUint16(b, kind)
		b = append(b, 0x80, 1, 0, 0, 0, 120)
		b = binary.BigEndian.AppendUint16(b, uint16(size))
	}
	name("_shelly", "_tcp", "local") // at offset 12
	b = append(b, 0)
	head(12, 1+11+2)
	full := len(b)
	name("shelly-a8 x")
	b = append(b, 0xc0, 12)
	host := func() { name("shelly-a8"); b = append(b, 0xc0, 12+8+5) } // pointer to .local of the first name
	b = append(b, 0xc0, byte(full))
	head(33, 6+12)
	b = append(b, 0, 0, 0, 0, 0, 80)
	at := len(b)
	host()
	b = append(b, 0xc0, byte(full))
	head(16, 6+8)
	name("gen=2", "GEN=3 x")
	b = append(b, 0xc0, byte(at))
	head(1, 4)
	return append(b, 192, 168, 1, 40)
}

func TestBrowse(t *testing.T) {
	t.Parallel()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	asked := make(chan []byte, 1)
	go func() {
		buf := make([]byte, 1500)
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		asked <- buf[:n]
		for _, data := range [][]byte{{1, 2, 3}, buf[:n], answer()[:60], answer()} { // invalid, a question, truncated, valid
			_, _ = c.WriteToUDPAddrPort(data, from)
		}
		time.AfterFunc(2*time.Second, cancel) // time for the packets on this host
	}()
	got, err := discovery.Browse(ctx, netip.MustParseAddrPort(c.LocalAddr().String()), "_shelly._tcp", "_wled._tcp")
	want := []discovery.Instance{{
		Service: "_shelly._tcp", Name: "shelly-a8 x", Host: "shelly-a8.local", Addr: netip.MustParseAddrPort("192.168.1.40:80"), Texts: map[string]string{"gen": "2"},
	}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	const question = "\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x07_shelly\x04_tcp\x05local\x00\x00\x0c\x80\x01\x05_wled\x04_tcp\x05local\x00\x00\x0c\x80\x01"
	if q := string(<-asked); q != question {
		t.Errorf("asked %q", q)
	}
}
