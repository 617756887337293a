package mqttdevice_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/drivers/template"
	"github.com/messkit/messkit/drivers/template/templatetest"
)

// documented is the content of testdata/documented.yaml.
type documented struct {
	Families []struct {
		Family, Source  string
		With            map[string]string
		Online, Offline message
		Holds           []message // retained messages of the device
		Steps           []step
	}
}

type step struct {
	Do, Want        string
	Receives, Sends []message
}

type message struct {
	Topic, Payload string
	Retain         bool
	Sends          []message // the answer, if it differs from that of the step
}

// same compares a payload with the documented one, as JSON if possible.
func (m message) same(topic string, payload []byte) bool {
	if m.Topic != topic {
		return false
	}
	var want, got any
	if json.Unmarshal([]byte(m.Payload), &want) == nil && json.Unmarshal(payload, &got) == nil {
		return reflect.DeepEqual(want, got)
	}
	return m.Payload == string(payload)
}

// scripted is a documented device: it answers as in the step, and accepts no other
// message.
type scripted struct {
	mochi.HookBase
	b *broker

	mu       sync.Mutex
	now      step
	received []bool         // received messages of now.Receives
	others   []string       // other received messages
	changed  drivers.Signal // a message has arrived
}

func (s *scripted) ID() string           { return "scripted" }
func (s *scripted) Provides(b byte) bool { return b == mochi.OnPublished }

func (s *scripted) OnPublished(c *mochi.Client, p packets.Packet) {
	if c.Net.Inline {
		return
	}
	s.mu.Lock()
	known, replies := false, s.now.Sends
	for i, m := range s.now.Receives {
		if m.same(p.TopicName, p.Payload) {
			known, s.received[i] = true, true
			if m.Sends != nil {
				replies = m.Sends
			}
		}
	}
	if !known {
		s.others = append(s.others, fmt.Sprintf("%s %q", p.TopicName, p.Payload))
	}
	s.mu.Unlock()
	s.changed.Notify()
	if known {
		s.send(replies...)
	}
}

func (s *scripted) send(all ...message) {
	for _, m := range all {
		_ = s.b.Publish(m.Topic, []byte(m.Payload), m.Retain, 1) // an inline publish fails only in a closed broker
	}
}

// begin sets the present step; end reports differences from the documentation.
func (s *scripted) begin(now step) {
	s.mu.Lock()
	s.now, s.received, s.others = now, make([]bool, len(now.Receives)), nil
	s.mu.Unlock()
	if len(now.Receives) == 0 {
		s.send(now.Sends...)
	}
}

func (s *scripted) end() (wrong []string) {
	s.awaitAll() // messages may be under way
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.now.Receives {
		if !s.received[i] {
			wrong = append(wrong, fmt.Sprintf("missing message %s %q", m.Topic, m.Payload))
		}
	}
	for _, other := range s.others {
		wrong = append(wrong, "undocumented message "+other)
	}
	return wrong
}

// awaitAll returns when the driver has sent each message of the step, or after patience.
func (s *scripted) awaitAll() {
	late := time.After(patience)
	for {
		changed := s.changed.Changes()
		s.mu.Lock()
		all := !slices.Contains(s.received, false)
		s.mu.Unlock()
		if all {
			return
		}
		select {
		case <-changed:
		case <-late:
			return
		}
	}
}

// rows returns the steps that each template must pass.
func rows(one mqttdevice.Template) (list []string) {
	if s := one.Switch; s != nil {
		list = append(list, "on", "off")
		for verb, has := range map[string]bool{"on_for": s.OnFor != nil, "dim": s.Dim != nil, "level": s.Dim != nil && s.White == nil, "tint": s.Tint != nil, "colour": s.Tint != nil, "warm": s.White != nil, "warmth": s.White != nil} {
			if has {
				list = append(list, verb)
			}
		}
	}
	if one.Cover != nil {
		list = append(list, "open", "close", "to", "stop", "opening")
	}
	if len(one.Readings) > 0 {
		list = append(list, "read")
	}
	return list
}

// TestDocumentedMessages compares each verb of each template with the documentation of its
// devices: the messages in both directions.
func TestDocumentedMessages(t *testing.T) {
	data, err := os.ReadFile("testdata/documented.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all documented
	if err := yaml.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	held := map[string][]string{}
	for i, one := range all.Families {
		for _, s := range one.Steps {
			verb, _, _ := strings.Cut(s.Do, " ")
			held[one.Family] = append(held[one.Family], verb)
		}
		t.Run(fmt.Sprintf("%s-%d", one.Family, i), func(t *testing.T) {
			t.Parallel() // these tests mostly wait
			b := newBroker(t, nil)
			s := &scripted{b: b}
			if err := b.AddHook(s, nil); err != nil {
				t.Fatal(err)
			}
			one.Online.Retain = true // the broker retains a will
			s.send(append(one.Holds, one.Online)...)
			with, err := json.Marshal(one.With) // JSON is valid YAML
			if err != nil || one.Source == "" {
				t.Fatal(err, "the source is ", one.Source)
			}
			d := started(t, "family: "+one.Family+"\nbroker: "+b.address+"\ntimeout: 1m\nwith: "+string(with)+"\n"+map[bool]string{true: "safe: keep\n"}[switches(one.Family)])
			for _, now := range one.Steps {
				s.begin(now)
				got, err := templatetest.Do(t.Context(), d, now.Do)
				for end := time.Now().Add(patience); len(now.Receives) == 0 && got != now.Want && time.Now().Before(end); { // messages need a moment
					got, err = templatetest.Do(t.Context(), d, now.Do)
				}
				if err != nil || got != now.Want {
					t.Errorf("%s: %q, %v; want %q", now.Do, got, err, now.Want)
				}
				for _, wrong := range s.end() {
					t.Errorf("%s: %s", now.Do, wrong)
				}
			}
			if one.Offline.Topic == "" {
				return
			}
			s.begin(one.Steps[slices.IndexFunc(one.Steps, func(s step) bool { return s.Do == "is" })]) // until the state arrives
			s.send(one.Offline)
			for end := time.Now().Add(patience); time.Now().Before(end); { // the state arrives after a moment
				if _, err = templatetest.Do(t.Context(), d, "is"); err != nil {
					break
				}
			}
			if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "the device is offline") {
				t.Errorf("offline: %v", err)
			}
		})
	}
	for _, name := range template.Names(mqttdevice.Families(), "") {
		var one mqttdevice.Template
		if err := template.Load(mqttdevice.Families(), "", name, &one); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows(one) {
			if !slices.Contains(held[name], row) {
				t.Errorf("%s: nothing documented is held against %q", name, row)
			}
		}
	}
}

// switches reports whether a family has a switch.
func switches(name string) bool {
	var one mqttdevice.Template
	return template.Load(mqttdevice.Families(), "", name, &one) == nil && one.Switch != nil
}
