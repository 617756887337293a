package output

import (
	"text/tabwriter"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
)

// PrintColumns prints a table. Tabs separate its columns in the lines that lines prints.
func (a *Env) PrintColumns(lines func(p *Printer)) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	p := Printer{Out: w}
	if lines(&p); p.Err != nil {
		return p.Err
	}
	return w.Flush()
}

// Table prints threads, one line each.
func (a *Env) Table(threads []httpclient.Thread) error {
	return a.PrintColumns(func(p *Printer) {
		p.Printf("REF\tSTATUS\tEXECUTOR\tCHANGED\tINTENT\n")
		for _, t := range threads {
			p.Printf("%s\t%s\t%s\t%s\t%s\n", t.Ref, t.Status, t.Executor, t.Updated.Local().Format(time.DateTime), Printable(t.Intent))
		}
	})
}
