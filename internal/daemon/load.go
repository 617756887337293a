package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/discovery"
	"github.com/messkit/messkit/internal/strictyaml"
)

// LoadConfig reads a configuration file and opens the devices, so that it can return all
// errors together. Without a name it reads the file that the console has begun in the default data
// folder; without that, it returns the simulated home.
func LoadConfig(name string, log *slog.Logger) (*config.Config, error) {
	if name == "" {
		name = config.StartedIn(config.DataDir())
	}
	return loadFile(name, log)
}

// loadFile reads a configuration file; "" means the simulated home.
func loadFile(name string, log *slog.Logger) (*config.Config, error) {
	data, builtIn := config.SimulatedHome, name == ""
	if builtIn {
		name = "(built in)"
	} else {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	c := &config.Config{Agent: config.DefaultAgent()}
	if !builtIn {
		c.File, _ = filepath.Abs(name) // an empty path only shortens messages
	}
	err := c.Read(name, data)
	if builtIn {
		findLocalDevices(c, log)
	}
	return c, checkConfig(c, name, data, err, drivers.NewRegistry(all.Kinds()), log)
}

// LoadText checks a text as the configuration file name.
func LoadText(name string, data []byte, log *slog.Logger) (*config.Config, error) {
	c := &config.Config{Agent: config.DefaultAgent()}
	c.File, _ = filepath.Abs(name) // an empty path only shortens messages
	err := c.Read(name, data)
	return c, checkConfig(c, name, data, err, drivers.NewRegistry(all.Kinds()), log)
}

// LoadDocument is LoadConfig for a configuration that a program has made. Its devices are of
// the kinds in registry.
func LoadDocument(data []byte, registry *drivers.Registry, log *slog.Logger) (*config.Config, error) {
	c := &config.Config{Agent: config.DefaultAgent()}
	err := c.Read("", data)
	return c, checkConfig(c, "", data, err, registry, log)
}

// checkConfig opens the devices of c, and returns err together with all other errors of the
// configuration. data is the text of the file name.
func checkConfig(c *config.Config, name string, data []byte, err error, registry *drivers.Registry, log *slog.Logger) error {
	if c.Exchange != nil && c.Exchange.Mail.Wanted() {
		c.Exchange.Mail.Secrets = config.SecretsIn(name, data)
	}
	home, more := config.OpenDevices(c.Devices, registry, log) // its errors belong to the same list
	c.Opened = home
	c.Opened.Catalog, c.Opened.LeftOut = c.Agent.Catalog()
	for _, one := range c.Opened.LeftOut {
		log.Warn("words left out", "file", one.File, "err", one.Err)
	}
	return config.MergeProblems(err, more, c.CheckZones(), config.NoTimes(c.Document.Under("agent").Under("limits")), home.CheckNames(c.Devices), home.CheckClasses(c.Devices))
}

// findTime is the longest time that a start looks for devices.
const findTime = 500 * time.Millisecond

// findLocalDevices adds the devices that drivers find on this machine.
func findLocalDevices(c *config.Config, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), findTime)
	defer cancel()
	c.Local = map[string]*strictyaml.Value{}
	for _, kind := range all.Kinds() {
		if kind.Find == nil {
			continue
		}
		for _, f := range kind.Find(ctx) {
			log.Info("found", "device", f.Name, "driver", kind.Name, "where", f.Where)
			block := discovery.Discovered{FoundDevice: f, Kind: kind}.Block()
			c.Devices[f.Name] = strictyaml.From(block, "devices."+f.Name)
			c.Local[f.Name] = block
		}
	}
}
