package natsstore_test

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/config/natsstore"
	"github.com/messkit/messkit/internal/strictyaml"
)

// read reads the value of store: in a file.
func read(t *testing.T, text string) (*natsstore.Settings, error) {
	t.Helper()
	var file struct {
		Store strictyaml.Node `yaml:"store"`
		Other int             `yaml:"other"`
	}
	if err := strictyaml.Decode("f.yaml", []byte(text), &file); err != nil {
		t.Fatal(err)
	}
	return natsstore.Read(file.Store, func(name string) string { return name })
}

func TestSettingsOfTheStore(t *testing.T) {
	none := jetstream.Config{Client: "home", Site: "home", Replicas: 3}
	for text, want := range map[string]func(*jetstream.Config){
		"store: nats://127.0.0.1:4222": func(c *jetstream.Config) {
			c.URLs, c.Monitors = []string{"nats://127.0.0.1:4222"}, []string{"http://127.0.0.1:8222"}
		},
		"store: 'nats://127.0.0.1, nats://[::1]:5222'": func(c *jetstream.Config) {
			c.URLs, c.Monitors = []string{"nats://127.0.0.1", "nats://[::1]:5222"}, []string{"http://127.0.0.1:8222", "http://[::1]:8222"}
		},
		"store: {url: 'tls://n1:4222', replicas: 1, site: attic, prefix: p, sync: always}": func(c *jetstream.Config) {
			c.URLs, c.Replicas, c.Site, c.Prefix, c.SyncAlways = []string{"tls://n1:4222"}, 1, "attic", "p", true
		},
		"store: {url: 'nats://n1', insecure: true, monitor: ['http://n1:1'], accept_loss: true}": func(c *jetstream.Config) {
			c.URLs, c.Monitors, c.AcceptLoss = []string{"nats://n1"}, []string{"http://n1:1"}, true
		},
	} {
		s, err := read(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		c := none
		want(&c)
		if diff := cmp.Diff(c, s.Config("home", nil), cmpopts.IgnoreTypes(&slog.Logger{}), cmpopts.IgnoreUnexported(jetstream.Config{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if s, err := read(t, "other: 1"); s != nil || err != nil {
		t.Errorf("without store: %+v", s)
	}
}
