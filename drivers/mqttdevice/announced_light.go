package mqttdevice

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// zigbeeFeature is one feature of a lamp in Zigbee2MQTT
// (https://www.zigbee2mqtt.io/guide/usage/exposes.html#light).
type zigbeeFeature struct {
	Name string  `json:"name"`
	Min  float64 `json:"value_min"`
	Max  float64 `json:"value_max"`
}

// zigbeeLight returns the template for a lamp by its features. It adds the color
// temperature limits to with.
func zigbeeLight(features []zigbeeFeature, with map[string]string) string {
	family := "zigbee2mqtt"
	for _, f := range features {
		switch {
		case f.Name == "brightness" && family == "zigbee2mqtt":
			family = "zigbee2mqtt-light"
		case f.Name == "color_temp" && whites(f.Min, f.Max, with):
			family = "zigbee2mqtt-white"
		}
	}
	return family
}

// whites adds the color temperature limits, given in mireds, to with. It reports whether
// they are plausible.
func whites(coldest, warmest float64, with map[string]string) bool {
	if !(coldest >= 60 && warmest > coldest && warmest <= 1000) {
		return false
	}
	kelvin := func(mireds float64) string { return strconv.Itoa(int(math.Round(1e6 / mireds))) }
	with["coldest"], with["warmest"] = kelvin(coldest), kelvin(warmest)
	return true
}

// esphomeWhite contains the color temperature limits of a lamp in mireds.
type esphomeWhite struct {
	ShortMin float64 `json:"min_mirs"`
	ShortMax float64 `json:"max_mirs"`
	LongMin  float64 `json:"min_mireds"` // without abbreviations
	LongMax  float64 `json:"max_mireds"`
}

func (w esphomeWhite) limits(with map[string]string) bool {
	return whites(cmp.Or(w.ShortMin, w.LongMin), cmp.Or(w.ShortMax, w.LongMax), with)
}

// homieProperty is one property of a Homie 5 node.
type homieProperty struct {
	Name     string `json:"name"`
	Type     string `json:"datatype"`
	Settable bool   `json:"settable"`
	Retained *bool  `json:"retained"`
	Format   string `json:"format"`
}

// stays reports whether the property is settable and the broker retains its value.
func (p homieProperty) stays() bool { return p.Settable && (p.Retained == nil || *p.Retained) }

// percents reports whether the property is a percentage from 0 to 100.
func (p homieProperty) percents() bool {
	return (p.Type == "integer" || p.Type == "float") && p.Format == "0:100" && p.stays()
}

// homieLight returns the values for a lamp template if a node has exactly one switch, one
// brightness and one color. It returns nil for other nodes, because the choice would be a
// guess.
func homieLight(properties map[string]homieProperty) map[string]string {
	with := map[string]string{}
	for id, p := range properties {
		key := ""
		switch {
		case p.Type == "boolean" && p.stays():
			key = "power"
		case p.percents():
			key = "brightness"
		case p.Type == "color" && p.stays() && strings.Contains(","+p.Format+",", ",rgb,"):
			key = "colour"
		default:
			continue
		}
		if with[key] != "" {
			return nil
		}
		with[key] = id
	}
	if len(with) != 3 {
		return nil
	}
	return with
}
