package printer

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
)

// services maps the announced services to servers.
var services = map[string]string{"_moonraker._tcp": "moonraker", "_octoprint._tcp": "octoprint", "_prusalink._tcp": "prusalink"}

// Discover finds printer servers that announce themselves.
func Discover(ctx context.Context) []drivers.FoundDevice {
	list, err := discovery.Browse(ctx, discovery.Group, slices.Sorted(maps.Keys(services))...)
	if err != nil {
		return nil
	}
	return found(list)
}

// found returns the printers, by the first service that each announces.
func found(list []discovery.Instance) []drivers.FoundDevice {
	return discovery.Describe(list, func(i discovery.Instance) (drivers.FoundDevice, bool) {
		server := services[i.Service]
		return drivers.FoundDevice{
			Name: discovery.ID(i.Name), Where: server + " at " + i.Addr.Addr().String(), Label: quoted(i.Name),
			Config: map[string]string{"server": server, "url": i.URL() + below(i.Texts["path"]), "safe": Keep},
		}, server != ""
	})
}

// quoted returns the name that the owner gave an OctoPrint, which announces itself as
// OctoPrint instance "NAME" on HOST. It returns "" if there is none.
func quoted(name string) string {
	_, rest, _ := strings.Cut(name, `"`)
	label, _, whole := strings.Cut(rest, `"`)
	if !whole {
		return ""
	}
	return label
}

// below returns the announced path of a server, or "" if it is not a plain path.
func below(path string) string {
	path = strings.TrimSuffix(path, "/")
	if !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/-_", r))
	}) {
		return ""
	}
	return path
}
