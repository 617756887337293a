package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities/catalog"
	maildoor "github.com/messkit/messkit/exchange/agentmail/door"
	"github.com/messkit/messkit/exchange/mqtt"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/mess"
)

// statusJSON is how messkit stands, as the door tells it and scripts read it.
type statusJSON struct {
	Version   string            `json:"version"`
	Began     time.Time         `json:"began"`
	UptimeS   float64           `json:"uptime_s"`
	Exchange  string            `json:"exchange"`
	Threads   map[mess.Code]int `json:"threads"`           // that have not ended
	Log       writtenJSON       `json:"log"`               // of the exchange
	Files     writtenJSON       `json:"files"`             // pictures and files of threads
	Folders   foldersJSON       `json:"folders"`           // of threads, which follow the log
	Damaged   []string          `json:"damaged,omitempty"` // what the start has found damaged in the log
	DiskFree  int64             `json:"disk_free"`         // bytes that are left for its data
	Confirm   confirmJSON       `json:"confirm"`
	Limits    []resources.Use   `json:"limits"` // of connections and files
	Process   resources.Process `json:"process"`
	Executor  *executorStatus   `json:"executor,omitempty"`
	MQTT      *mqtt.Counts      `json:"mqtt,omitempty"`      // of the MQTT door
	Mail      *maildoor.Report  `json:"agentmail,omitempty"` // of the Agent Mail door
	Executors []remote.Executor `json:"executors,omitempty"` // all that are registered
}

// writtenJSON is what a log takes of the disk.
type writtenJSON struct {
	Bytes   int64 `json:"bytes"`             // now
	Written int64 `json:"written"`           // since the start
	Today   int64 `json:"today"`             // since midnight, or the start
	PerDay  int64 `json:"per_day,omitempty"` // at this pace; 0 while it is too early to tell
}

// executorStatus is the executor in the same process as the exchange.
type executorStatus struct {
	ID       string        `json:"id"`
	Stopped  string        `json:"stopped,omitempty"`  // why
	Disarmed string        `json:"disarmed,omitempty"` // why nothing acts
	Waits    []keptJSON    `json:"waits,omitempty"`    // what waits for a person at the place
	Devices  []deviceState `json:"devices"`
	Working  int           `json:"working"` // threads that it works on
	Waiting  int           `json:"waiting"` // reports that wait for the exchange
	Journal  writtenJSON   `json:"journal"`
	LeftOut  []string      `json:"left_out,omitempty"` // files of words that cannot be used, and why
}

// keptJSON is a risk class or a device that does not act until a person at the
// place says so.
type keptJSON struct {
	What string `json:"what"` // its name
	How  string `json:"how"`  // locked or disarmed
	Why  string `json:"why,omitempty"`
}

// keeps lists what people at the place, or an end without order, keep from acting.
func keeps(l gate.Local) (list []keptJSON) {
	for _, name := range output.SortedKeys(l.Locked) {
		list = append(list, keptJSON{name, "locked", l.Locked[name]})
	}
	for _, class := range output.SortedKeys(l.Disarmed) {
		list = append(list, keptJSON{string(class), "disarmed", l.Disarmed[class]})
	}
	for _, name := range output.SortedKeys(l.Unarmed) {
		list = append(list, keptJSON{name, "disarmed", l.Unarmed[name]})
	}
	return list
}

func PrintKept(p *output.Printer, list []keptJSON) {
	for _, k := range list {
		p.Printf("%-9s %s\n", k.How, output.Printable(strings.TrimSpace(k.What+"  "+k.Why)))
	}
}

type deviceState struct {
	Name    string        `json:"name"`
	Started bool          `json:"started"`
	Task    string        `json:"task,omitempty"`  // the thread for which it acts or looks
	Failed  agent.Failure `json:"failed,omitzero"` // its last use, until it works again
}

// leastFree is what the log of threads reserves at a time, in bytes: with less
// nothing new is taken soon.
const leastFree = 4 << 20

// storage tells why nothing can be stored, or soon not, or nil.
func (e *ownExchange) storage() error {
	if err := e.store.Err(); err != nil {
		return err
	}
	if free, dir, told := freeSpace(e.data); told && free < leastFree {
		return fmt.Errorf("%d KB are left for %s; make room", free>>10, dir)
	}
	return nil
}

// health is what anybody may know: whether it works, and not why.
func (e *ownExchange) health() map[string]any {
	if e.storage() != nil {
		return map[string]any{"status": "degraded", "storage": "failing"}
	}
	return map[string]any{"status": "ok"}
}

