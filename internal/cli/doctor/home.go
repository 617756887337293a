package doctor

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
)

// listHome lists the devices of a running exchange.
func listHome(ctx context.Context, a *output.Env, x *httpclient.Client, asJSON bool) error {
	list, err := x.Devices(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.JSON(list)
	}
	return a.PrintColumns(func(p *output.Printer) {
		p.Printf("DEVICE\tAREA\tSTATE\tVERBS\n")
		for i := range list {
			d := &list[i]
			verbs := make([]string, len(d.Verbs))
			for k, v := range d.Verbs {
				verbs[k] = v.Verb
			}
			p.Printf("%s\t%s\t%s\t%s\n", output.Printable(d.ID), output.Printable(cmp.Or(d.Area, "-")), output.Printable(stateText(d)), output.Printable(strings.Join(verbs, ", ")))
		}
	})
}

// maxShown is the number of readings that the list shows of a device.
const maxShown = 3

// stateText returns the state of a device in words: "on, level 40 %".
func stateText(d *httpclient.Device) string {
	if !d.Reachable && d.Unreachable != nil {
		return "not reachable: " + d.Unreachable.Reason
	}
	var words []string
	if d.State != "unknown" || len(d.Readings) == 0 {
		words = append(words, d.State)
	}
	if d.Doing != "" && d.Doing != d.State {
		words = append(words, d.Doing)
	}
	for _, r := range d.Readings {
		if (r.Unit != "" || d.State == "unknown") && len(words) < maxShown { // a known state has the truth values
			words = append(words, strings.TrimSpace(r.Quantity+" "+strconv.FormatFloat(r.Value, 'f', -1, 64)+" "+r.Unit))
		}
	}
	if d.Locked != "" {
		words = append(words, "locked out: "+d.Locked)
	}
	return cmp.Or(strings.Join(words, ", "), "unknown")
}
