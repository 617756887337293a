// Package discovery finds devices and brokers on this machine and in the local network,
// and prints them as a configuration.
package discovery

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/drivers/discovery"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/config"
)

// Discovered is a device that a driver has found.
type Discovered struct {
	drivers.FoundDevice
	Kind drivers.Kind
}

// LookFlags adds the flags of the commands that look for devices.
func LookFlags(c *cobra.Command, listen *time.Duration, broker *mqttdevice.Config) {
	f := c.Flags()
	f.DurationVar(listen, "for", *listen, "how long to listen")
	f.StringVar(&broker.Broker, "mqtt", "", "an MQTT broker to listen at: mqtt://host:1883")
	f.StringVar(&broker.Username, "mqtt-user", "", "account at the broker")
	f.StringVar(&broker.PasswordFile, "mqtt-password-file", "", "file with its password")
}

// LookAround looks for devices and for brokers at the same time, until ctx ends.
func LookAround(ctx context.Context, broker mqttdevice.Config) (list []Discovered, brokers []FoundBroker, err error) {
	var g errgroup.Group
	g.Go(func() (err error) {
		list, err = discover(ctx, broker)
		return err
	})
	g.Go(func() error {
		brokers = FindBrokers(ctx, config.DefaultBroker, discovery.Group)
		return nil
	})
	err = g.Wait()
	return list, brokers, err
}

// discover asks all drivers at the same time, until ctx ends.
func discover(ctx context.Context, broker mqttdevice.Config) ([]Discovered, error) {
	kinds := all.Kinds()
	found := make([][]Discovered, len(kinds))
	var g errgroup.Group
	for i, k := range kinds {
		g.Go(func() error {
			for _, look := range []func(context.Context) []drivers.FoundDevice{k.Find, k.Discover} {
				if look == nil {
					continue
				}
				for _, f := range look(ctx) {
					found[i] = append(found[i], Discovered{f, k})
				}
			}
			if k.Name != mqttdevice.Kind().Name || broker.Broker == "" {
				return nil
			}
			list, err := announced(ctx, broker)
			found[i] = append(found[i], list...)
			return err
		})
	}
	err := g.Wait()
	return slices.Concat(found...), err
}
