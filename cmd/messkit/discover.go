package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/strictyaml"
)

// discovered is a device that was found, and what drives it.
type discovered struct {
	drivers.Found
	kind drivers.Kind
}

func (a *app) discoverCommand() *cobra.Command {
	listen := 3 * time.Second
	broker := mqttdevice.DefaultConfig()
	c := &cobra.Command{
		Use:   "discover",
		Short: "Look for devices here and in the network, and print them as a configuration",
		Long: `Look for devices: camera servers on this machine, what is announced in the local
network (mDNS), what has announced itself at an MQTT broker, and the hardware
interfaces of this machine. What is found is printed as a configuration, and not
used. What can act is locked there until you have looked what it does and take
that line away.`,
		Example: "  messkit discover > found.yaml\n  messkit discover --mqtt mqtt://192.168.1.5 --mqtt-user messkit --mqtt-password-file /etc/messkit/mqtt.password",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), listen)
			defer cancel()
			list, err := discover(ctx, broker)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "# Found by messkit discover on %s. Copy what you want into your configuration.\n", time.Now().Format(time.DateOnly))
			printHardware(a.out)
			return printFound(a.out, list)
		},
	}
	f := c.Flags()
	f.DurationVar(&listen, "for", listen, "how long to listen")
	f.StringVar(&broker.Broker, "mqtt", "", "an MQTT broker to listen at: mqtt://host:1883")
	f.StringVar(&broker.Username, "mqtt-user", "", "account at the broker")
	f.StringVar(&broker.PasswordFile, "mqtt-password-file", "", "file with its password")
	return c
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
			list, err := mqttdevice.Announced(ctx, broker, quiet)
			for _, f := range list {
				found[i] = append(found[i], discovered{f, k})
			}
			return err
		})
	}
	err := g.Wait()
	return slices.Concat(found...), err
}

// block is the configuration of a device that was found.
func (d discovered) block() *strictyaml.Value {
	block := &strictyaml.Value{Kind: strictyaml.Map}
	block.Add("driver", strictyaml.Str(d.kind.Name))
	nested := map[string]*strictyaml.Value{}
	for _, key := range slices.Sorted(maps.Keys(d.Config)) {
		outer, inner, deep := strings.Cut(key, ".")
		if !deep {
			block.Add(key, strictyaml.Str(d.Config[key]))
			continue
		}
		if nested[outer] == nil {
			nested[outer] = &strictyaml.Value{Kind: strictyaml.Map}
			block.Add(outer, nested[outer])
		}
		nested[outer].Add(inner, strictyaml.Str(d.Config[key]))
	}
	return block
}

// acts reports whether it can change anything; so does what could not be opened.
func (d discovered) acts() bool {
	_, rest := strictyaml.From(d.block(), d.Name).Split(deviceConfig{})
	env := drivers.Env{Name: d.Name, Log: quiet, Now: time.Now, Shared: &drivers.Shared{}}
	dev, err := d.kind.Open(env, rest.Decode)
	if err != nil {
		return true
	}
	for _, c := range agent.Commands(dev) {
		if (capabilities.Plan{Command: c, Effect: capabilities.Query}).Actuates() {
			return true
		}
	}
	return false
}

// printFound prints devices, each under what and where it is. What needs to be
// told more is a comment.
func printFound(out io.Writer, list []discovered) error {
	taken := map[string]int{}
	var blocks strings.Builder
	for _, d := range list {
		if d.Config == nil {
			fmt.Fprintf(out, "# %s (driver: %s)\n", line(d.Where), d.kind.Name)
			continue
		}
		name := d.Name
		if taken[d.Name]++; taken[d.Name] > 1 {
			name = fmt.Sprintf("%s-%d", d.Name, taken[d.Name])
		}
		block := d.block()
		note := ""
		if d.acts() {
			limits := &strictyaml.Value{Kind: strictyaml.Map}
			limits.Add("locked", strictyaml.Truth(true))
			block.Add("limits", limits)
			note = "; it acts: see what it does, then take limits away"
		}
		device := &strictyaml.Value{Kind: strictyaml.Map}
		device.Add(name, block)
		text, err := strictyaml.YAML(device)
		if err != nil {
			return err
		}
		fmt.Fprintf(&blocks, "  # %s%s\n  %s\n", line(d.Where), note, strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  "))
	}
	if blocks.Len() == 0 {
		fmt.Fprintln(out, "# No device was found that can be told from what it announces.")
		return nil
	}
	_, err := fmt.Fprintf(out, "devices:\n%s", blocks.String())
	return err
}

// line is what a device says of itself, for one comment: it comes from the
// network.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 }), " ")
}

// interfaces of this machine, and who drives what is on them.
var interfaces = []struct{ pattern, drivers string }{
	{"/dev/i2c-*", "i2c-..."},
	{"/dev/serial/by-id/*", "roombaoi"},
}

// printHardware lists the interfaces that there are. What is behind them nobody
// can tell.
func printHardware(out io.Writer) {
	known := map[string]bool{}
	for _, k := range all.Kinds() {
		known[k.Name] = true
	}
	for _, i := range interfaces {
		names, _ := filepath.Glob(i.pattern) // the patterns are well formed
		list := slices.DeleteFunc(strings.Split(i.drivers, ", "), func(d string) bool { return !known[d] && !strings.HasSuffix(d, "...") })
		for _, name := range names {
			who := ""
			if len(list) > 0 {
				who = " (driver: " + strings.Join(list, ", ") + ")"
			}
			fmt.Fprintf(out, "# %s%s\n", name, who)
		}
	}
}
