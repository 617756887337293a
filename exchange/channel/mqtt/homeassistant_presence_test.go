package mqtt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
)

// A lost executor is unavailable, a lost device disappears, and the adapter clears the entities
// of an executor that has left. After Home Assistant's birth message it publishes everything
// again.
func TestHomeAssistantShowsPresence(t *testing.T) {
	h := newHarness(t, func(c *exchange.Config) { c.States = true }).enableHomeAssistant()
	h.serve()
	a := h.connectHomeAssistant("")
	a.id = "pi"
	a.listen(root+"x/status", root+"e/pi/status", root+"h/pi/task")
	pi := h.newExecutor("pi")
	a.config("its camera", func(c object) bool { return c["image"] != nil })
	h.eventually("it is available", func() bool { return a.available("image") })
	pi.publish(root+"e/pi/out", `{"id":"reg2","MESS":[{"config":{"executor":{"id":"pi","capabilities":["switch-on","switch-off"],"versions":["1.1.0"],"holding":[]}}}]}`)
	a.waitFor("the image is taken out", func(r received) bool {
		return strings.Contains(r.text, `"image":{"p":"image"}`)
	})
	a.config("a relay and no camera", func(c object) bool { return c["switch"] != nil && c["image"] == nil })
	pi.publish(root+"e/pi/status", `{"state":"lost","epoch":5}`)
	h.eventually("it is unavailable", func() bool { return !a.available("switch") && a.available("stop") })
	n := a.countOf("homeassistant/device/pi/config")
	a.publish("homeassistant/status", "offline")
	a.publish("homeassistant/status", "online")
	h.eventually("it is published again", func() bool { return a.countOf("homeassistant/device/pi/config") > n })
	pi.publishWith(root+"e/pi/status", "", 1, true)
	h.eventually("it is cleared", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.latest("homeassistant/device/pi/config") == "" && a.latest(root+"h/pi/task") == ""
	})
}

// countOf is how often something has come on a topic.
func (p *client) countOf(topic string) (n int) {
	for _, r := range p.all() {
		if r.topic == topic {
			n++
		}
	}
	return n
}

