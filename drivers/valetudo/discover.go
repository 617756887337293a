package valetudo

import (
	"context"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mdns"
)

// Discover finds robots that announce themselves.
func Discover(ctx context.Context) []drivers.FoundDevice {
	list, err := mdns.Browse(ctx, mdns.Group, "_valetudo._tcp")
	if err != nil {
		return nil
	}
	return mdns.Describe(list, func(i mdns.Instance) (drivers.FoundDevice, bool) {
		return drivers.FoundDevice{
			Name: mdns.ID("vacuum " + i.Texts["id"]), Where: i.Texts["manufacturer"] + " " + i.Texts["model"] + " at " + i.Addr.Addr().String(),
			Config: map[string]string{"url": i.URL(), "safe": Keep},
		}, true
	})
}
