package homeassistant

import (
	"context"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mdns"
)

// Discover hears whether there is a Home Assistant. Its entities are for a
// person to choose.
func Discover(ctx context.Context) []drivers.Found {
	list, err := mdns.Browse(ctx, mdns.Group, "_home-assistant._tcp")
	if err != nil {
		return nil
	}
	var all []drivers.Found
	for _, i := range list {
		if i.Addr.IsValid() {
			all = append(all, drivers.Found{Name: mdns.ID(i.Name), Where: "Home Assistant at " + i.URL() + ": make a token there, and name the entities one by one"})
		}
	}
	return all
}
