package guarded_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/guarded"
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
	if _, err := guarded.Client(guarded.Config{Check: no, Connect: time.Minute}).Get(byName); !errors.Is(err, errNot) || len(asked) == 0 || !asked[0].IsLoopback() {
		t.Errorf("%v, asked for %v", err, asked)
	}
	c := guarded.Client(guarded.Config{Check: func(netip.Addr) error { return nil }, Connect: time.Minute, Total: time.Minute})
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
		if got := guarded.Public(netip.MustParseAddr(ip)); got != want {
			t.Errorf("Public(%s) = %t", ip, got)
		}
	}
}
