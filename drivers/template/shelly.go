package template

import "strings"

// dimmers lists parts of the ids of Shellys with a Light component instead of a Relay or a
// Switch (source: the device pages on shelly-api-docs.shelly.cloud).
var dimmers = []string{"dimmer", "dimg3", "prodm", "pro0110", "plus010v", "plus10v", "pluswdus"}

// Shelly returns the name of the template for a Shelly, by the id that it announces and its
// generation, which is 1 or more.
func Shelly(id string, generation int) string {
	name := "shelly-gen1"
	if generation > 1 {
		name = "shelly-gen2"
	}
	id = strings.ToLower(id)
	for _, word := range dimmers {
		if strings.Contains(id, word) {
			return name + "-light"
		}
	}
	return name
}

// covers lists parts of the ids of Shellys whose two relays may drive a cover. They do not
// announce which of the two modes the owner has set.
var covers = []string{"2pm", "switch25", "switch-"}

// ShellyCover returns the template for a Shelly that may drive a cover, or "" for any
// other.
func ShellyCover(id string, generation int) string {
	id = strings.ToLower(id)
	for _, word := range covers {
		if strings.Contains(id, word) {
			return Shelly("shelly", generation) + "-cover"
		}
	}
	return ""
}

// ShellyNote returns a note about the cover template for people, or "".
func ShellyNote(id string, generation int) string {
	if name := ShellyCover(id, generation); name != "" {
		return "; if the Shelly drives a cover, write family: " + name
	}
	return ""
}
