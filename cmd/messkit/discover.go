package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/drivers/mdns"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/cli/output"
)

// discovered is a device that was found, and what drives it.
type discovered struct {
	drivers.Found
	kind drivers.Kind
}

func discoverCommand(a *output.Env) *cobra.Command {
	listen := 3 * time.Second
	broker := mqttdevice.DefaultConfig()
	c := &cobra.Command{
		Use:   "discover",
		Short: "Look for devices here and in the network, and print them as a configuration",
		Long: `Look for devices: camera servers on this machine, what is announced in the local
network (mDNS), what has announced itself at an MQTT broker, brokers, and the
hardware interfaces of this machine. What is found is printed as a configuration, and not
used. What can act is locked there until you have looked what it does and take
that line away.`,
		Example: "  messkit discover > found.yaml\n  messkit discover --mqtt mqtt://192.168.1.5 --mqtt-user messkit --mqtt-password-file /etc/messkit/mqtt.password",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), listen)
			defer cancel()
			list, brokers, err := lookAround(ctx, broker)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "# Found by messkit discover on %s. Copy what you want into your configuration.\n", time.Now().Format(time.DateOnly))
			printHardware(a.Out)
			printBrokers(a.Out, brokers)
			_, err = printFound(a.Out, list)
			return err
		},
	}
	lookFlags(c, &listen, &broker)
	return c
}

// lookFlags are those of the commands that look for devices.
func lookFlags(c *cobra.Command, listen *time.Duration, broker *mqttdevice.Config) {
	f := c.Flags()
	f.DurationVar(listen, "for", *listen, "how long to listen")
	f.StringVar(&broker.Broker, "mqtt", "", "an MQTT broker to listen at: mqtt://host:1883")
	f.StringVar(&broker.Username, "mqtt-user", "", "account at the broker")
	f.StringVar(&broker.PasswordFile, "mqtt-password-file", "", "file with its password")
}

// lookAround looks for devices and for brokers at the same time, until ctx ends.
func lookAround(ctx context.Context, broker mqttdevice.Config) (list []discovered, brokers []foundBroker, err error) {
	var g errgroup.Group
	g.Go(func() (err error) {
		list, err = discover(ctx, broker)
		return err
	})
	g.Go(func() error {
		brokers = findBrokers(ctx, defaultBroker, mdns.Group)
		return nil
	})
	err = g.Wait()
	return list, brokers, err
}

// discover asks all drivers at the same time, until ctx ends.
func discover(ctx context.Context, broker mqttdevice.Config) ([]discovered, error) {
	kinds := all.Kinds()
	found := make([][]discovered, len(kinds))
	var g errgroup.Group
	for i, k := range kinds {
		g.Go(func() error {
			for _, look := range []func(context.Context) []drivers.Found{k.Find, k.Discover} {
				if look == nil {
					continue
				}
				for _, f := range look(ctx) {
					found[i] = append(found[i], discovered{f, k})
				}
			}
			if k.Name != mqttdevice.Kind().Name || broker.Broker == "" {
				return nil
			}
			list, err := mqttdevice.Announced(ctx, broker, output.NoLog)
			for _, f := range list {
				found[i] = append(found[i], discovered{f, k})
			}
			return err
		})
	}
	err := g.Wait()
	return slices.Concat(found...), err
}
