package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// natsNode starts an exchange over the store of a server, and returns it with a client for its
// operator.
func natsNode(t *testing.T, home string, server *natsserver.Server) (*process, *httpclient.Client) {
	t.Helper()
	conf := filepath.Join(home, "exchange.yaml")
	text := fmt.Sprintf("exchange:\n  id: home\n  listen: 127.0.0.1:0\n  mqtt: {listen: off}\n  store: {url: %q, replicas: 1, monitor: [%q]}\n", server.URL(), server.Monitor())
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := start(home, buildMesskit(t), "exchange", "--config", conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.kill() }) // the test may have killed it
	key, err := os.ReadFile(filepath.Join(home, ".mess", "operator.key"))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.stderr.String())
	}
	c, err := httpclient.New(httpclient.Config{URL: strings.TrimSuffix(p.url, "/api/v1/exchanges/home"), Key: httpclient.Secret(strings.TrimSpace(string(key)))}, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

// Two exchanges on one NATS server have the same threads, and one goes on when the other one is
// killed. The killed one has all of them when it starts again.
func TestTwoExchangesShareNATS(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	homes := []string{t.TempDir(), t.TempDir()}
	first, a := natsNode(t, homes[0], server)
	_, b := natsNode(t, homes[1], server)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ask := func(c *httpclient.Client, id string) string {
		t.Helper()
		return sendRequest(ctx, t, c, mess.Request{ID: id, Intent: "look at the lamp"})
	}
	one := ask(a, "one")
	if again := ask(b, "one"); again != one {
		t.Errorf("the same request at the other exchange has made %s, and not %s", again, one)
	}
	var s status.Document
	if err := b.Status(ctx, &s); err != nil || s.Store == nil || !s.Store.Kept || s.Store.Source != "servers" || s.Store.Replicas != 1 {
		text, _ := json.Marshal(s.Store)
		t.Errorf("status of the store: %s, %v", text, err)
	}
	if err := first.kill(); err != nil {
		t.Fatal(err)
	}
	two := ask(b, "two")
	_, a = natsNode(t, homes[0], server)
	if again := ask(a, "two"); again != two {
		t.Errorf("after its restart an exchange has made %s, and not %s", again, two)
	}
}
