package roombawifi

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
)

const (
	roomba = `{"ver":"3","hostname":"Roomba-3193C60472324700","robotname":"Dorita","ip":"10.9.9.9","mac":"12:12:12:12:12:12","sw":"v2.4.16-126","sku":"R980020","nc":0,"proto":"mqtt","cap":{"pose":1}}`
	braava = `{"ver":"4","hostname":"iRobot-ABC","robotid":"ABCD1234","robotname":"","ip":"10.9.9.8","proto":"mqtt"}`
)

// A robot appears once, with the address of the sender.
func TestDiscover(t *testing.T) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	over := make(chan []drivers.FoundDevice, 1)
	go func() { over <- discover(ctx, netip.MustParseAddrPort(c.LocalAddr().String()), 2) }()
	buf := make([]byte, 4096)
	n, from, err := c.ReadFromUDPAddrPort(buf)
	if err != nil || string(buf[:n]) != "irobotmcs" {
		t.Fatalf("asked %q, %v", buf[:n], err)
	}
	for _, answer := range []string{
		"irobotmcs", `{"hostname":"Roomba-"}`, `{"hostname":"printer-4f2a"}`, `{"hostname":"Roomba-A/#","proto":"mqtt"}`, `{"hostname":"Roomba-77","proto":"other"}`, roomba, roomba, braava,
	} {
		if _, err := c.WriteToUDPAddrPort([]byte(answer), from); err != nil {
			t.Fatal(err)
		}
	}
	want := []drivers.FoundDevice{
		{Name: "roomba-dorita", Where: "Dorita R980020 at 127.0.0.1", Config: map[string]string{"host": "127.0.0.1", "blid": "3193C60472324700", "safe": "keep"}},
		{Name: "roomba", Where: "at 127.0.0.1", Config: map[string]string{"host": "127.0.0.1", "blid": "ABCD1234", "safe": "keep"}},
	}
	if diff := cmp.Diff(want, <-over); diff != "" {
		t.Error(diff)
	}
}

func FuzzFound(f *testing.F) {
	f.Add([]byte(roomba))
	f.Add([]byte(braava))
	f.Add([]byte(`{"hostname":"Roomba-"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, ok := found(data, netip.MustParseAddr("192.168.1.52"))
		if !ok {
			if diff := cmp.Diff(drivers.FoundDevice{}, one); diff != "" {
				t.Error(diff)
			}
			return
		}
		cfg := DefaultConfig()
		cfg.Host, cfg.Blid, cfg.Password = one.Config["host"], one.Config["blid"], "x"
		if err := cfg.Validate(); err != nil || one.Name == "" {
			t.Errorf("%+v: %v", one, err)
		}
	})
}
