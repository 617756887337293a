package httpdevice

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
)

func TestFound(t *testing.T) {
	at := func(last byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 168, 1, last}), 80)
	}
	got := found([]discovery.Instance{
		{Service: "_http._tcp", Name: "printer", Addr: at(9)},
		{Service: "_http._tcp", Name: "shelly1pm-B929CC", Addr: at(1)},
		{Service: "_http._tcp", Name: "ShellyPlus1PM-A8032ABE54DC", Addr: at(2), Texts: map[string]string{"gen": "2"}},
		{Service: "_http._tcp", Name: "shellydimmer2-D0E1F2", Addr: at(5)},
		{Service: "_http._tcp", Name: "ShellyProDM1PM-A0A3B3", Addr: at(6), Texts: map[string]string{"gen": "2"}},
		{Service: "_http._tcp", Name: "tasmota-1234", Addr: at(3)},
		{Service: "_http._tcp", Name: "shelly-lost"},
		{Service: "_shelly._tcp", Name: "ShellyPlus1PM-A8032ABE54DC", Addr: at(2), Texts: map[string]string{"gen": "2"}},
		{Service: "_wled._tcp", Name: "Desk strip", Addr: at(4)},
	})
	one := func(name, family, ip string) drivers.FoundDevice {
		return drivers.FoundDevice{Name: name, Where: family + " at " + ip, Config: map[string]string{"family": family, "url": "http://" + ip, "safe": "keep"}}
	}
	want := []drivers.FoundDevice{
		one("shelly1pm-b929cc", "shelly-gen1", "192.168.1.1"), one("shellyplus1pm-a8032abe54dc", "shelly-gen2", "192.168.1.2"),
		one("shellydimmer2-d0e1f2", "shelly-gen1-light", "192.168.1.5"), one("shellyprodm1pm-a0a3b3", "shelly-gen2-light", "192.168.1.6"),
		one("tasmota-1234", "tasmota", "192.168.1.3"), one("desk-strip", "wled", "192.168.1.4"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
