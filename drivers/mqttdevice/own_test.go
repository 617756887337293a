package mqttdevice_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

// The example of the documentation reads the retained state of an ESPHome sensor: a number
// as it is, and nan, the state before the first measurement, as no number.
func TestDocumentedSensorExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/drivers/mqttdevice.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\nabout: temperature sensors of ESPHome\n")
	template, _, _ := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no such example")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "esphome-sensor.yaml"), []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	for payload, want := range map[string]string{"11.5": "", "nan": `the device reports "nan", which is not a number`} {
		b := newBroker(t, nil)
		for topic, message := range map[string]string{"cellar/status": "online", "cellar/sensor/temperature/state": payload} {
			if err := b.Publish(topic, []byte(message), true, 1); err != nil {
				t.Fatal(err)
			}
		}
		d := started(t, "family: esphome-sensor\nbroker: "+b.address+"\ntimeout: 1m\nfamilies: "+dir+"\nwith: {name: cellar}")
		got, err := d.(drivers.Sensor).Read(t.Context())
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, %v", payload, got, err)
		case want == "" && (err != nil || len(got) != 1 || got[0].Value != 11.5 || got[0].Unit != "°C"):
			t.Errorf("%s: %+v, %v", payload, got, err)
		}
	}
}
