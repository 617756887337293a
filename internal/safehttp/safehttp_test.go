package safehttp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/safehttp"
)

var errNot = errors.New("not there")

// The client checks the address of the connection, also behind a host name, and follows no
// redirect.
func TestClientChecksAddresses(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
	}))
	defer s.Close()
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	var asked []netip.Addr
	no := func(ip netip.Addr) error { asked = append(asked, ip); return errNot }
	byName := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	if _, err := safehttp.Client(safehttp.Config{Check: no, Connect: time.Minute}).Get(byName); !errors.Is(err, errNot) || len(asked) == 0 || !asked[0].IsLoopback() {
		t.Errorf("%v, asked for %v", err, asked)
	}
	c := safehttp.Client(safehttp.Config{Check: func(netip.Addr) error { return nil }, Connect: time.Minute, Total: time.Minute})
	res, err := c.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusFound {
		t.Errorf("%d, %v", res.StatusCode, err)
	}
}

func TestPublicAddresses(t *testing.T) {
	for ip, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "::1": false, "10.0.0.1": false, "192.168.1.1": false, "::ffff:192.168.1.1": false, "169.254.169.254": false,
		"fe80::1%eth0": false, "0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false, "64:ff9b::1": false, "224.0.0.1": false, "2002::1": false,
	} {
		if got := safehttp.Public(netip.MustParseAddr(ip)); got != want {
			t.Errorf("Public(%s) = %t", ip, got)
		}
	}
}

// Send drops the body, so that the client uses the connection again, and its errors do not contain
// the address.
func TestSendDropsBodyAndHidesAddress(t *testing.T) {
	var connections atomic.Int32
	hang := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("hang") {
			<-hang
		}
		_, _ = w.Write([]byte("a body"))
	}))
	s.Config.ConnState = func(_ net.Conn, is http.ConnState) {
		if is == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	defer close(hang)
	c := safehttp.Client(safehttp.Config{Check: func(netip.Addr) error { return nil }, Connect: time.Minute})
	send := func(ctx context.Context, address string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := safehttp.Send(c, req)
		if err == nil && res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", address, res.StatusCode)
		}
		return err
	}
	for range 2 {
		if err := send(t.Context(), s.URL); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for two requests, want 1", n)
	}
	late, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := send(late, s.URL+"?hang&token=sesame"); err == nil || err.Error() != "no answer in time" {
		t.Errorf("a receiver that hangs: %v", err)
	}
	if err := send(t.Context(), "http://127.0.0.1:1/?token=sesame"); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("no receiver: %v", err)
	}
}
