package jetstream_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	upstream "github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// The store opens only with settings that lose nothing, or if the configuration accepts a loss. Its
// promise says which settings these are.
func TestPromise(t *testing.T) {
	t.Parallel()
	always := natsserver.Start(t, natsserver.Options{Sync: "always"})
	normal := natsserver.Start(t, natsserver.Options{})
	for _, test := range []struct {
		name   string
		server *natsserver.Server
		set    func(*jetstream.Config)
		want   string // error; "" for none
		kept   bool
		sync   string
		source string
	}{
		{"read at the server", always, func(c *jetstream.Config) { c.Monitors = []string{always.Monitor()} }, "", true, "always", "servers"},
		{"stated", always, func(c *jetstream.Config) { c.SyncAlways = true }, "", true, "always", "configuration"},
		{"nothing is known", always, func(*jetstream.Config) {}, "nothing says that the servers sync each write; write monitor:", false, "", ""},
		{"nothing is known, and a loss accepted", always, func(c *jetstream.Config) { c.AcceptLoss = true }, "", false, "unknown", "none"},
		{"the server says no", normal, func(c *jetstream.Config) { c.Monitors, c.SyncAlways = []string{normal.Monitor()}, true }, "does not sync each write; write jetstream {sync_interval: always}", false, "", ""},
		{"the server says no, and a loss accepted", normal, func(c *jetstream.Config) { c.Monitors, c.AcceptLoss = []string{normal.Monitor()}, true }, "", false, "default", "servers"},
		{"a loss accepted where there is none", always, func(c *jetstream.Config) { c.Monitors, c.AcceptLoss = []string{always.Monitor()}, true }, "", true, "always", "servers"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(1, test.server)
			c.SyncAlways = false
			test.set(&c)
			s, err := jetstream.Open(t.Context(), c)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "accept_loss") {
					t.Errorf("Open: %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p := s.Promise()
			if p.Kept != test.kept || p.Sync != test.sync || p.Source != test.source || p.Replicas != 1 || p.Text == "" {
				t.Errorf("promise: %+v", p)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An existing stream with settings that the store cannot use gets an error with a remedy.
func TestExistingStream(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := upstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*upstream.StreamConfig){
		"allows direct reads":           func(c *upstream.StreamConfig) { c.AllowDirect = true },
		"does not allow atomic batches": func(c *upstream.StreamConfig) { c.AllowAtomicPublish = false },
		"does not allow rollups":        func(c *upstream.StreamConfig) { c.AllowRollup = false },
		"is in memory":                  func(c *upstream.StreamConfig) { c.Storage = upstream.MemoryStorage },
		"forgets messages":              func(c *upstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
	} {
		c := config(1, server)
		is := upstream.StreamConfig{Name: "mess_" + c.Site, Subjects: []string{"mess." + c.Site + ".>"}, AllowRollup: true, AllowAtomicPublish: true, Discard: upstream.DiscardNew}
		change(&is)
		if _, err := js.CreateStream(t.Context(), is); err != nil {
			t.Fatal(err)
		}
		if _, err := jetstream.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open: %v, want %q", err, want)
		}
	}
	c := config(1, server)
	s := open(t, c)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	c.Replicas = 3
	if _, err := jetstream.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "has 1 replicas, and the configuration says 3") {
		t.Errorf("another number of replicas: %v", err)
	}
}

// Servers before 2.15 get an error, and so does an address where no server is.
func TestOldServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveOld(c)
		}
	}()
	c := jetstream.Config{URLs: []string{"nats://" + l.Addr().String()}, Site: "home", Replicas: 1, SyncAlways: true}
	if _, err := jetstream.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "has version 2.14.9; install 2.15 or later") {
		t.Errorf("an old server: %v", err)
	}
	c.URLs = []string{"nats://127.0.0.1:1"}
	if _, err := jetstream.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "look whether nats-server runs there") {
		t.Errorf("no server: %v", err)
	}
}

// serveOld answers a client as an old server does.
func serveOld(c net.Conn) {
	defer c.Close()
	if _, err := fmt.Fprint(c, `INFO {"server_id":"x","server_name":"old","version":"2.14.9","proto":1,"headers":true,"jetstream":true,"max_payload":1048576}`+"\r\n"); err != nil {
		return
	}
	for lines := bufio.NewScanner(c); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "PING") {
			if _, err := fmt.Fprint(c, "PONG\r\n"); err != nil {
				return
			}
		}
	}
}

// A store that has to exist is not made.
func TestMissingStoreIsNotMade(t *testing.T) {
	t.Parallel()
	c := config(1, natsserver.Start(t, natsserver.Options{Sync: "always"}))
	c.Existing = true
	for range 2 {
		if s, err := jetstream.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "no threads of the prefix") {
			if err == nil {
				err = s.Close()
			}
			t.Fatalf("the store opened: %v", err)
		}
	}
	made := c
	made.Existing = false
	opened(t, made)
	opened(t, c)
}
