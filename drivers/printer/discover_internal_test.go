package printer

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
)

func TestFound(t *testing.T) {
	at := func(last byte, port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 168, 1, last}), port)
	}
	got := found([]discovery.Instance{
		{Service: "_moonraker._tcp", Name: "mainsailos", Addr: at(5, 7125)},
		{Service: "_moonraker._tcp", Name: "lost"},
		{Service: "_octoprint._tcp", Name: "OctoPrint instance on octopi", Addr: at(6, 80), Texts: map[string]string{"path": "/octo/"}},
		{Service: "_octoprint._tcp", Name: "mainsailos", Addr: at(5, 7125)}, // as some devices announce
		{Service: "_prusalink._tcp", Name: "PrusaMK4", Addr: at(7, 80), Texts: map[string]string{"path": "//evil/x?y"}},
		{Service: "_ipp._tcp", Name: "Laser", Addr: at(8, 631)},
	})
	one := func(name, server, where, url string) drivers.FoundDevice {
		return drivers.FoundDevice{Name: name, Where: where, Config: map[string]string{"server": server, "url": url, "safe": "keep"}}
	}
	want := []drivers.FoundDevice{
		one("mainsailos", "moonraker", "moonraker at 192.168.1.5", "http://192.168.1.5:7125"),
		one("octoprint-instance-on-octopi", "octoprint", "octoprint at 192.168.1.6", "http://192.168.1.6/octo"),
		one("prusamk4", "prusalink", "prusalink at 192.168.1.7", "http://192.168.1.7"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, f := range got {
		cfg := DefaultConfig()
		cfg.URL, cfg.Server, cfg.Safe = f.Config["url"], f.Config["server"], f.Config["safe"]
		err, wants := cfg.Validate(), map[string]string{"octoprint": "token_file: is missing", "prusalink": "username: is missing"}[cfg.Server]
		if (err != nil) != (wants != "") || err != nil && !strings.HasPrefix(err.Error(), wants) {
			t.Errorf("%s: %v, want %q", f.Name, err, wants)
		}
		cfg.Username, cfg.TokenFile = "", "key" // an old PrusaLink
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestOctoPrintName(t *testing.T) {
	for name, want := range map[string]string{`OctoPrint instance "Big One" on octopi`: "Big One", "OctoPrint instance on octopi": "", `a "half`: ""} {
		if got := quoted(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
