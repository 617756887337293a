package homeassistant

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// Topics of Home Assistant's MQTT integration ("MQTT discovery" and "Birth and last will
// messages"), with its default prefix.
const (
	prefix     = "homeassistant/"
	BirthTopic = prefix + "status"
)

// Actor is the id of Home Assistant as a requester.
const Actor = "homeassistant"

// How long a request of Home Assistant waits for its executor. Nobody wants the effect of a
// button an hour later.
const (
	tapTime   = "PT2M"
	cleanTime = "PT5M"
)

// DiscoveryTopic returns the topic of an executor's discovery payload.
func DiscoveryTopic(slug string) string { return prefix + "device/" + slug + "/config" }

// slugOf returns an id with the characters of Home Assistant's topics only: letters, digits, _
// and -. Two ids never have the same slug.
func slugOf(id string) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	if s == id && topic.ValidName(id) && len(id) <= 64 {
		return s
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return fmt.Sprintf("x%.40s-%08x", s, h.Sum32())
}

// entity is an entity of Home Assistant.
type entity struct {
	key      string // in the discovery payload
	platform string
	device   string // of the executor; "" for the executor itself
	config   mess.Object
}

// executorView is the state of one executor for Home Assistant.
type executorView struct {
	exchange string
	root     topic.Root
	version  string
	info     exchange.ExecutorInfo
	activity activity // its threads
	at       time.Time
	removed  map[string]string // entities that no longer exist, with their platforms
}

func (a executorView) slug() string { return slugOf(a.info.ID) }

// topic returns the topic of one state of the executor.
func (a executorView) topic(name string) string { return a.root.Home(a.slug(), name) }

// statusTopic returns the topic of an executor's status. If the id cannot be part of a topic,
// it lies among the states.
func statusTopic(r topic.Root, id string) string {
	if topic.ValidID(id) {
		return r.Executor(id, topic.Status)
	}
	return r.Home(slugOf(id), string(topic.Status))
}

// payload returns the discovery payload (Home Assistant, "Device discovery payload").
func (a executorView) payload() []byte {
	id := "messkit_" + a.exchange + "_" + a.slug()
	o := func(fields ...any) mess.Object { return object(fields...) }
	cmps := mess.Object{}
	for _, e := range a.entities() {
		c := o("p", e.platform, "unique_id", id+"_"+e.key)
		cmps = append(cmps, mess.Field{Key: e.key, Value: append(c, e.config...)})
	}
	for _, key := range sortedKeys(a.removed) { // Home Assistant removes an entity with only a platform
		if _, is := cmps.Get(key); !is {
			cmps = append(cmps, mess.Field{Key: key, Value: o("p", a.removed[key])})
		}
	}
	all := o(
		"dev", o("identifiers", []any{id}, "name", cmp.Or(a.info.Name, titleName(a.info.ID)), "manufacturer", "messkit", "model", "MESS executor", "sw_version", a.version),
		"o", o("name", "messkit", "sw_version", a.version),
		"availability", []any{a.exchangeAvailability(), a.executorAvailability()},
		"availability_mode", "all",
		"cmps", cmps,
	)
	text, _ := all.MarshalJSON() // cannot fail: plain values
	return text
}

// Templates of the discovery payload.
const (
	exchangeIs = "{{ 'online' if value_json.state == 'ready' else 'offline' }}"
	executorIs = "{{ 'offline' if value_json.state in ['lost', 'disconnected'] else 'online' }}"
	stateIs    = "{{ value_json.state }}"
)

func (a executorView) exchangeAvailability() mess.Object {
	return object("topic", a.root.Exchange(), "value_template", exchangeIs)
}

func (a executorView) executorAvailability() mess.Object {
	return object("topic", statusTopic(a.root, a.info.ID), "value_template", executorIs)
}

// entities returns the entities of the devices, and then those of the executor itself.
func (a executorView) entities() []entity {
	var list []entity
	can := func(capability string) []string { return devicesOf(a.info, capability) }
	for _, d := range can("switch-on") {
		if slices.Contains(can("switch-off"), d) {
			list = append(list, a.switchEntity(d))
		}
	}
	for _, d := range can("take-photo") {
		list = append(list, a.imageEntity(d), a.photoButton(d))
	}
	for _, d := range can("vacuum-floor") {
		list = append(list, a.vacuumEntity(d))
	}
	for _, d := range can("lock") {
		if a.can("unlock", d) {
			list = append(list, a.lockEntity(d))
		}
	}
	for _, d := range eitherDevices(can("open"), can("close")) {
		list = append(list, a.coverEntity(d))
	}
	return append(list, a.taskSensor(), a.stopSensor(), a.stopButton(), a.acceptButton(), a.rejectButton(), a.chooseSelect(), a.writeText(), a.cancelButton())
}

// can reports whether the executor has a capability for a device.
func (a executorView) can(capability, device string) bool {
	return slices.Contains(devicesOf(a.info, capability), device)
}

