package remote_test

import (
	"testing"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/reference"
	"github.com/messkit/messkit/mess"
)

// AutoDetect uses an exchange of messkit directly. A reference server has no queries.
func TestAutoDetectFindsExchange(t *testing.T) {
	c, ok := overHTTP(t).as(t, "pi").(*httpclient.Client)
	if !ok {
		t.Fatal("the way over HTTP has another client")
	}
	m := mess.Message{Items: []mess.Item{&mess.Query{Type: "executors"}}}
	if _, err := remote.For(c, remote.Auto, reference.Config{}).Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}
