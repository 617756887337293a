package webhook_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/store/memory"
)

// The configuration decides which addresses a notification may go to.
func TestAllowedAddresses(t *testing.T) {
	localNetwork := webhook.Config{Allow: []netip.Prefix{netip.MustParsePrefix("192.168.1.0/24"), netip.MustParsePrefix("fd00::/64")}}
	for addr, may := range map[string][2]bool{ // by default, and with that configuration
		"93.184.216.34": {true, true}, "2606:2800:220:1::1": {true, true}, "192.168.1.5": {false, true}, "fd00::5": {false, true}, "::ffff:192.168.1.5": {false, true},
		"192.168.2.5": {}, "10.0.0.1": {}, "172.16.0.1": {}, "127.0.0.1": {}, "::1": {}, "::ffff:127.0.0.1": {}, "0.0.0.0": {}, "::": {}, "0.1.2.3": {},
		"169.254.169.254": {}, "fe80::1": {}, "fe80::1%eth0": {}, "fd00:ec2::254": {}, "100.100.100.200": {}, "224.0.0.1": {}, "255.255.255.255": {}, "240.0.0.1": {},
		"192.0.0.192": {}, "198.18.0.1": {}, "64:ff9b::a9fe:a9fe": {}, "2002:7f00:1::": {}, "2001:0:1::": {}, "::127.0.0.1": {}, "ff02::1": {}, "fec0::1": {},
	} {
		ip := netip.MustParseAddr(addr)
		for i, cfg := range []webhook.Config{{}, localNetwork} {
			if err := cfg.Check(ip); (err == nil) != may[i] || err != nil && !strings.Contains(err.Error(), "webhooks: allow:") {
				t.Errorf("%s: %v, want %v", addr, err, may[i])
			}
		}
	}
}

// The address of the connection counts, under any name. No name leads to this machine.
func TestNoConnectionToThisMachine(t *testing.T) {
	hits := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer s.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	t.Setenv("HTTP_PROXY", s.URL)
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{T: t, x: x, keys: keyring{}}
	hooks, err := webhook.Open(x, h.keys, webhook.Config{}, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = hooks.Run(ctx) })
	defer func() { cancel(); wg.Wait() }()
	names := map[string]string{"a": "127.0.0.1", "b": "localhost", "c": "[::ffff:127.0.0.1]", "d": "0.0.0.0", "e": "127.1", "f": "2130706433"}
	for id, name := range names {
		h.post(id, fmt.Sprintf(`{"config":{"executor":{"id":%q,"capabilities":["look"],"notifications":[{"type":"webhook","url":"http://%s:%s/"}]}}}`, id, name, port))
	}
	for end := time.Now().Add(time.Minute); ; {
		h.post("agent", `{"request":{"intent":"look","requires":["look"]}}`) // the first may come before the webhooks follow
		states := map[string]webhook.State{}
		for id := range names {
			if l := hooks.Deliveries(exchange.Actor{ID: id}); len(l) > 0 {
				states[id] = l[len(l)-1].State
			}
		}
		done := 0
		for _, id := range slices.Sorted(maps.Keys(names)) {
			if states[id] == webhook.Rejected || states[id] == webhook.Waiting && (id == "e" || id == "f") { // no names here
				done++
			}
		}
		if done == len(names) {
			break
		}
		if time.Now().After(end) { // the resolver of the machine may answer late
			t.Fatalf("states: %v", states)
		}
		<-time.After(5 * time.Millisecond)
	}
	if hits > 0 {
		t.Errorf("%d connections were made", hits)
	}
}