// eitherDevices returns the devices of two lists without duplicates.
func eitherDevices(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// command adds the command topic of an entity: the same topic that every requester has. Home
// Assistant sends commands once and without retain.
func (a executorView) command(o mess.Object) mess.Object {
	return append(o, object("command_topic", a.root.Agent(Actor, topic.Out), "qos", 0, "retain", false)...)
}

func (a executorView) switchEntity(d string) entity {
	key := keyOf("switch", d)
	return entity{key, "switch", d, a.command(object(
		"name", label(d, "Switch"), "state_topic", a.topic(key), "state_on", "ON", "state_off", "OFF",
		"payload_on", a.requestPayload("turn on "+spokenName(d), "switch-on", d, tapTime),
		"payload_off", a.requestPayload("turn off "+spokenName(d), "switch-off", d, tapTime),
	))}
}

func (a executorView) imageEntity(d string) entity {
	key := keyOf("image", d)
	return entity{key, "image", d, object("name", label(d, "Picture"), "image_topic", a.topic(key), "content_type", "image/jpeg")}
}

func (a executorView) photoButton(d string) entity {
	text := "take a picture"
	if d != "" {
		text += " with " + spokenName(d)
	}
	return entity{keyOf("photo", d), "button", d, a.command(object(
		"name", strings.TrimSpace(label(d, "")+" take a picture"), "icon", "mdi:camera", "payload_press", a.requestPayload(text, "take-photo", d, tapTime),
	))}
}

// taskSensor shows the current task and its question.
func (a executorView) taskSensor() entity {
	return entity{"task", "sensor", "", object(
		"name", "Task", "icon", "mdi:clipboard-text", "state_topic", a.topic("task"), "value_template", stateIs, "json_attributes_topic", a.topic("task"),
	)}
}

// stopSensor shows whether a stop of the executor is in force.
func (a executorView) stopSensor() entity {
	return entity{"standing", "sensor", "", object(
		"name", "Stop", "icon", "mdi:octagon-outline", "device_class", "enum", "options", []any{running, stopping, stopped},
		"state_topic", a.topic("standing"), "value_template", stateIs, "json_attributes_topic", a.topic("standing"),
		"availability", []any{a.exchangeAvailability()}, "availability_mode", "all",
	)}
}

// stopButton is available even if the executor is not: the executor gets the stop when it
// connects.
func (a executorView) stopButton() entity {
	order := object("MESS", []any{object("config", object("stop", object("why", "the stop button in Home Assistant", "executors", []any{a.info.ID})))})
	return entity{"stop", "button", "", a.command(object(
		"name", "Stop everything", "icon", "mdi:stop-circle", "payload_press", jsonText(order), "availability", []any{a.exchangeAvailability()}, "availability_mode", "all",
	))}
}

// cancelButton cancels the newest request of Home Assistant.
func (a executorView) cancelButton() entity {
	press := ""
	if t := a.activity.ownTask(a.at); t != nil {
		press = cancelMessage(t)
	}
	return entity{"cancel", "button", "", a.button("Cancel the task", "mdi:cancel", "works", press)}
}

// button returns a button that is available only while the topic while says so.
func (a executorView) button(name, icon, while, press string) mess.Object {
	return a.command(object("name", name, "icon", icon, "payload_press", press,
		"availability", []any{a.exchangeAvailability(), object("topic", a.topic(while))}, "availability_mode", "all"))
}

// requestIfCapable returns a request to this executor as a payload, or nil if the executor
// lacks the capability.
func (a executorView) requestIfCapable(intent, capability, device, within string) any {
	if !a.can(capability, device) {
		return nil
	}
	return a.requestPayload(intent, capability, device, within)
}

// requestPayload returns a request to this executor as a payload.
func (a executorView) requestPayload(intent, capability, device, within string) string {
	meta := object("executor", a.info.ID)
	if device != "" {
		meta = meta.Set("devices", []any{device})
	}
	return jsonText(object("MESS", []any{object("request", object(
		"intent", intent, "requires", []any{object(capability, meta)}, "constraints", object("timing", object("expires", within)),
	))}))
}

// devicesOf returns the devices that have a capability. It returns one device without a name if
// the executor has named none.
func devicesOf(info exchange.ExecutorInfo, capability string) []string {
	for _, c := range info.Capabilities {
		if c.ID != capability {
			continue
		}
		meta, _ := c.Meta.(mess.Object)
		v, _ := meta.Get("devices")
		list, _ := v.([]any)
		var names []string
		for _, one := range list {
			if name, ok := one.(string); ok && name != "" {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			names = []string{""}
		}
		return names
	}
	return nil
}

// classOf returns the class of a device, or "".
func classOf(info exchange.ExecutorInfo, capability, device string) string {
	for _, c := range info.Capabilities {
		if meta, ok := c.Meta.(mess.Object); ok && c.ID == capability {
			v, _ := meta.Get("classes")
			classes, _ := v.(mess.Object)
			return classes.Text(device)
		}
	}
	return ""
}

// keyOf returns the key of an entity for a device.
func keyOf(kind, device string) string {
	if device == "" {
		return kind
	}
	return kind + "-" + slugOf(device)
}

// spokenName returns the name of a device for a sentence.
func spokenName(device string) string {
	if device == "" {
		return "it"
	}
	return "the " + strings.Join(strings.FieldsFunc(device, func(r rune) bool { return r == '-' || r == '_' }), " ")
}

// titleName returns a name as a title.
func titleName(name string) string {
	s := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' }), " ")
	return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):]
}

func label(device, otherwise string) string { return cmp.Or(titleName(device), otherwise) }

// object makes an object of alternating keys and values.
func object(fields ...any) mess.Object {
	o := make(mess.Object, 0, len(fields)/2)
	for i := 0; i < len(fields); i += 2 {
		o = append(o, mess.Field{Key: fields[i].(string), Value: fields[i+1]})
	}
	return o
}

func jsonText(o mess.Object) string {
	text, _ := o.MarshalJSON() // cannot fail: plain values
	return string(text)
}
