package output

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
)

// Table prints threads, one line each.
func (a *Env) Table(threads []httpclient.Thread) error {
	w := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "REF\tSTATUS\tEXECUTOR\tCHANGED\tINTENT")
	for _, t := range threads {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Ref, t.Status, t.Executor, t.Updated.Local().Format(time.DateTime), Printable(t.Intent))
	}
	return w.Flush()
}
