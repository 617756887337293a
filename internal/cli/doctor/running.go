package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/selftest"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/inspect"
)

// askRunning sends the device list of this configuration to the messkit that runs with the same
// data folder, which tests the devices in both configurations. theirs contains its results, by
// device. found contains the comparison of the two configurations.
func askRunning(ctx context.Context, c *config.Config) (theirs map[string]output.CheckResult, found []output.CheckResult) {
	theirs = map[string]output.CheckResult{}
	a, err := selftest.Ask(ctx, c.Agent.Data, question(c))
	switch {
	case errors.Is(err, selftest.ErrNotRunning) && !inspect.IsRunning(c):
		return theirs, nil
	case err != nil:
		for _, d := range c.Opened.Devices {
			theirs[d.Name] = output.CheckResult{What: d.Name, OK: true, Note: true, Says: "was not used: the messkit that runs may have it"}
		}
		return theirs, []output.CheckResult{{What: "devices", OK: true, Note: true, Says: "messkit runs here and may have them, so that they were not used; " + client.Unasked(err, c.Agent.Data)}}
	}
	var others, same []string
	for _, r := range a.Devices {
		switch {
		case r.Used:
			same = append(same, r.Name)
			theirs[r.Name] = ofRunning(r)
		default:
			others = append(others, r.Name)
		}
	}
	return theirs, []output.CheckResult{compare(c, a, same, others)}
}

// findExchange asks the messkit that runs with a data folder for the address of its exchange,
// if none answers at the default address, and continues with that one.
func findExchange(ctx context.Context, k *client.Client, silent output.CheckResult, data string) output.CheckResult {
	a, err := selftest.Ask(ctx, data, selftest.Query{})
	switch {
	case errors.Is(err, selftest.ErrNotRunning):
		silent.Says += fmt.Sprintf("; with the data folder %s none runs either; name one with another folder or port with --config, or with --url and --key-file", data)
		return silent
	case err != nil || a.URL == "" || a.URL == k.URL:
		return silent
	}
	asked := k.URL
	k.URL = a.URL
	x := checkExchange(ctx, k)
	if x.OK {
		x.Note, x.Says = true, fmt.Sprintf("%s; no exchange is at %s, where commands look: give them --url %s, or set MESSKIT_URL", x.Says, asked, a.URL)
	}
	return x
}

// refusedModels reports MCP clients that the exchange has refused since its start because of
// their revision. It needs an operator's key.
func refusedModels(ctx context.Context, k *client.Client) (found []output.CheckResult) {
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	x, err := k.Open()
	if err != nil {
		return nil // checkKey reports it
	}
	list, err := x.Refused(ctx)
	if err != nil {
		return nil
	}
	for _, r := range list {
		if r.Code == http.StatusBadRequest {
			found = append(found, output.CheckResult{What: "mcp", OK: true, Note: true, Says: fmt.Sprintf("%s: refused %s, last at %s: %s", cmp.Or(r.Actor, r.From), output.Count(r.Count, "time"), r.At.Local().Format(time.DateTime), r.Error)})
		}
	}
	return found
}

// ofRunning returns the result that a running messkit has for a device.
func ofRunning(r selftest.Result) output.CheckResult {
	return output.CheckResult{What: r.Name, OK: r.OK, Note: r.Note, Says: r.Text}
}

// mostNamed is the largest number of devices in one line.
const mostNamed = 6

// someOf lists names, and the number of further ones if there are too many.
func someOf(names []string) string {
	if more := len(names) - mostNamed; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// compare reports differences between the running configuration and this one.
func compare(c *config.Config, a selftest.Response, same, others []string) output.CheckResult {
	f := output.CheckResult{What: "devices", OK: true}
	which := "the built-in one"
	if a.Config != "" {
		which = a.Config
	}
	since := a.Began.Local().Format(time.DateTime)
	if len(same) == len(c.Opened.Devices) && len(others) == 0 {
		f.Says = fmt.Sprintf("messkit runs with them since %s, and uses them for this", since)
		if stopped := func(r selftest.Result) bool { return r.Text == device.ErrStopped.Error() }; slices.ContainsFunc(a.Devices, stopped) {
			f.Note, f.Says = true, fmt.Sprintf("messkit runs with them since %s, and uses none during a stop", since)
		}
		return f
	}
	f.Note = true
	f.Says = fmt.Sprintf("messkit runs since %s with another configuration (%s)", since, which)
	if len(others) > 0 {
		f.Says += fmt.Sprintf("; its %s differ in this one, or are absent", someOf(others))
	}
	if len(same) > 0 {
		f.Says += fmt.Sprintf("; it has used %s for this", someOf(same))
	}
	if len(same) < len(c.Opened.Devices) {
		f.Says += "; this check used the other devices itself; the running messkit has them after a restart with this configuration"
	}
	return f
}

// question returns the query for every device.
func question(c *config.Config) selftest.Query {
	var q selftest.Query
	for _, d := range c.Opened.Devices {
		q.Devices = append(q.Devices, selftest.Device{Name: d.Name, Settings: c.Devices[d.Name].Sum()})
	}
	return q
}
