package sites_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/sites"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

var secret = natslink.Secret("mess_cabin_key")

func sealed(body string) []byte {
	return natslink.Seal(secret, natslink.Head{Kind: natslink.Message, Executor: "office", ID: "porch"}, []byte(body))
}

const (
	request = `{"site":"cabin","requester":"anna","id":"porch","message":{"MESS":[{"request":{"id":"porch","intent":"turn it on"}}]}}`
	revoke  = `{"site":"cabin","requester":"anna","id":"porch","cancel":true,"message":{"MESS":[{"cancel":{"re":"porch"}}]}}`
)

// An order counts only with a valid signature, for its site, and with one request or cancel of its id.
func TestOrders(t *testing.T) {
	for body, want := range map[string]string{
		request: "", revoke: "",
		strings.Replace(request, `"cabin"`, `"attic"`, 1):                                                         "for the site",
		strings.Replace(request, `"id":"porch","intent"`, `"id":"other","intent"`, 1):                             "another id",
		strings.Replace(revoke, `"re":"porch"`, `"re":"other"`, 1):                                                "another request",
		strings.Replace(revoke, `"cancel":true,`, ``, 1):                                                          "another request",
		strings.Replace(request, `{"request":{"id":"porch","intent":"turn it on"}}`, `{"config":{"stop":{}}}`, 1): "has a config",
		strings.Replace(request, `"anna"`, `"an na"`, 1):                                                          "names no requester",
		`{`: "no JSON",
	} {
		_, id, _, err := sites.OpenOrder(sealed(body), secret)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
		if err == nil && id != "porch" {
			t.Errorf("%s is for %q", body, id)
		}
	}
	if _, _, _, err := sites.OpenOrder(sealed(request), natslink.Secret("another")); err == nil {
		t.Error("an order with the signature of another key is accepted")
	}
}

func TestUplinkInWords(t *testing.T) {
	at := time.Date(2026, 5, 1, 13, 58, 0, 0, time.Local)
	for want, u := range map[string]sites.Uplink{
		"no contact since the start":                 {Side: "centre"},
		"connected, nothing behind":                  {Connected: true},
		"connected, 7 steps behind; 1 request waits": {Connected: true, Behind: 7, Waiting: 1},
		"cut since 2026-05-01 13:58:00; the copy is as of 2026-05-01 13:58:00; 2 requests wait": {Side: "centre", Since: &at, AsOf: &at, Waiting: 2},
		"cut since 2026-05-01 13:58:00": {Side: "site", Since: &at, AsOf: &at},
	} {
		if got := u.String(); got != want {
			t.Errorf("%+v is %q, want %q", u, got, want)
		}
	}
}

func FuzzOpenOrder(f *testing.F) {
	f.Add([]byte(request))
	f.Add([]byte(revoke))
	f.Fuzz(func(t *testing.T, body []byte) {
		who, id, m, err := sites.OpenOrder(sealed(string(body)), secret)
		if err != nil {
			return
		}
		if !mess.ValidID(who) || id != "porch" || len(m.Items) != 1 {
			t.Errorf("the order of %q for %q has %d items", who, id, len(m.Items))
		}
		if kind := m.Items[0].Kind(); kind != mess.KindRequest && kind != mess.KindCancel {
			t.Errorf("an order has a %s", kind)
		}
	})
}

func FuzzReadReceipt(f *testing.F) {
	f.Add([]byte(`{"seq":1,"outcome":"taken","ref":"2026-01-01-001","at":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"outcome":"expired"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		status, err := sites.ReadReceipt(data)
		if known := map[mess.Code]bool{mess.Pending: true, mess.Declined: true, mess.Expired: true, mess.Cancelled: true}; err == nil && !known[status] {
			t.Errorf("a receipt means %s", status)
		}
	})
}
