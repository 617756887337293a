package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/fleet"
)

func TestInvalidFleetIsRejected(t *testing.T) {
	if err := fleet.DefaultConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*fleet.Config)
		want   string // "": it can be
	}{
		"no executor":                  {func(c *fleet.Config) { c.Executors = 0 }, "--executors: 0 is not from 1"},
		"too many executors":           {func(c *fleet.Config) { c.Executors = 1e6 }, "--executors: 1000000 is not from 1"},
		"no requests":                  {func(c *fleet.Config) { c.Rate = 0 }, "--rate: 0 is not above 0"},
		"too short":                    {func(c *fleet.Config) { c.For = time.Millisecond }, "--for: 1ms is not from 1s"},
		"another protocol":             {func(c *fleet.Config) { c.Protocol = "xmpp" }, "write http, mqtt or both"},
		"no competing executors":       {func(c *fleet.Config) { c.Compete = 0 }, "--compete: 0"},
		"heartbeats without a pause":   {func(c *fleet.Config) { c.Heartbeat = 1 }, "--heartbeat: 1ns is too short"},
		"no connections":               {func(c *fleet.Config) { c.Connections = 0 }, "--connections: 0"},
		"quiet executors elsewhere":    {func(c *fleet.Config) { c.URLs, c.Heartbeat = []string{"http://127.0.0.1:8420"}, 0 }, "--heartbeat: without heartbeats"},
		"this machine":                 {func(c *fleet.Config) { c.URLs = []string{"http://127.0.0.1:8420"} }, ""},
		"this machine by name":         {func(c *fleet.Config) { c.URLs = []string{"http://localhost:8420"} }, ""},
		"this machine over IPv6":       {func(c *fleet.Config) { c.URLs = []string{"http://[::1]:8420"} }, ""},
		"another machine":              {func(c *fleet.Config) { c.URLs = []string{"http://192.0.2.1:8420"} }, "192.0.2.1 is another machine"},
		"a name that looks like ours":  {func(c *fleet.Config) { c.URLs = []string{"http://127.0.0.1.evil.example:8420"} }, "is another machine"},
		"one node on another machine":  {func(c *fleet.Config) { c.URLs = []string{"http://127.0.0.1:8420", "http://192.0.2.1:8420"} }, "192.0.2.1 is another machine"},
		"another machine that is mine": {func(c *fleet.Config) { c.URLs, c.OwnsExchange = []string{"http://192.0.2.1:8420"}, true }, ""},
		"a broker on another machine": {func(c *fleet.Config) {
			c.URLs, c.Broker, c.Protocol = []string{"http://127.0.0.1:8420"}, "mqtt://192.0.2.1:1883", fleet.Both
		}, "--broker: 192.0.2.1 is another machine"},
		"no broker":    {func(c *fleet.Config) { c.URLs, c.Protocol = []string{"http://127.0.0.1:8420"}, fleet.MQTT }, "--broker: is missing"},
		"no address":   {func(c *fleet.Config) { c.URLs = []string{"nowhere"} }, "is not an address"},
		"without port": {func(c *fleet.Config) { c.URLs = []string{"http://127.0.0.1"} }, "is not an address"},
	} {
		one := fleet.DefaultConfig()
		c.change(&one)
		err := one.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
