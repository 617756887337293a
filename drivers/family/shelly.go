package family

import "strings"

// dimmers are what the ids of Shellys with a Light in lieu of a Relay or a Switch
// hold (shelly-api-docs.shelly.cloud, each device's page).
var dimmers = []string{"dimmer", "dimg3", "prodm", "pro0110", "plus010v", "plus10v", "pluswdus"}

// Shelly is the name of the template for a Shelly, by the id that it announces and by
// its generation, which is 1 or more.
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

// covers are what the ids of Shellys hold whose two relays may be a cover's, by how
// they are set up: which of the two, they do not announce.
var covers = []string{"2pm", "switch25", "switch-"}

// ShellyCover is the template for a Shelly that may drive a cover, "" for one that
// does not.
func ShellyCover(id string, generation int) string {
	id = strings.ToLower(id)
	for _, word := range covers {
		if strings.Contains(id, word) {
			return Shelly("shelly", generation) + "-cover"
		}
	}
	return ""
}

// ShellyNote says so, for a person; "" where there is nothing to say.
func ShellyNote(id string, generation int) string {
	if name := ShellyCover(id, generation); name != "" {
		return "; where it is set up as a cover, write family: " + name
	}
	return ""
}
