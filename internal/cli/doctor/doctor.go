// Package doctor has the commands that check a configuration and a machine: doctor,
// check, devices and init.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// Command returns the command messkit doctor.
func Command(a *output.Env) *cobra.Command {
	var k client.Client
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine for problems",
		Long: `Doctor checks the configuration, the data folder and its disk, the keys, the
exchange, its port, brokers, certificates, the clock and the device files. It asks the
NATS servers of the exchange for their versions, settings, space and clocks. It uses
each device of the configuration: it takes an image and discards it, reads a sensor,
and reads the state of a switch. It never switches or moves a device. If messkit runs,
doctor asks that process to use its devices. If messkit runs with another
configuration, doctor reports that, and uses the other devices itself.

Each line begins with ok, BAD, or -- (a note), and contains the remedy. Exit code: 0 if
no line is BAD, else 1.`,
		Example: "  messkit doctor --config messkit.yaml\n  messkit doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return diagnose(c.Context(), a, &k, file, asJSON)
		},
	}
	k.Flags(c)
	c.Flags().StringVarP(&file, "config", "c", "", "configuration file")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func diagnose(ctx context.Context, a *output.Env, k *client.Client, file string, asJSON bool) error {
	found := runChecks(ctx, k, file)
	if asJSON {
		if err := a.JSON(found); err != nil {
			return err
		}
	}
	sick, wide := false, 10
	for _, f := range found {
		sick = sick || !f.OK
		wide = max(wide, utf8.RuneCountInString(output.Printable(f.What)))
	}
	for _, f := range found {
		if !asJSON {
			fmt.Fprintf(a.Out, "%s  %-*s %s\n", f.Sign(), min(wide, widestName), output.Printable(f.What), output.Printable(f.Says))
		}
	}
	if sick {
		return output.ErrQuiet
	}
	return nil
}

// widestName is the widest column of names, in runes; a longer name exceeds it.
const widestName = 32

// runChecks runs all checks. A configuration with errors leaves out the checks of the parts
// that it names.
func runChecks(ctx context.Context, k *client.Client, file string) []output.CheckResult {
	c, err := daemon.LoadConfig(file, output.NoLog)
	data := config.DataDir()
	found := []output.CheckResult{checkConfig(c, err)}
	for _, one := range config.Exposed(file) {
		found = append(found, output.CheckResult{What: "secrets", Says: one})
	}
	if err == nil {
		data = c.Agent.Data
	}
	found = append(found, checkData(data), checkSpace(data))
	found = append(found, checkPeople(data)...)
	if err == nil && c.Connect != nil { // then the board's own key and exchange count
		k.KeyFile, k.URL, k.Exchange, k.Pin = c.Connect.KeyFile, c.Connect.URL, c.Connect.Exchange, c.Connect.Pin
	}
	own := err == nil && c.Exchange != nil && useExchange(k, c.Exchange)
	if err == nil && c.Connect != nil && natslink.Is(c.Connect.URL) {
		found = append(found, checkKey(k.KeyFile))
		found = append(found, checkNATS(ctx, c)...)
	} else if err == nil && c.Connect != nil && broker.Is(c.Connect.URL) {
		h, err := c.Connect.Reach(ctx, c.Agent.ID)
		found = append(found, newCheckResult("exchange", err, "%s at the broker %s", h.Exchange, k.URL))
	} else {
		key, x := checkKey(k.KeyFile), checkExchange(ctx, k)
		if !x.OK && (k.URL == config.DefaultURL || own) {
			x = findExchange(ctx, k, x, data)
		}
		running := x.OK
		if running && own {
			x = checkSameFolder(ctx, k, x, c.Exchange.Data)
		}
		if neverBegun(ctx, k) {
			key = output.CheckResult{What: "key", OK: true, Note: true, Says: k.KeyFile + " is not there yet; the first start makes it"}
			x = output.CheckResult{What: "exchange", OK: true, Note: true, Says: "not running; start it with: messkit run" + named(file)}
		}
		found = append(found, key, x)
		if running {
			found = append(found, refusedModels(ctx, k)...)
			found = append(found, checkConfirm(ctx, k)...)
			found = append(found, checkLimits(ctx, k)...)
		}
		if err == nil && c.Exchange != nil {
			found = append(found, checkPorts(c.Exchange, running)...)
			if c.Exchange.NATS != nil {
				found = append(found, checkServers(ctx, c.Exchange)...)
			}
		}
	}
	found = append(found, checkClock(time.Now()))
	if err == nil {
		found = append(found, checkSecure(ctx, c, time.Now())...)
		found = append(found, checkTime(c.Agent)...)
		found = append(found, checkDevices(ctx, c)...)
	}
	return append(found, checkHardware()...)
}

