// Package top is the command messkit top: the load of exchanges in the terminal, from their metrics.
package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/internal/wait"
)

const (
	period = time.Second // between two scrapes
	window = 10          // scrapes over which a rate goes

	patience = 3 * time.Second // with an exchange that does not answer
)

// Command returns the command messkit top.
func Command(a *output.Env) *cobra.Command {
	var k client.Client
	var once, asJSON bool
	c := &cobra.Command{
		Use:   "top [URL ...]",
		Short: "Show the load of exchanges live",
		Long: `Top shows the load of the exchange and redraws it every second until Ctrl-C: requests,
claims and their latency, threads, executors, the store and the process. Rates and times are
those of the last ten seconds. With the addresses of several exchanges on one store it
adds them up. With --once, or in a pipe, it measures for a second and prints one page.`,
		Example: "  messkit top\n  messkit top --once --json\n  messkit top http://node1:8420 http://node2:8420",
		RunE: func(c *cobra.Command, urls []string) error {
			if len(urls) == 0 {
				urls = []string{k.URL}
			}
			var t watched
			for _, url := range urls {
				one := k
				one.URL = url
				x, err := one.Open()
				if err != nil {
					return err
				}
				t.nodes = append(t.nodes, &node{client: x, k: one})
			}
			if a.Screen == nil || once || asJSON {
				return t.print(c.Context(), a, asJSON)
			}
			return t.show(c.Context(), a)
		},
	}
	k.Flags(c)
	c.Flags().BoolVar(&once, "once", false, "measure for a second, print one page, and end")
	c.Flags().BoolVar(&asJSON, "json", false, "the same as JSON")
	return c
}

// watched is the exchanges that the command watches.
type watched struct{ nodes []*node }

// node is one of them, with its last scrapes, oldest first.
type node struct {
	client *httpclient.Client
	k      client.Client
	last   []scraped
	err    error // of the last scrape
}

// scrape reads the metrics of all nodes at the same time.
func (t *watched) scrape(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var g errgroup.Group
	for _, n := range t.nodes {
		g.Go(func() error { n.scrape(ctx); return nil })
	}
	_ = g.Wait() // each node keeps its error
}

func (n *node) scrape(ctx context.Context) {
	var body io.ReadCloser
	if body, n.err = n.client.Metrics(ctx); n.err != nil {
		n.err = n.k.Unreachable(n.err)
		return
	}
	defer body.Close()
	values, err := parse(body)
	if n.err = err; err == nil {
		n.last = append(n.last, scraped{time.Now(), values})
		n.last = n.last[max(0, len(n.last)-window-1):]
	}
}

// state returns the load of all nodes.
func (t *watched) state() (list []Node) {
	for _, n := range t.nodes {
		if n.err != nil || len(n.last) == 0 {
			list = append(list, Node{Address: n.k.URL, Error: withHint(n.err), Threads: map[string]int{}})
			continue
		}
		list = append(list, load(n.k.URL, n.last[0], n.last[len(n.last)-1]))
	}
	return list
}

// withHint returns the text of an error with its remedy.
func withHint(err error) string {
	text := fmt.Sprint(err)
	if h, ok := errors.AsType[*output.HintError](err); ok {
		text += "; " + h.Hint
	}
	return text
}

// failed returns the first error if no node has answered.
func (t *watched) failed() error {
	for _, n := range t.nodes {
		if n.err == nil {
			return nil
		}
	}
	return t.nodes[0].err
}

// print measures for a second, and prints the load once. It fails if no node answers.
func (t *watched) print(ctx context.Context, a *output.Env, asJSON bool) error {
	t.scrape(ctx)
	if err := t.failed(); err != nil {
		return err
	}
	if !wait.For(ctx, period) {
		return ctx.Err()
	}
	t.scrape(ctx)
	if err := t.failed(); err != nil {
		return err
	}
	if asJSON {
		return a.JSON(map[string]any{"nodes": t.state()})
	}
	p := output.Printer{Out: a.Out}
	for _, line := range Lines(t.state(), time.Now()) {
		p.Printf("%s\n", output.Printable(line))
	}
	return p.Err
}

// show draws the load on the terminal until ctx ends, and then restores the terminal. An exchange
// that does not answer later stays on the page, with its error.
func (t *watched) show(ctx context.Context, a *output.Env) (err error) {
	t.scrape(ctx)
	if err := t.failed(); err != nil {
		return err // the person should read it on the normal screen
	}
	screen, err := terminal.OpenScreen(a.Screen, func() (int, int) { return terminal.Size(a.Screen) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()
	resized, forget := terminal.Resized()
	defer forget()
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		lines := append(Lines(t.state(), time.Now()), "", "Ctrl-C leaves this page")
		if err := screen.Draw(lines); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // the person has ended it
		case <-resized:
		case <-tick.C:
			t.scrape(ctx)
			if ctx.Err() != nil {
				return nil // the scrape has ended for this reason, and did not fail
			}
		}
	}
}
