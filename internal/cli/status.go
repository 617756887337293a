package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/doctor"
	clijournal "github.com/messkit/messkit/internal/cli/journal"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/mess"
)

// printMail prints the state of the Agent Mail channel.
func printMail(p *output.Printer, r *agentmail.Report) {
	if r == nil {
		return
	}
	m := r.Mailbox
	switch {
	case m.Err != "":
		p.Printf("mail      NOT REACHED: %s\n", output.Printable(m.Err))
	case m.Name != "":
		p.Printf("mail      %s at its server; %s here, %s with others, %s to send\n", output.Printable(m.Name), output.Count(m.Tasks, "task"), output.Count(m.Given, "task"), output.Count(m.Waiting, "message"))
	default:
		p.Printf("mail      over HTTP; %s here\n", output.Count(m.Tasks, "task"))
	}
	for _, z := range r.Zones {
		p.Printf("reserved  %s  by %s until %s\n", output.Printable(strings.Join(z.Devices, ", ")), output.Printable(z.By), z.Until.Local().Format(time.DateTime))
	}
	if n := len(r.Refused); n > 0 {
		p.Printf("refused   %s; the last of %s: %s\n", output.Count(n, "message"), output.Printable(r.Refused[n-1].From), output.Printable(r.Refused[n-1].Details))
	}
}

func statusCommand(a *output.Env) *cobra.Command {
	var k client.Client
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the status of the running exchange and its executors",
		Long: `Show the status of the running exchange and its executors: their uptimes, stops and
disarmed classes, open threads, and writes to the disk. With the configuration of a
node that connects to an exchange on another machine, show that node's journal on its
disk.`,
		Example: "  messkit status\n  messkit status --config kitchen.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if file != "" {
				cfg, err := daemon.LoadConfig(file, output.NoLog)
				if err != nil {
					return err
				}
				if cfg.Connect != nil {
					return runNodeStatus(c.Context(), a, cfg, asJSON)
				}
			}
			return runStatus(c.Context(), a, &k, asJSON)
		},
	}
	k.Flags(c)
	c.Flags().StringVarP(&file, "config", "c", "", "configuration file")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func runStatus(ctx context.Context, a *output.Env, k *client.Client, asJSON bool) error {
	x, err := k.Open()
	if err != nil {
		return err
	}
	var s status.Document
	if err := x.Status(ctx, &s); err != nil {
		return k.Unreachable(err)
	}
	if s.Executors, err = x.Executors(ctx); err != nil {
		return k.Unreachable(err)
	}
	if asJSON {
		return a.JSON(s)
	}
	p := output.Printer{Out: a.Out}
	p.Printf("exchange %s  version %s, up %s\n", output.Printable(s.Exchange), output.Printable(s.Version), output.UpTime(s.UptimeS))
	p.Printf("threads   %s\n", unfinished(s.Threads))
	if s.Store != nil {
		printStore(&p, s.Store)
	} else {
		p.Printf("log       %s; %s free\n", s.Log, output.Bytes(s.DiskFree))
		p.Printf("files     %s\n", s.Files)
		p.Printf("folders   %s\n", s.Folders)
	}
	printSites(&p, &s)
	for _, d := range s.Damaged {
		p.Printf("DAMAGED   %s\n", output.Printable(d))
	}
	if says := s.Confirm.Warning(); says != "" {
		p.Printf("WARNING   %s\n", says)
	}
	for _, u := range s.Limits {
		if f, quiet := doctor.CheckLimit(u, time.Now()); !quiet {
			p.Printf("LIMIT     %s\n", output.Printable(f.Says))
		}
	}
	for _, e := range s.Executors {
		p.Printf("executor  %s  %s\n", output.Printable(e.ID), output.ExecutorState(e))
		if s.Executor != nil && e.ID == s.Executor.ID { // its devices are below
			continue
		}
		for _, f := range e.Failing {
			p.Printf("device    %s of %s failed %s: %s\n", output.Printable(f.Device), output.Printable(e.ID), f.At.Local().Format(time.DateTime), output.Printable(f.Reason))
		}
	}
	printMail(&p, s.Mail)
	printExecutor(&p, s.Executor)
	return p.Err
}