// status is what the door says.
func (e *ownExchange) status() any {
	up := time.Since(e.began)
	now, total, today := e.store.Written()
	s := statusJSON{
		Version: output.Version, Began: e.began, UptimeS: up.Seconds(), Exchange: e.id, Threads: e.x.Unfinished(), Log: written(now, total, today, up),
		Confirm: e.confirm(), Limits: e.limits(), Process: resources.Spent(),
	}
	now, total, today = e.store.WrittenFiles()
	s.Files = written(now, total, today, up)
	behind, lag := e.store.Lag()
	s.Folders = foldersJSON{behind, lag.Seconds()}
	for _, d := range e.store.Damage() {
		s.Damaged = append(s.Damaged, d.Error())
	}
	if free, _, told := freeSpace(e.data); told {
		s.DiskFree = int64(min(free, math.MaxInt64))
	}
	if e.mqtt != nil {
		s.MQTT = new(e.mqtt.door.Counts())
	}
	if e.mail != nil {
		s.Mail = new(e.mail.Status())
	}
	if e.agent != nil {
		s.Executor = e.agent.status(up)
	}
	return s
}

func (e *executor) status(up time.Duration) *executorStatus {
	now := e.agent.Status()
	total, today := e.outputs.journal.Written()
	s := &executorStatus{
		ID: e.id, Stopped: now.Stopped, Working: now.Working, Waiting: now.Waiting, Devices: []deviceState{},
		Journal: written(e.outputs.journal.Size(), total, today, up),
	}
	s.LeftOut = unusedWords(e.words)
	local := e.outputs.now.Local()
	s.Disarmed, s.Waits = unknownLocal(local), keeps(local)
	if now.Disarmed != nil {
		s.Disarmed = now.Disarmed.Error()
	}
	for _, d := range now.Devices {
		s.Devices = append(s.Devices, deviceState{d.Name, d.Started, d.Task, d.Failed})
	}
	return s
}

// soon is before what was written tells a pace: a start writes more than an hour
// of waiting.
const soon = time.Hour

func written(size, total, today int64, up time.Duration) writtenJSON {
	w := writtenJSON{Bytes: size, Written: total, Today: today}
	if up >= soon {
		w.PerDay = int64(float64(total) * (24 * time.Hour).Seconds() / up.Seconds())
	}
	return w
}

