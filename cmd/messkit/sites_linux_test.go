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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/link"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// site is an exchange and an executor at a leaf node, whose uplink a test can cut.
type site struct {
	*testing.T
	hub, leaf *natsserver.Server
	uplink    *link.Link
	lamp      *rigLamp
	home      string

	exchange, executor *process
	operator           *httpclient.Client
	levels             []int // that the requests have set
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, home: t.TempDir(), lamp: newRigLamp(t, 1)}
	port := freeport.Address(t)
	s.hub = natsserver.Start(t, natsserver.Options{Sync: "always", Domain: "hub", More: fmt.Sprintf("leafnodes: {listen: %q}", port)})
	s.uplink = link.New(t, port)
	s.leaf = natsserver.Start(t, natsserver.Options{Sync: "always", Domain: "cabin", More: fmt.Sprintf("leafnodes: {reconnect: 1s, remotes: [{url: %q}]}", "nats-leaf://"+s.uplink.Address())})
	s.write("exchange.yaml", fmt.Sprintf("exchange:\n  id: home\n  listen: %q\n  mqtt: {listen: off}\n  store: {url: %q, site: cabin, replicas: 1, monitor: [%q]}\n", freeport.Address(t), s.leaf.URL(), s.leaf.Monitor()))
	s.write("pi.yaml", fmt.Sprintf("connect: {url: %q, exchange: cabin, key_file: %q}\nagent: {id: pi, data: %q, disarm: []}\ndevices:\n%s", s.leaf.URL(), filepath.Join(s.home, "pi.key"), filepath.Join(s.home, "pi"), lampConfig(1, s.lamp.links[0])))
	s.startExchange()
	key, err := s.operator.IssueKey(t.Context(), "pi", []string{"executor"})
	if err != nil {
		t.Fatal(err)
	}
	s.write("pi.key", string(key))
	s.startExecutor()
	return s
}

func (s *site) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.home, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *site) startExchange() {
	s.Helper()
	s.exchange = s.startProcess("exchange", "--config", filepath.Join(s.home, "exchange.yaml"))
	key, err := operatorKey(filepath.Join(s.home, ".mess"))
	if err != nil {
		s.Fatalf("%v\n%s", err, s.exchange.stderr.String())
	}
	s.operator = clientFor(s.T, strings.TrimSuffix(s.exchange.url, "/api/v1/exchanges/home"), httpclient.Secret(key))
}

func (s *site) startExecutor() {
	s.Helper()
	s.executor = s.startProcess("run", "--config", filepath.Join(s.home, "pi.yaml"))
}

func (s *site) startProcess(command ...string) *process {
	s.Helper()
	p, err := start(s.home, append([]string{buildMesskit(s.T)}, command...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = p.kill() }) // the test may have killed it
	return p
}

// dim requests a level of the lamp, and waits until that is done.
func (s *site) dim(level int) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	r := mess.Request{ID: fmt.Sprint("level-", level), Intent: fmt.Sprintf("set dimmer 1 to %d percent", level)}
	var ref string
	soon(s.T, "the exchange takes the request", func() bool {
		answer, err := s.operator.Send(ctx, mess.Message{Items: []mess.Item{&r}})
		if err != nil || len(answer.Items) == 0 {
			return false
		}
		ack, ok := answer.Items[0].(*mess.Ack)
		if ok {
			ref = ack.Ref
		}
		return ok
	})
	awaitStatus(ctx, s.T, s.operator, ref, mess.Completed)
	s.levels = append(s.levels, level)
}

// steps returns each step of a thread in a stream, and how often it is there.
func steps(t *testing.T, server *natsserver.Server, stream string) map[string]int {
	t.Helper()
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for n := info.State.FirstSeq; n <= info.State.LastSeq && info.State.Msgs > 0; n++ {
		if m, err := s.GetMsg(t.Context(), n); err == nil && strings.HasPrefix(m.Subject, "mess.cabin.t.") {
			all[m.Subject+" "+string(m.Data)]++
		}
	}
	return all
}

// copyAtCentre makes the copy of the site's stream that the documentation describes.
func (s *site) copyAtCentre() {
	s.Helper()
	page, err := os.ReadFile("../../docs/reference/sites.md")
	if err != nil {
		s.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	var cfg jetstream.StreamConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		s.Fatalf("the documented configuration: %v", err)
	}
	nc, err := nats.Connect(s.hub.URL())
	if err != nil {
		s.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := js.CreateStream(s.Context(), cfg); err != nil {
		s.Fatal(err)
	}
}

// A site with a leaf node works while its uplink is cut, also after its exchange, its executor and its
// server were killed. The lamp gets each command once. When the uplink is back, the centre has each step of
// the site once.
func TestSiteWithoutUplink(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts servers and programs")
	}
	s := newSite(t)
	s.copyAtCentre()
	s.dim(10)
	const stream = "mess_cabin"
	soon(t, "the centre has the first steps", func() bool { return len(steps(t, s.hub, stream)) > 0 })
	s.uplink.Sever()
	s.dim(20)
	if err := s.exchange.kill(); err != nil {
		t.Fatal(err)
	}
	s.startExchange()
	s.dim(30)
	if err := s.executor.kill(); err != nil {
		t.Fatal(err)
	}
	s.startExecutor()
	s.dim(40)
	s.leaf.Kill()
	s.leaf.Restart()
	s.dim(50)
	here := steps(t, s.leaf, stream)
	if there := steps(t, s.hub, stream); len(there) >= len(here) {
		t.Errorf("the uplink is cut, and the centre has %d of %d steps", len(there), len(here))
	}
	s.uplink.Heal()
	soon(t, "the centre has all steps", func() bool {
		there := steps(t, s.hub, stream)
		for step := range here {
			if there[step] == 0 {
				return false
			}
		}
		return true
	})
	for step, n := range steps(t, s.hub, stream) {
		if n != 1 {
			t.Errorf("the centre has %d times: %.100s", n, step)
		}
	}
	for _, level := range s.levels {
		if times := s.lamp.commandTimes(level, time.Time{}, time.Now()); len(times) != 1 {
			t.Errorf("the lamp has got the level %d %d times, want once", level, len(times))
		}
	}
}