// printStore prints the state of a store on NATS servers.
func printStore(p *output.Printer, s *status.Store) {
	p.Printf("store     %s\n", output.Printable(s.String()))
	if s.Bytes > 0 {
		p.Printf("space     %s of threads, %s of attachments and archives\n", output.Bytes(int64(s.Bytes)), output.Bytes(int64(s.Objects)))
	}
	for _, says := range s.Full {
		p.Printf("FULL      %s\n", output.Printable(says))
	}
	for _, one := range s.Servers {
		if one.Problem != "" {
			p.Printf("BEHIND    %s: %s\n", output.Printable(one.Name), output.Printable(one.Problem))
		}
	}
	if s.Unknown != "" {
		p.Printf("WARNING   no server says which replicas are current: %s\n", output.Printable(s.Unknown))
	}
	if !s.Kept {
		p.Printf("WARNING   the store can lose acknowledged steps; see store: in the configuration\n")
	}
	if s.Format < s.Newest {
		p.Printf("format    %d; after the update of all exchanges, messkit store upgrade changes it to %d\n", s.Format, s.Newest)
	}
	if s.Failing != "" {
		p.Printf("FAILING   %s\n", output.Printable(s.Failing))
	}
}

// printSites prints the uplinks of the sites of an exchange, and that of an exchange to its centre.
func printSites(p *output.Printer, s *status.Document) {
	for _, u := range s.Sites {
		p.Printf("site      %s  %s\n", output.Printable(u.Site), output.Printable(u.String()))
		if u.Failing != "" {
			p.Printf("FAILING   site %s: %s\n", output.Printable(u.Site), output.Printable(u.Failing))
		}
	}
	if u := s.Centre; u != nil {
		p.Printf("centre    %s\n", output.Printable(u.String()))
		if u.Failing != "" {
			p.Printf("FAILING   requests of the centre: %s\n", output.Printable(u.Failing))
		}
	}
}

// printExecutor prints the state of the executor in the same process.
func printExecutor(p *output.Printer, s *status.Executor) {
	if s == nil {
		return
	}
	if s.Stopped != "" {
		p.Printf("STOPPED   %s\n", output.Printable(s.Stopped))
	}
	if s.Disarmed != "" {
		p.Printf("DISARMED  %s\n", output.Printable(s.Disarmed))
	}
	client.PrintKept(p, s.Waits)
	p.Printf("journal   %s; %s under way, %s to send\n", s.Journal, output.Count(s.Working, "thread"), output.Count(s.Waiting, "report"))
	printLeftOut(p, s.LeftOut)
	for _, d := range s.Devices {
		state := map[bool]string{true: "ready", false: "not started"}[d.Started]
		if d.Task != "" {
			state = "at " + d.Task
		}
		if d.Failed.Reason != "" {
			state += fmt.Sprintf(", failed %s: %s", d.Failed.At.Local().Format(time.DateTime), d.Failed.Reason)
		}
		p.Printf("device    %s  %s\n", output.Printable(d.Name), output.Printable(state))
	}
}

// printLeftOut prints one line for all unusable files of words, or for their folder.
func printLeftOut(p *output.Printer, list []string) {
	if len(list) > 0 {
		p.Printf("words     %d left out (messkit check lists each); %s\n", len(list), output.Printable(list[0]))
	}
}

// unfinished returns "none open", or the number of threads in each status.
func unfinished(threads map[mess.Code]int) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(threads)) {
		parts = append(parts, fmt.Sprintf("%d %s", threads[code], output.WithSpaces(code)))
	}
	if len(parts) == 0 {
		return "none open"
	}
	return strings.Join(parts, ", ")
}

// nodeStatus is the status of a board without an exchange, read from its data folder.
type nodeStatus struct {
	Executor string         `json:"executor"`
	Exchange string         `json:"exchange"` // its address
	Reached  bool           `json:"reached"`
	Journal  map[string]int `json:"journal"` // threads by state
	Mistakes int            `json:"mistakes"`
	LeftOut  []string       `json:"left_out,omitempty"` // unusable files of words, with the reason
}

// runNodeStatus prints the status of a board whose exchange is on another machine.
func runNodeStatus(ctx context.Context, a *output.Env, c *config.Config, asJSON bool) error {
	_, unreached := c.Connect.Reach(ctx, c.Agent.ID)
	b := nodeStatus{Executor: c.Agent.ID, Exchange: c.Connect.URL, Reached: unreached == nil, Journal: map[string]int{}, LeftOut: status.UnusedWords(c.Opened.LeftOut)}
	o := clijournal.OnJournal{Data: c.Agent.Data}
	_, r, err := o.Read()
	if err != nil {
		return err
	}
	b.Mistakes = len(r.Violations)
	for _, e := range r.Threads() {
		b.Journal[e.State]++
	}
	if asJSON {
		return a.JSON(b)
	}
	p := output.Printer{Out: a.Out}
	p.Printf("executor  %s for the exchange at %s, which is %s\n", b.Executor, b.Exchange, map[bool]string{true: "there", false: "not reached"}[b.Reached])
	p.Printf("journal   %d open, %d to report, %d reported; %s\n",
		b.Journal[journal.StateIntent], b.Journal[journal.StateDone], b.Journal[journal.StateReported], output.Count(b.Mistakes, "mistake"))
	printLeftOut(&p, b.LeftOut)
	return p.Err
}
