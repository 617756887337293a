package mqtt_test

import (
	"encoding/json"
	"slices"
	"strings"
)

// homeAssistant acts as Home Assistant: it knows only the messages that it reads.
type homeAssistant struct {
	*client
	id string // of the discovery topic
}

// connectHomeAssistant connects as Home Assistant does: with a birth, a will and the filters of
// its discovery.
func (h *harness) connectHomeAssistant(key string) *homeAssistant {
	h.Helper()
	o := login{id: "homeassistant", will: "homeassistant/status"}
	if key != "" {
		o.user, o.key = "homeassistant", key
	}
	p := h.connect(o).listen("homeassistant/status", "homeassistant/device/+/config", "homeassistant/switch/+/+/config")
	p.publish("homeassistant/status", "online")
	return &homeAssistant{p, "kitchen-pi"}
}

// object is a mapping of JSON.
type object = map[string]any

// config waits for a device payload for which ok returns true, and checks it against the documented
// schema.
func (a *homeAssistant) config(what string, ok func(object) bool) object {
	a.h.Helper()
	var all object
	a.waitFor("a device payload: "+what, func(r received) bool {
		if r.topic != "homeassistant/device/"+a.id+"/config" || json.Unmarshal([]byte(r.text), &all) != nil {
			return false
		}
		return a.latest(r.topic) == r.text && ok(all["cmps"].(object))
	})
	documented["root"].fits(a.h.T, "device", all)
	documented["dev"].fits(a.h.T, "dev", all["dev"].(object))
	documented["o"].fits(a.h.T, "o", all["o"].(object))
	ids := map[any]bool{}
	for key, c := range all["cmps"].(object) {
		c := c.(object)
		platform, _ := c["p"].(string)
		known, is := documented[platform]
		if !is {
			a.h.Errorf("%s: platform %q", key, platform)
		}
		known.fits(a.h.T, key, c)
		if ids[c["unique_id"]] {
			a.h.Errorf("%s: unique_id %v", key, c["unique_id"])
		}
		ids[c["unique_id"]] = true
		if t, has := c["command_topic"]; has && (t != root+"a/homeassistant/out" || c["retain"] != false) {
			a.h.Errorf("%s: commands go to %v, retained %v", key, t, c["retain"])
		}
	}
	return all
}

// latest returns the retained message of a topic.
func (a *homeAssistant) latest(topic string) string {
	got := a.received
	for _, r := range slices.Backward(got) {
		if r.topic == topic {
			return r.text
		}
	}
	return ""
}

// wantShown waits until an entity shows something.
func (a *homeAssistant) wantShown(topic, want string) {
	a.h.Helper()
	a.listen(topic)
	a.waitFor(topic+" shows "+want, func(received) bool { return a.shows(topic, want) })
}

func (a *homeAssistant) shows(topic, want string) bool {
	text := a.latest(topic)
	return text == want || strings.Contains(text, want) && strings.HasPrefix(text, "{")
}

// task returns the state of the task sensor.
func (a *homeAssistant) task() (o object) {
	a.h.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := json.Unmarshal([]byte(a.latest(shown+"task")), &o); err != nil {
		a.h.Fatal(err)
	}
	return o
}

// press has an entity send one of its payloads.
func (a *homeAssistant) press(key, field string) {
	a.h.Helper()
	c := a.config("can press "+key, func(cmps object) bool {
		c, ok := cmps[key].(object)
		text, _ := c[field].(string)
		return ok && text != ""
	})["cmps"].(object)[key].(object)
	a.publishWith(c["command_topic"].(string), c[field].(string), byte(c["qos"].(float64)), c["retain"].(bool))
}

// sendValue sends a value from an entity, as a command by its template. The template must contain one
// expression, the value, and nothing else that Home Assistant evaluates.
func (a *homeAssistant) sendValue(key, value string) {
	a.h.Helper()
	c := a.config("can say "+key, func(cmps object) bool {
		c, ok := cmps[key].(object)
		text, _ := c["command_template"].(string)
		return ok && text != ""
	})["cmps"].(object)[key].(object)
	before, after, one := strings.Cut(c["command_template"].(string), "{{ value | to_json }}")
	for _, part := range []string{before, after} {
		if !one || strings.Contains(part, "{{") || strings.Contains(part, "{%") || strings.Contains(part, "{#") {
			a.h.Errorf("%s: the template %s", key, c["command_template"])
		}
	}
	if options, is := c["options"].([]any); is && !slices.Contains(options, any(value)) {
		a.h.Errorf("%s: %q is none of %v", key, value, options)
	}
	text, _ := json.Marshal(value) // a string
	a.publishWith(c["command_topic"].(string), before+string(text)+after, byte(c["qos"].(float64)), c["retain"].(bool))
}

// available evaluates an entity's availability as Home Assistant does, with the
// templates that there are.
func (a *homeAssistant) available(key string) bool {
	a.h.Helper()
	all := a.config("has "+key, func(c object) bool { return c[key] != nil })
	list, own := all["cmps"].(object)[key].(object)["availability"].([]any)
	if !own {
		list = all["availability"].([]any)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range list {
		o := one.(object)
		text := a.latest(o["topic"].(string))
		var v struct{ State string }
		_ = json.Unmarshal([]byte(text), &v) // then it is not there
		switch t, _ := o["value_template"].(string); t {
		case "":
		case "{{ 'online' if value_json.state == 'ready' else 'offline' }}":
			text = map[bool]string{true: "online", false: "offline"}[v.State == "ready"]
		case "{{ 'offline' if value_json.state in ['lost', 'disconnected'] else 'online' }}":
			text = map[bool]string{false: "online", true: "offline"}[v.State == "lost" || v.State == "disconnected" || v.State == ""]
		default:
			a.h.Errorf("an unknown template: %s", t)
		}
		if text != "online" {
			return false
		}
	}
	return true
}
