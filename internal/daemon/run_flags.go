package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// RunFlags are the flags of `run` and `exchange`.
type RunFlags struct {
	file     string
	listen   string
	mqtt     string
	data     string
	tls      string
	confirm  string
	insecure bool
	Verbose  bool
	jsonLog  bool
}

// Flags adds the flags of run and exchange to a command.
func (r *RunFlags) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&r.file, "config", "c", "", "configuration file; default: messkit.yaml in the data folder; without that, the simulated home and the devices of this machine")
	f.StringVar(&r.listen, "listen", "", "address of the exchange's HTTP API (127.0.0.1:8420)")
	f.StringVar(&r.mqtt, "mqtt", "", "address of the exchange's own MQTT broker (127.0.0.1:1883), or off")
	f.StringVar(&r.data, "data", "", "folder for keys and journals (~/.mess)")
	f.StringVar(&r.tls, "tls", "", "self: the HTTP API and the MQTT broker use a certificate that the exchange makes (see messkit keys fingerprint)")
	f.StringVar(&r.confirm, "confirm", "", "how a person confirms a plan with risk: terminal (unless configured), page, code or script")
	f.BoolVar(&r.insecure, "insecure", false, "other machines may reach the HTTP API and the MQTT broker in plain text")
	f.BoolVarP(&r.Verbose, "verbose", "v", false, "log what only developers want to know")
	f.BoolVar(&r.jsonLog, "log-json", false, "log in JSON")
}

// GCPercent makes Go collect garbage twice as often as usual: on a board with 512 MB, memory
// is worth more than a few percent of speed. A busy exchange sets a higher value.
const GCPercent = 50

// Logger returns the log that the flags ask for.
func (r *RunFlags) Logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{}
	if r.Verbose {
		opts.Level = slog.LevelDebug
	}
	if r.jsonLog {
		return slog.New(slog.NewJSONHandler(output.EscapedJSON{To: w}, opts))
	}
	return slog.New(slog.NewTextHandler(output.EscapedJSON{To: w}, opts))
}

// Place returns the data folder and the address of the HTTP API, without a configuration.
func (r *RunFlags) Place() (data, listen string) {
	return cmp.Or(r.data, config.DataDir()), cmp.Or(r.listen, strings.TrimPrefix(config.DefaultURL, "http://"))
}

// Load reads the configuration and applies the flags. The log writes to w.
func (r *RunFlags) Load(w io.Writer) (*config.Config, *slog.Logger, error) {
	log := r.Logger(w)
	c, err := r.config(log)
	return c, log, err
}

func (r *RunFlags) config(log *slog.Logger) (*config.Config, error) {
	debug.SetGCPercent(GCPercent)
	file := r.file
	if file == "" {
		file = config.StartedIn(cmp.Or(r.data, config.DataDir()))
	}
	c, err := loadFile(file, log)
	if err != nil {
		return nil, err
	}
	if c.Exchange != nil {
		if r.listen != "" {
			c.Exchange.Listen = r.listen
		}
		if r.mqtt != "" {
			c.Exchange.MQTT = config.MQTT{Listen: r.mqtt, HomeAssistant: c.Exchange.MQTT.HomeAssistant, Clients: c.Exchange.MQTT.Clients}
		}
		if r.data != "" {
			c.Exchange.Data = r.data
		}
		if r.tls != "" && r.tls != config.SelfMade {
			return nil, fmt.Errorf("--tls: %q is unknown; write self, or the files of a certificate into the configuration", r.tls)
		}
		if r.confirm != "" {
			c.Exchange.Confirm = exchange.ConfirmBy(r.confirm)
		}
		c.Exchange.TLSSelf = c.Exchange.TLSSelf || r.tls != ""
		c.Exchange.Insecure = c.Exchange.Insecure || r.insecure
		if err := c.Exchange.Validate(); err != nil {
			return nil, err
		}
	} else if r.listen != "" || r.mqtt != "" || r.confirm != "" {
		return nil, errors.New("--listen, --mqtt, --confirm: this configuration connects to an exchange elsewhere; leave them out")
	}
	if r.data != "" {
		c.Agent.Data = r.data
	}
	return c, nil
}
