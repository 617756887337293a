package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/strictyaml"
)

// The example configuration has no errors and contains every key.
func TestExampleConfigurationIsComplete(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	c, err := daemon.LoadConfig("../../internal/config/example.yaml", output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent.ID != "kitchen-pi" || c.Agent.Limits.MaxOn != 12*time.Hour || len(c.Opened.Devices) != 4 {
		t.Errorf("%+v", c.Agent)
	}
	text, err := os.ReadFile("../../internal/config/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"exchange", "connect", "agent", "devices"} {
		if !strings.Contains(string(text), "\n"+key+":") && !strings.Contains(string(text), "# "+key+":") {
			t.Errorf("%s is not in the example", key)
		}
	}
	var c2 config.Config
	for _, part := range []any{c2, config.Exchange{}, config.Connect{}, config.Agent{}, config.DeviceConfig{}, config.DeviceConfig{}.Limits, config.RoutingRule{}, config.MQTT{}} {
		for _, key := range strictyaml.Keys(part) {
			if !strings.Contains(string(text), key+":") {
				t.Errorf("%s (of %T) is not in the example", key, part)
			}
		}
	}
}

func TestSimulatedHomeIsBuiltIn(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	c, err := daemon.LoadConfig("", output.NoLog)
	if err != nil || len(c.Opened.Devices) != 43 || c.Exchange.Listen != "127.0.0.1:8420" {
		t.Errorf("%+v, %v", c, err)
	}
}
