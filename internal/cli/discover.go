package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config/discovery"
)

func discoverCommand(a *output.Env) *cobra.Command {
	listen := 3 * time.Second
	broker := mqttdevice.DefaultConfig()
	c := &cobra.Command{
		Use:   "discover",
		Short: "Look for devices here and in the network, and print them as a configuration",
		Long: `Discover looks for camera servers on this machine, for devices in the local network
(mDNS), for devices that have announced themselves at an MQTT broker, for brokers,
and for the hardware interfaces of this machine. It prints a configuration and uses
none of the devices. The configuration locks each device that can act: find out what
the device does, then remove its lock from the file.`,
		Example: "  messkit discover > found.yaml\n  messkit discover --mqtt mqtt://192.168.1.5 --mqtt-user messkit --mqtt-password-file /etc/messkit/mqtt.password",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), listen)
			defer cancel()
			list, brokers, err := discovery.LookAround(ctx, broker)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "# Found by messkit discover on %s. Copy what you want into your configuration.\n", time.Now().Format(time.DateOnly))
			discovery.PrintHardware(a.Out)
			discovery.PrintBrokers(a.Out, brokers)
			_, err = discovery.PrintFound(a.Out, list)
			return err
		},
	}
	discovery.LookFlags(c, &listen, &broker)
	return c
}