func statusCommand(a *output.Env) *cobra.Command {
	var k client
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show how the running exchange and its executors stand",
		Long: `Show how the running exchange and its executors stand: how long they run, whether
anything is stopped or disarmed, what is open, and what is written to the disk.
With the configuration of a board that connects to an exchange elsewhere, it is
that board's journal, as it lies on its disk.`,
		Example: "  messkit status\n  messkit status --config kitchen.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if file != "" {
				cfg, err := load(file, output.NoLog)
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
	k.flags(c)
	c.Flags().StringVarP(&file, "config", "c", "", "configuration file")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func runStatus(ctx context.Context, a *output.Env, k *client, asJSON bool) error {
	x, err := k.open()
	if err != nil {
		return err
	}
	var s statusJSON
	if err := x.Status(ctx, &s); err != nil {
		return k.unreachable(err)
	}
	if s.Executors, err = x.Executors(ctx); err != nil {
		return k.unreachable(err)
	}
	if asJSON {
		return a.JSON(s)
	}
	p := output.Printer{Out: a.Out}
	p.Printf("exchange %s  version %s, up %s\n", output.Printable(s.Exchange), output.Printable(s.Version), output.UpTime(s.UptimeS))
	p.Printf("threads   %s\n", unfinished(s.Threads))
	p.Printf("log       %s; %s free\n", s.Log, output.Bytes(s.DiskFree))
	p.Printf("files     %s\n", s.Files)
	p.Printf("folders   %s\n", s.Folders)
	for _, d := range s.Damaged {
		p.Printf("DAMAGED   %s\n", output.Printable(d))
	}
	if says := s.Confirm.warning(); says != "" {
		p.Printf("WARNING   %s\n", says)
	}
	for _, u := range s.Limits {
		if f, quiet := checkLimit(u, time.Now()); !quiet {
			p.Printf("LIMIT     %s\n", output.Printable(f.Says))
		}
	}
	for _, e := range s.Executors {
		p.Printf("executor  %s  %s\n", output.Printable(e.ID), output.ExecutorState(e))
		if s.Executor != nil && e.ID == s.Executor.ID { // its devices are below
			continue
		}
		for _, f := range e.Failing {
			p.Printf("device    %s of %s failed %s: %s\n", output.Printable(f.Device), output.Printable(e.ID), f.At.Local().Format(time.DateTime), output.Printable(f.Why))
		}
	}
	printMail(&p, s.Mail)
	printExecutor(&p, s.Executor)
	return p.Err
}

// printExecutor prints the one in the same process.
func printExecutor(p *output.Printer, s *executorStatus) {
	if s == nil {
		return
	}
	if s.Stopped != "" {
		p.Printf("STOPPED   %s\n", output.Printable(s.Stopped))
	}
	if s.Disarmed != "" {
		p.Printf("DISARMED  %s\n", output.Printable(s.Disarmed))
	}
	PrintKept(p, s.Waits)
	p.Printf("journal   %s; %s under way, %s to send\n", s.Journal, output.Count(s.Working, "thread"), output.Count(s.Waiting, "report"))
	printLeftOut(p, s.LeftOut)
	for _, d := range s.Devices {
		state := map[bool]string{true: "ready", false: "not started"}[d.Started]
		if d.Task != "" {
			state = "at " + d.Task
		}
		if d.Failed.Why != "" {
			state += fmt.Sprintf(", failed %s: %s", d.Failed.At.Local().Format(time.DateTime), d.Failed.Why)
		}
		p.Printf("device    %s  %s\n", output.Printable(d.Name), output.Printable(state))
	}
}

func unusedWords(words []catalog.LeftOut) (list []string) {
	for _, one := range words {
		list = append(list, one.String())
	}
	return list
}

// printLeftOut prints one line for all files of words, or their folder, that cannot be used.
func printLeftOut(p *output.Printer, list []string) {
	if len(list) > 0 {
		p.Printf("words     %d left out (messkit check lists each); %s\n", len(list), output.Printable(list[0]))
	}
}

// unfinished is "none open", or how many in which status.
func unfinished(threads map[mess.Code]int) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(threads)) {
		parts = append(parts, fmt.Sprintf("%d %s", threads[code], output.InWords(code)))
	}
	if len(parts) == 0 {
		return "none open"
	}
	return strings.Join(parts, ", ")
}

func (w writtenJSON) String() string {
	since := "today"
	if w.Today == w.Written { // what was written today before is not known
		since = "since the start"
	}
	s := fmt.Sprintf("%s; written: %s %s", output.Bytes(w.Bytes), output.Bytes(w.Today), since)
	if w.PerDay > 0 {
		s += fmt.Sprintf(", %s a day at this pace", output.Bytes(w.PerDay))
	}
	return s
}

// boardJSON is a board whose exchange is elsewhere, by what lies on its disk.
type boardJSON struct {
	Executor string         `json:"executor"`
	Exchange string         `json:"exchange"` // its address
	Reached  bool           `json:"reached"`
	Journal  map[string]int `json:"journal"` // threads by state
	Mistakes int            `json:"mistakes"`
	LeftOut  []string       `json:"left_out,omitempty"` // files of words that cannot be used, and why
}

// runNodeStatus shows a board whose exchange is elsewhere.
func runNodeStatus(ctx context.Context, a *output.Env, c *config, asJSON bool) error {
	_, unreached := c.Connect.reach(ctx, c.Agent.ID)
	b := boardJSON{Executor: c.Agent.ID, Exchange: c.Connect.URL, Reached: unreached == nil, Journal: map[string]int{}, LeftOut: unusedWords(c.home.leftOut)}
	o := onJournal{data: c.Agent.Data}
	_, r, err := o.read()
	if err != nil {
		return err
	}
	b.Mistakes = len(r.Mistakes)
	for _, e := range r.Entries() {
		b.Journal[e.State]++
	}
	if asJSON {
		return a.JSON(b)
	}
	p := output.Printer{Out: a.Out}
	p.Printf("executor  %s for the exchange at %s, which is %s\n", b.Executor, b.Exchange, map[bool]string{true: "there", false: "not reached"}[b.Reached])
	p.Printf("journal   %d to be settled, %d to be reported, %d reported; %s\n",
		b.Journal[journal.StateIntent], b.Journal[journal.StateDone], b.Journal[journal.StateReported], output.Count(b.Mistakes, "mistake"))
	printLeftOut(&p, b.LeftOut)
	return p.Err
}