// Home Assistant shows an executor even if its id cannot be a topic, and two ids never as one
// device.
func TestHomeAssistantAndIDs(t *testing.T) {
	h := newHarness(t, func(c *exchange.Config) { c.States = true }).enableHomeAssistant()
	h.serve()
	a := h.connectHomeAssistant("")
	for _, id := range []string{"Kitchen.Pi", "Kitchen_Pi", "Kitchen-Pi"} {
		actor := exchange.Actor{ID: id, Roles: exchange.ExecutorRole | exchange.Requester}
		m, err := mess.Parse([]byte("config: {executor: {id: " + id + ", capabilities: [take-photo]}}"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.x.Post(t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m}); err != nil {
			t.Fatal(err)
		}
	}
	h.eventually("three devices", func() bool {
		seen := map[string]bool{}
		for _, r := range a.all() {
			if strings.HasPrefix(r.topic, "homeassistant/device/") {
				seen[r.topic] = true
			}
		}
		return len(seen) == 3 && seen["homeassistant/device/Kitchen_Pi/config"] && seen["homeassistant/device/Kitchen-Pi/config"]
	})
	for _, r := range a.all() {
		if strings.HasPrefix(r.topic, "homeassistant/device/") && !discoveryTopic.MatchString(r.topic) {
			t.Errorf("%s cannot be a topic of Home Assistant", r.topic)
		}
	}
	a.id = "Kitchen_Pi"
	a.listen(root+"x/status", root+"h/Kitchen_Pi/status")
	h.eventually("it is available", func() bool { return a.available("image") })
}

// hangingStore is a store that hangs when it creates a thread.
type hangingStore struct {
	exchange.Store
	hangs chan struct{}
}

func (s hangingStore) Append(ctx context.Context, step exchange.Step) (thread.Rev, error) {
	if step.After != "" {
		return s.Store.Append(ctx, step)
	}
	select {
	case <-s.hangs:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return s.Store.Append(ctx, step)
}

// A stop does not wait for the commands before it, even if the store hangs.
func TestStopIsNotDelayedByCommands(t *testing.T) {
	for name, outside := range map[string]bool{"embedded": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			store := hangingStore{memory.New(), make(chan struct{})}
			h := newHarnessOver(t, store, func(c *exchange.Config) { c.States = true }).enableHomeAssistant()
			if outside {
				m := h.addMosquitto("allow_anonymous true\n")
				m.startAdapter(broker.Address{})
			} else {
				h.serve()
			}
			defer close(store.hangs)
			m, err := mess.Parse([]byte("config: {executor: {id: pi, capabilities: [take-photo]}}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.x.Post(t.Context(), exchange.Inbound{Actor: exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}, Channel: "test", Message: m}); err != nil {
				t.Fatal(err)
			}
			a := h.connectHomeAssistant("")
			a.id = "pi"
			for range 5 {
				a.press("photo", "payload_press")
			}
			a.press("stop", "payload_press")
			h.eventually("the stop is passed on", func() bool { return len(h.x.Executors()[0].UnconfirmedStops) == 1 })
		})
	}
}

// Without Home Assistant in the configuration, nothing of an earlier run stays at a broker that
// keeps retained messages.
func TestDisabledHomeAssistantIsCleared(t *testing.T) {
	m := newHarness(t, func(c *exchange.Config) { c.States = true }).enableHomeAssistant().addMosquitto("allow_anonymous true\n")
	m.startAdapter(broker.Address{})
	m.send(exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}, "config: {executor: {id: pi, capabilities: [take-photo, open, close]}}")
	m.send(exchange.Actor{ID: "Pi.2", Roles: exchange.ExecutorRole}, "config: {executor: {id: Pi.2, capabilities: [take-photo]}}")
	lies := func(p *client) (all []string) {
		for _, r := range p.all() {
			if p.latestOn(r.topic) != "" && (strings.HasPrefix(r.topic, "homeassistant/device/") || strings.HasPrefix(r.topic, root+"h/") || strings.Contains(r.text, `"by":"exchange"`)) {
				all = append(all, r.topic)
			}
		}
		return all
	}
	reads := func(p *client) *client {
		return p.listen("homeassistant/#", root+"h/#", root+"e/+/status", root+"x/status")
	}
	a := reads(m.connect(login{id: "watch"}))
	m.eventually("both are shown", func() bool {
		shown := strings.Join(lies(a), " ")
		return strings.Contains(shown, "h/pi/cover") && strings.Contains(shown, "h/pi/writes") && strings.Contains(shown, "e/pi/status") && strings.Count(shown, "homeassistant/device/") >= 2
	})
	m.close()
	m.home = false
	m.startAdapter(broker.Address{})
	m.eventually("nothing is left", func() bool { return len(lies(a)) == 0 })
	late := reads(m.connect(login{id: "late"}))
	late.waitForText("ready")
	if left := lies(late); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	m.close()
	m.home = true
	m.startAdapter(broker.Address{})
	m.eventually("it is shown again", func() bool { return strings.Contains(strings.Join(lies(a), " "), "h/pi/cover") })
}

// latestOn returns the retained message of a topic.
func (p *client) latestOn(topic string) (text string) {
	for _, r := range p.all() {
		if r.topic == topic {
			text = r.text
		}
	}
	return text
}

// A drained executor on another channel appears as drained, with its running tasks.
func TestHomeAssistantShowsDrainedExecutor(t *testing.T) {
	h := newHarness(t, func(c *exchange.Config) { c.States = true }).enableHomeAssistant()
	h.serve()
	h.send(exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}, "config: {executor: {id: pi, capabilities: [take-photo]}}")
	a := h.connectHomeAssistant("").listen(root + "e/pi/status")
	h.eventually("it is ready", func() bool { return strings.Contains(a.latestOn(root+"e/pi/status"), `"ready"`) })
	boss := exchange.Actor{ID: "boss", Roles: exchange.Operator}
	h.send(boss, "config: {hold: {executors: [pi]}}")
	h.eventually("it is held", func() bool { return strings.Contains(a.latestOn(root+"e/pi/status"), `"held"`) })
	h.send(boss, "config: {resume: {executors: [pi]}}")
	h.eventually("it is ready again", func() bool { return strings.Contains(a.latestOn(root+"e/pi/status"), `"ready"`) })
}