// newCheckResult returns the result of a check with the error err.
func newCheckResult(what string, err error, fine string, args ...any) output.CheckResult {
	if err != nil {
		return output.CheckResult{What: what, Says: err.Error()}
	}
	return output.CheckResult{What: what, OK: true, Says: fmt.Sprintf(fine, args...)}
}

func checkConfig(c *config.Config, err error) output.CheckResult {
	if err != nil {
		return output.CheckResult{What: "config", Says: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return newCheckResult("config", nil, "%s", output.Count(len(c.Opened.Devices), "device"))
}

func checkKey(name string) output.CheckResult {
	info, err := os.Stat(name)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s is readable by other users; run chmod 600 %[1]s", name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is not there; messkit run makes it where it starts an exchange", name)
	}
	return newCheckResult("key", err, "%s", name)
}

func checkExchange(ctx context.Context, k *client.Client) output.CheckResult {
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	x, err := httpclient.New(k.Config(""), output.NoLog) // a check of its presence needs no key
	if err != nil {
		return newCheckResult("exchange", err, "")
	}
	h, err := x.Health(ctx)
	if err != nil && !errors.Is(err, httpclient.ErrUnable) {
		err = fmt.Errorf("%w; messkit run starts one", err)
	}
	return newCheckResult("exchange", err, "%s at %s, version %s", h.Exchange, k.URL, h.Version)
}

// checkSameFolder checks that the exchange at the address of this configuration has its data
// folder.
func checkSameFolder(ctx context.Context, k *client.Client, there output.CheckResult, data string) output.CheckResult {
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	x, err := k.Open()
	if err == nil {
		err = x.Status(ctx, &status.Document{})
	}
	if _, never := os.Stat(filepath.Join(data, config.OperatorFile)); errors.Is(never, fs.ErrNotExist) || errors.Is(err, mess.Unauthorized) {
		return output.CheckResult{What: "exchange", Says: fmt.Sprintf(
			"%s has the address of this one, and is another messkit's, with another data folder than %s; end that one, or choose another listen:", k.URL, data)}
	}
	return there
}

// neverBegun reports whether the exchange would be on this machine and has never run: it has
// no key, and nothing listens at its address.
func neverBegun(ctx context.Context, k *client.Client) bool {
	u, err := url.Parse(k.URL)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return false
	}
	if _, err := os.Stat(k.KeyFile); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// named returns the argument that names a configuration, "" for none.
func named(file string) string {
	if file == "" {
		return ""
	}
	return " --config " + file
}

// useExchange directs the client to the exchange of a configuration, unless a flag names another,
// and reports whether the client uses that address.
func useExchange(k *client.Client, c *config.Exchange) bool {
	if k.KeyFile == filepath.Join(config.DataDir(), config.OperatorFile) {
		k.KeyFile = filepath.Join(c.Data, config.OperatorFile)
	}
	own, err := c.URL()
	if err != nil {
		return false // the check of the port reports it
	}
	if k.URL == config.DefaultURL {
		k.URL = own
	}
	return k.URL == own
}
