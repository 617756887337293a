package mqtt_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The keys of a discovery payload, whether they are mandatory, and their values. They come from
// the schemas of Home Assistant's integration, in the folder homeassistant/components/mqtt of
// its repository (home-assistant/core). The files schemas.py and discovery.py describe the device,
// abbreviations.py p, dev, o and cmps, and {platform}.py each platform.

// kind checks the value of a key.
type kind func(any) bool

var (
	discoveryTopic = regexp.MustCompile(`^homeassistant/device/[a-zA-Z0-9_-]+/config$`) // discovery.py: TOPIC_MATCHER
	iconName       = regexp.MustCompile(`^mdi:[a-z0-9-]+$`)
)

func isText(v any) bool     { s, ok := v.(string); return ok && s != "" }
func mayBeText(v any) bool  { _, ok := v.(string); return ok }
func isNullable(v any) bool { return v == nil || isText(v) }
func isBool(v any) bool     { _, ok := v.(bool); return ok }
func isIcon(v any) bool     { s, _ := v.(string); return iconName.MatchString(s) }
func isMode(v any) bool     { return v == "all" || v == "any" || v == "latest" }
func isQoS(v any) bool      { return v == 0.0 || v == 1.0 || v == 2.0 }
func isTextMax(v any) bool  { n, ok := v.(float64); return ok && n > 0 && n <= 255 } // text.py: MAX_LENGTH_STATE_STATE

func isTopic(v any) bool {
	s, ok := v.(string)
	return ok && s != "" && !strings.ContainsAny(s, "+#\x00")
}

func isTexts(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(one any) bool { return !isText(one) })
}

func isOneOf(words ...string) kind {
	return func(v any) bool { s, ok := v.(string); return ok && slices.Contains(words, s) }
}

func areAllOf(words ...string) kind {
	return func(v any) bool {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(one any) bool { return !isOneOf(words...)(one) })
	}
}

// isAvailability is a list of topics, each with a template or none (schemas.py:
// MQTT_AVAILABILITY_LIST_SCHEMA).
func isAvailability(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool {
		o, ok := one.(object)
		_, more := o["value_template"]
		return !ok || !isTopic(o["topic"]) || more && !isText(o["value_template"]) || len(o) > 2
	})
}

// shape lists the keys of an object; a mandatory key has a mark before its name.
type shape map[string]kind

const must = "!"

func (s shape) and(more shape) shape {
	all := shape{}
	for _, one := range []shape{s, more} {
		for key, k := range one {
			all[key] = k
		}
	}
	return all
}

var (
	common = shape{ // MQTT_ENTITY_COMMON_SCHEMA; a component of a device has a unique id
		must + "p": isText, must + "unique_id": isText, "name": isText, "icon": isIcon, "availability": isAvailability, "availability_mode": isMode,
		"json_attributes_topic": isTopic,
	}
	reads  = shape{"state_topic": isTopic, "value_template": isText}
	writes = shape{must + "command_topic": isTopic, "qos": isQoS, "retain": isBool} // MQTT_RW_SCHEMA
)

var documented = map[string]shape{
	"switch": common.and(reads).and(writes).and(shape{"payload_on": isText, "payload_off": isText, "state_on": isText, "state_off": isText}),
	"image":  common.and(shape{must + "image_topic": isTopic, "content_type": isText}),
	"button": common.and(writes).and(shape{"payload_press": mayBeText}),
	"sensor": common.and(reads).and(shape{must + "state_topic": isTopic, "device_class": isOneOf("enum"), "options": isTexts}),
	"lock": common.and(reads).and(writes).and(shape{
		"payload_lock": isText, "payload_unlock": isText, "payload_reset": isText,
		"state_locked": isText, "state_unlocked": isText, "state_locking": isText, "state_unlocking": isText,
	}),
	"cover": common.and(reads).and(writes).and(shape{
		"payload_open": isNullable, "payload_close": isNullable, "payload_stop": isNullable,
		"state_open": isText, "state_closed": isText, "state_opening": isText, "state_closing": isText,
		// components/cover: CoverDeviceClass
		"device_class": isOneOf("awning", "blind", "curtain", "damper", "door", "garage", "gate", "shade", "shutter", "window"),
	}),
	"vacuum": common.and(writes).and(shape{
		"state_topic": isTopic, "payload_start": isText, "payload_pause": isText, "payload_stop": isText, "payload_clean_spot": isText, "payload_return_to_base": isText,
		"supported_features": areAllOf("start", "pause", "stop", "return_home", "fan_speed", "battery", "status", "send_command", "locate", "clean_spot"),
	}),
	"select": common.and(reads).and(writes).and(shape{"command_template": mayBeText, must + "options": isTexts}),
	"text":   common.and(reads).and(writes).and(shape{"command_template": mayBeText, "max": isTextMax}),
	"root": { // DEVICE_DISCOVERY_SCHEMA
		must + "dev": isObject, must + "o": isObject, must + "cmps": isObject, "availability": isAvailability, "availability_mode": isMode, "qos": isQoS,
	},
	"dev": {must + "identifiers": isTexts, "name": isText, "manufacturer": isText, "model": isText, "sw_version": isText}, // MQTT_ENTITY_DEVICE_INFO_SCHEMA
	"o":   {must + "name": isText, "sw_version": isText},                                                                  // MQTT_ORIGIN_INFO_SCHEMA
}

func isObject(v any) bool { o, ok := v.(object); return ok && len(o) > 0 }

// fits checks an object against its documented schema.
func (s shape) fits(t *testing.T, where string, o object) {
	t.Helper()
	for key, v := range o {
		k := s[key]
		if k == nil {
			k = s[must+key]
		}
		switch {
		case k == nil:
			t.Errorf("%s: %s is not documented", where, key)
		case !k(v):
			t.Errorf("%s: %s: %v is not what is documented", where, key, v)
		}
	}
	for key := range s {
		if key, is := strings.CutPrefix(key, must); is && o[key] == nil {
			t.Errorf("%s: %s is missing", where, key)
		}
	}
}
