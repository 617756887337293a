package jetstream_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// site counts the sites, so that tests share servers.
var site atomic.Int64

// config returns the configuration of an empty store.
func config(replicas int, servers ...*natsserver.Server) jetstream.Config {
	c := jetstream.Config{Client: "test", Site: fmt.Sprint("site", site.Add(1)), Replicas: replicas, SyncAlways: true}
	for _, s := range servers {
		c.URLs = append(c.URLs, s.URL())
	}
	return c
}

// open opens a store. The caller closes it.
func open(t *testing.T, c jetstream.Config) *jetstream.Store {
	t.Helper()
	s, err := jetstream.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened opens a store until the test ends.
func opened(t *testing.T, c jetstream.Config) *jetstream.Store {
	t.Helper()
	s := open(t, c)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	storetest.Run(t, func(t *testing.T) thread.Store { return open(t, config(1, server)) })
}
