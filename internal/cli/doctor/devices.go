package doctor

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
)

// DevicesCommand returns the command messkit devices.
func DevicesCommand(a *output.Env) *cobra.Command {
	var k client.Client
	var file string
	var kinds, asJSON bool
	c := &cobra.Command{
		Use:   "devices",
		Short: "List the devices of an exchange or of a configuration, or all drivers",
		Long: `Devices lists the devices of all executors of an exchange, with their states and verbs.
With --config it lists those of a configuration file, without an exchange; --config "" means
the simulated home, and the devices of this machine.`,
		Example: "  messkit devices\n  messkit devices --config messkit.yaml\n  messkit devices --drivers",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case kinds:
				return listDrivers(a, asJSON)
			case !c.Flags().Changed("config"):
				return k.Call(func(x *httpclient.Client) error { return listHome(c.Context(), a, x, asJSON) })
			}
			loaded, err := daemon.LoadConfig(file, output.NoLog)
			if err != nil {
				return err
			}
			return listDevices(a, loaded.Opened, asJSON)
		},
	}
	k.Flags(c)
	f := c.Flags()
	f.StringVarP(&file, "config", "c", "", "configuration file whose devices to list")
	f.BoolVar(&kinds, "drivers", false, "list the drivers")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func listDevices(a *output.Env, h *config.DeviceSet, asJSON bool) error {
	if asJSON {
		list := make([]map[string]any, len(h.Devices))
		for i, d := range h.Devices {
			list[i] = map[string]any{
				"name": d.Name, "driver": d.Driver, "label": d.Label, "class": d.EffectiveClass(), "area": d.Area, "verbs": d.Verbs(),
			}
		}
		return a.JSON(list)
	}
	return a.PrintColumns(func(p *output.Printer) {
		p.Printf("NAME\tDRIVER\tCLASS\tAREA\tCAN\n")
		for _, d := range h.Devices {
			p.Printf("%s\t%s\t%s\t%s\t%s\n", d.Name, d.Driver, d.EffectiveClass(), d.Area, strings.Join(d.Verbs(), ", "))
		}
	})
}

func listDrivers(a *output.Env, asJSON bool) error {
	if asJSON {
		var list []map[string]string
		for _, k := range all.Kinds() {
			list = append(list, map[string]string{"name": k.Name, "class": k.Class, "about": k.About})
		}
		return a.JSON(list)
	}
	return a.PrintColumns(func(p *output.Printer) {
		p.Printf("DRIVER\tCLASS\tABOUT\n")
		for _, k := range all.Kinds() {
			p.Printf("%s\t%s\t%s\n", k.Name, k.Class, k.About)
		}
	})
}
