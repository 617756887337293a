package httpdevice

import (
	"context"
	"strconv"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
	"github.com/messkit/messkit/drivers/template"
)

// Discover finds Shelly, WLED and Tasmota devices that announce themselves.
func Discover(ctx context.Context) []drivers.FoundDevice {
	list, err := discovery.Browse(ctx, discovery.Group, "_shelly._tcp", "_wled._tcp", "_http._tcp")
	if err != nil {
		return nil
	}
	return found(list)
}

func found(list []discovery.Instance) []drivers.FoundDevice {
	return discovery.Describe(list, func(i discovery.Instance) (drivers.FoundDevice, bool) {
		// _http comes before _shelly, which has more details
		name := familyOf(i, list)
		return drivers.FoundDevice{
			Name: discovery.ID(i.Name), Where: name + " at " + i.Addr.Addr().String() + template.ShellyNote(i.Name, generation(i, list)),
			Config: map[string]string{"family": name, "url": i.URL(), "safe": "keep"},
		}, name != ""
	})
}

// familyOf returns the template for an announcement, or "".
func familyOf(i discovery.Instance, all []discovery.Instance) string {
	name := strings.ToLower(i.Name)
	switch {
	case i.Service == "_wled._tcp":
		return "wled"
	case strings.HasPrefix(name, "shelly"):
		return template.Shelly(name, generation(i, all))
	case strings.HasPrefix(name, "tasmota"):
		return "tasmota"
	}
	return ""
}

// generation returns the generation of a Shelly. Later generations announce it under
// _shelly._tcp.
func generation(i discovery.Instance, all []discovery.Instance) int {
	most := 1
	for _, other := range all {
		if n, err := strconv.Atoi(other.Texts["gen"]); err == nil && strings.EqualFold(other.Name, i.Name) {
			most = max(most, n)
		}
	}
	return most
}
