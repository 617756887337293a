package valetudo

import (
	"context"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
)

// Discover finds robots that announce themselves.
func Discover(ctx context.Context) []drivers.FoundDevice {
	list, err := discovery.Browse(ctx, discovery.Group, "_valetudo._tcp")
	if err != nil {
		return nil
	}
	return discovery.Describe(list, func(i discovery.Instance) (drivers.FoundDevice, bool) {
		return drivers.FoundDevice{
			Name: discovery.ID("vacuum " + i.Texts["id"]), Where: i.Texts["manufacturer"] + " " + i.Texts["model"] + " at " + i.Addr.Addr().String(),
			Config: map[string]string{"url": i.URL(), "safe": Keep},
		}, true
	})
}
