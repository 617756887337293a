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
