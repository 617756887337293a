package jetstream_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/snapshot"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// streamOf opens the stream of a name at a server.
func streamOf(t *testing.T, server *natsserver.Server, name string) natsjs.Stream {
	t.Helper()
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// A removed object leaves nothing behind, and only one of two writers replaces a manifest.
func TestSnapshotHome(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{})
	c := config(1, server)
	c.AcceptLoss = true
	home := jetstream.SnapshotHome(opened(t, c))
	data := bytes.Repeat([]byte("part"), 100_000)
	if err := home.PutObject(t.Context(), "snapshot-a-0", data); err != nil {
		t.Fatal(err)
	}
	if got, err := home.Object(t.Context(), "snapshot-a-0"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("it has %d bytes, %v", len(got), err)
	}
	if err := home.DeleteObject(t.Context(), "snapshot-a-0"); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Object(t.Context(), "snapshot-a-0"); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("the removed object: %v", err)
	}
	if err := home.DeleteObject(t.Context(), "snapshot-a-0"); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("removed again: %v", err)
	}
	about, err := streamOf(t, server, "OBJ_mess_"+c.Site+"_blobs").Info(t.Context())
	if err != nil || about.State.Msgs != 0 {
		t.Errorf("the object store has %d messages, %v", about.State.Msgs, err)
	}
	if data, rev, err := home.Manifest(t.Context()); data != nil || rev != 0 || err != nil {
		t.Errorf("a new stream has the manifest %q at %d, %v", data, rev, err)
	}
	rev, err := home.SetManifest(t.Context(), []byte("one"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := home.SetManifest(t.Context(), []byte("late"), 0); !errors.Is(err, thread.ErrStale) {
		t.Errorf("a late writer: %v", err)
	}
	if _, err := home.SetManifest(t.Context(), []byte("two"), rev); err != nil {
		t.Error(err)
	}
	if data, _, err := home.Manifest(t.Context()); string(data) != "two" || err != nil {
		t.Errorf("the manifest is %q, %v", data, err)
	}
	if n, err := home.Count(t.Context(), rev); n != 1 || err != nil {
		t.Errorf("%d sequences after the first manifest, %v", n, err)
	}
}

// A store whose snapshot is of no use reads all steps, and says so.
func TestFeedWithoutUsableSnapshot(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{})
	for name, harm := range map[string]func(t *testing.T, c jetstream.Config, home snapshot.Home){
		"the manifest is damaged": func(t *testing.T, _ jetstream.Config, home snapshot.Home) {
			_, rev, err := home.Manifest(t.Context())
			if err == nil {
				_, err = home.SetManifest(t.Context(), []byte("{"), rev)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"the objects are gone": func(t *testing.T, c jetstream.Config, _ snapshot.Home) {
			if err := streamOf(t, server, "OBJ_mess_"+c.Site+"_blobs").Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := jetstream.WithSnapshotAfter(config(1, server), 5)
			c.AcceptLoss = true
			s := opened(t, c)
			for n := range 6 {
				if _, err := s.Append(t.Context(), storetest.Step(ref(n+1), "agent", "", storetest.Start)); err != nil {
					t.Fatal(err)
				}
			}
			if wrote, err := s.Snapshot(t.Context()); err != nil || !wrote {
				t.Fatal(wrote, err)
			}
			harm(t, c, jetstream.SnapshotHome(s))
			var log bytes.Buffer
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
			began, threads := time.Now(), 0
			if err := thread.ReadEnvelopes(t.Context(), opened(t, c), func(c thread.Change) error {
				if c.Envelope.Ref != "" {
					threads++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if threads != 6 || !strings.Contains(log.String(), "reads all steps instead") {
				t.Errorf("%d threads after %v, and the log is %s", threads, time.Since(began), log.String())
			}
		})
	}
}
