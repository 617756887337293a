package homeassistant

import (
	"cmp"
	"slices"

	"github.com/messkit/messkit/mess"
)

// unknown is the unknown state of Home Assistant's switches, covers and locks.
const unknown = "None"

// relayState converts a state for Home Assistant's switch.
func relayState(s string) string {
	switch s {
	case "on":
		return "ON"
	case "off":
		return "OFF"
	}
	return unknown
}

// oneOf returns s if it is one of words, which the configuration declares, and unknown
// otherwise.
func oneOf(s string, words ...string) string {
	if slices.Contains(words, s) {
		return s
	}
	return unknown
}

// vacuumState converts a state for Home Assistant's vacuum, where null means unknown.
func vacuumState(s string) any {
	switch s {
	case "docked", "cleaning", "paused", "returning", "idle":
		return s
	}
	return nil
}

func coverState(s string) string { return oneOf(s, "open", "closed", "opening", "closing") }

func lockState(s string) string { return oneOf(s, "locked", "unlocked", "locking", "unlocking") }

// deviceState returns the state that the executor has reported for a device, or "".
func (a executorView) deviceState(device string) string {
	for _, s := range a.info.States {
		if s.Device == device {
			return s.State
		}
	}
	return ""
}

// deviceOr returns the name of a device for a sentence.
func deviceOr(device, otherwise string) string {
	if device == "" {
		return otherwise
	}
	return spokenName(device)
}

// vacuumEntity resumes a paused vacuum, and starts any other.
func (a executorView) vacuumEntity(d string) entity {
	key := keyOf("vacuum", d)
	it := deviceOr(d, "the vacuum")
	features := []any{"start", "status"}
	start := a.requestPayload("vacuum the floor", "vacuum-floor", d, cleanTime)
	if d != "" {
		start = a.requestPayload("start "+it, "vacuum-floor", d, cleanTime)
	}
	if on, can := a.requestIfCapable("resume "+it, "resume-vacuum", d, tapTime).(string); can && a.deviceState(d) == "paused" {
		start = on
	}
	config := object("name", label(d, "Vacuum"), "state_topic", a.topic(key), "payload_start", start)
	for _, more := range []struct{ feature, payload, intent, capability, within string }{
		{"pause", "payload_pause", "pause " + it, "pause-vacuum", tapTime},
		{"stop", "payload_stop", "stop " + it, "stop-vacuum", tapTime},
		{"clean_spot", "payload_clean_spot", "spot clean with " + it, "spot-vacuum", cleanTime},
		{"return_home", "payload_return_to_base", "send " + it + " home", "dock-vacuum", cleanTime},
	} {
		if order := a.requestIfCapable(more.intent, more.capability, d, more.within); order != nil {
			features = append(features, more.feature)
			config = config.Set(more.payload, order)
		}
	}
	return entity{key, "vacuum", d, a.command(config.Set("supported_features", features))}
}

// lockEntity is a lock that can lock and unlock: Home Assistant has no other kind.
func (a executorView) lockEntity(d string) entity {
	key := keyOf("lock", d)
	it := deviceOr(d, "the lock")
	return entity{key, "lock", d, a.command(object(
		"name", label(d, "Lock"), "state_topic", a.topic(key), "payload_reset", unknown,
		"state_locked", "locked", "state_unlocked", "unlocked", "state_locking", "locking", "state_unlocking", "unlocking",
		"payload_lock", a.requestPayload("lock "+it, "lock", d, tapTime), "payload_unlock", a.requestPayload("unlock "+it, "unlock", d, tapTime),
	))}
}

// coverClasses maps classes of devices to those of Home Assistant's covers.
var coverClasses = map[string]string{"blind": "blind", "door": "door", "garage-door": "garage", "gate": "gate", "window": "window"}

// coverEntity is a door, a blind or a valve. Its stop button cancels a movement that Home
// Assistant has requested. For a movement of another requester only the stop of everything
// helps.
func (a executorView) coverEntity(d string) entity {
	key := keyOf("cover", d)
	it := deviceOr(d, "the cover")
	var stop any
	if w := a.activity.coverMovement(d, a.at); w != nil {
		stop = cancelMessage(w)
	}
	config := object(
		"name", label(d, "Cover"), "state_topic", a.topic(key),
		"state_open", "open", "state_closed", "closed", "state_opening", "opening", "state_closing", "closing",
		"payload_open", a.requestIfCapable("open "+it, "open", d, tapTime), "payload_close", a.requestIfCapable("close "+it, "close", d, tapTime), "payload_stop", stop,
	)
	if class := coverClasses[cmp.Or(classOf(a.info, "open", d), classOf(a.info, "close", d))]; class != "" {
		config = config.Set("device_class", class)
	}
	return entity{key, "cover", d, a.command(config)}
}

// cancelling returns the message that cancels a request.
func cancelMessage(w *openTask) string {
	return jsonText(object("MESS", []any{object("cancel", object("re", w.envelope.Ref))}))
}

// stateText returns the state of an entity in Home Assistant's form. It returns false for an
// entity without a state.
func (a executorView) stateText(e entity) (string, bool) {
	switch s := a.deviceState(e.device); e.platform {
	case "switch":
		return relayState(s), true
	case "cover":
		return coverState(s), true
	case "lock":
		return lockState(s), true
	case "vacuum":
		return jsonText(mess.Object{{Key: "state", Value: vacuumState(s)}}), true
	}
	return "", false
}
