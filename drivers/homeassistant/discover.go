package homeassistant

import (
	"context"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
)

// Discover finds Home Assistant in the network. It returns no entities, because a person
// must select them.
func Discover(ctx context.Context) []drivers.FoundDevice {
	list, err := discovery.Browse(ctx, discovery.Group, "_home-assistant._tcp")
	if err != nil {
		return nil
	}
	return discovery.Describe(list, func(i discovery.Instance) (drivers.FoundDevice, bool) {
		return drivers.FoundDevice{Name: discovery.ID(i.Name), Where: "Home Assistant at " + i.URL() + ": create a token there, and configure each entity that you need"}, true
	})
}
