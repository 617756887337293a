package daemon

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/internal/resources"
)

// leastFree is the space that the log of threads reserves at a time, in bytes. With less the
// exchange soon rejects new requests.
const leastFree = 4 << 20

// storage returns the reason why the exchange cannot store, now or soon, or nil.
func (e *OwnExchange) storage() error {
	if err := e.store.Err(); err != nil {
		return err
	}
	if free, dir, known := resources.FreeSpace(e.data); known && free < leastFree {
		return fmt.Errorf("%d KB free for %s; make room", free>>10, dir)
	}
	return nil
}

// health returns the public part of the status: whether it works, without the reason.
func (e *OwnExchange) health() map[string]any {
	if e.storage() != nil {
		return map[string]any{"status": "degraded", "storage": "failing"}
	}
	return map[string]any{"status": "ok"}
}

// readyTime is the time in which the store has to answer a readiness probe.
const readyTime = 2 * time.Second

// unready returns the reasons why the exchange cannot take requests now, without addresses and paths.
func (e *OwnExchange) unready(ctx context.Context) (why []string) {
	if err := e.storage(); err != nil {
		why = append(why, "the store cannot write; messkit status and the log have the reason")
	} else {
		ctx, cancel := context.WithTimeout(ctx, readyTime)
		defer cancel()
		if _, err := e.store.Document(ctx, transfer.MarkKind, transfer.MarkID); err != nil {
			why = append(why, "the store does not answer; messkit status and the log have the reason")
		}
	}
	return why
}

// writeMetrics writes the metrics of the store and of the process.
func (e *OwnExchange) writeMetrics(t *metrics.Text) {
	t.Gauges("messkit_build_info", "The version of the program, as a label.")
	t.Sample(1, "version", output.Version)
	writable := 1.0
	if e.storage() != nil {
		writable = 0
	}
	t.Gauge("messkit_store_writable", "1 while the store takes steps, 0 while it does not.", writable)
	var s status.Document
	e.store.Report(&s, time.Since(e.began))
	var on status.Store
	if s.Store != nil {
		e.store.ReportSpace(&s)
		on = *s.Store
	}
	t.Gauges("messkit_store_bytes", "Bytes of the store on each NATS server; 0 in a data folder.")
	t.Sample(float64(on.Bytes), "of", "threads")
	t.Sample(float64(on.Objects), "of", "objects")
	t.Gauge("messkit_store_unreadable_records", "Records on the NATS servers that no exchange can read.", float64(on.Unreadable))
	t.Gauge("messkit_store_log_bytes", "Size of the log of threads in the data folder.", float64(s.Log.Bytes))
	if free, _, known := resources.FreeSpace(e.data); known {
		t.Gauge("messkit_disk_free_bytes", "Free space for the data folder.", float64(free))
	}
	e.sites.WriteMetrics(t)
	sent, dropped := e.traces.Counts()
	t.Counters("messkit_spans_sent_total", "Spans that the collector of traces has taken.")
	t.Sample(float64(sent))
	t.Counters("messkit_spans_dropped_total", "Lost spans.")
	t.Sample(float64(dropped))
	limits := e.limits()
	t.Gauges("messkit_limit_used", "Use of a limit of connections or files.")
	for _, l := range limits {
		t.Sample(float64(l.Now), "limit", l.What)
	}
	t.Gauges("messkit_limit_max", "The limit itself.")
	for _, l := range limits {
		t.Sample(float64(l.Limit), "limit", l.What)
	}
	p := resources.Spent()
	t.Counters("process_cpu_seconds_total", "Time of a processor that the process has used.")
	t.Sample(p.CPU)
	t.Gauge("process_resident_memory_bytes", "Memory of the process.", float64(p.Memory))
	t.Gauge("process_start_time_seconds", "Start of the exchange, in seconds since 1970.", float64(e.began.UnixMilli())/1000)
	t.Gauge("go_goroutines", "Goroutines of the process.", float64(p.Goroutines))
}

// status returns a Status for the HTTP API.
func (e *OwnExchange) status() any {
	up := time.Since(e.began)
	s := status.Document{
		Version: output.Version, Began: e.began, UptimeS: up.Seconds(), Exchange: e.id, Threads: e.x.OpenByStatus(),
		Confirm: e.confirm(), Limits: e.limits(), Process: resources.Spent(),
	}
	e.store.Report(&s, up)
	e.store.ReportServers(&s)
	if free, _, known := resources.FreeSpace(e.data); known {
		s.DiskFree = int64(min(free, math.MaxInt64))
	}
	if e.mqtt != nil {
		s.MQTT = new(e.mqtt.adapter.Counts())
	}
	if e.nats != nil {
		s.NATS = new(e.nats.Counts())
	}
	e.sites.Report(&s)
	if e.mail != nil {
		s.Mail = new(e.mail.Status())
	}
	if e.agent != nil {
		s.Executor = e.agent.status(up)
	}
	return s
}

func (e *executor) status(up time.Duration) *status.Executor {
	now := e.agent.Status()
	total, today := e.outputs.journal.Written()
	s := &status.Executor{
		ID: e.id, Stopped: now.Stopped, Working: now.Working, Waiting: now.Waiting, Devices: []status.Device{},
		Journal: status.NewDiskUse(e.outputs.journal.Size(), total, today, up),
	}
	s.LeftOut = status.UnusedWords(e.ignoredWords)
	local := e.outputs.local.Decisions()
	s.Disarmed, s.Waits = localpolicy.BlockReason(local), localpolicy.Blocks(local)
	if now.Disarmed != nil {
		s.Disarmed = now.Disarmed.Error()
	}
	for _, d := range now.Devices {
		s.Devices = append(s.Devices, status.Device{Name: d.Name, Started: d.Started, Task: d.Task, Failed: d.Failed})
	}
	return s
}

// filesSetting names the settings that raise the limit of open files.
const filesSetting = "LimitNOFILE= of the service, or ulimit -n"

// limits returns the use of each limit of the exchange.
func (e *OwnExchange) limits() []resources.Use {
	list := e.server.Connections()
	if e.mqtt != nil && e.mqtt.embedded != nil {
		list = append(list, e.mqtt.embedded.Use())
	}
	if n, ok := resources.OpenFiles(); ok {
		list = append(list, resources.Use{What: "open files", Setting: filesSetting, Now: n, Limit: resources.Of().Files})
	}
	return list
}

func (e *OwnExchange) confirm() status.Confirm {
	c := status.Confirm{By: e.x.ConfirmBy()}
	if at := e.model.Load(); at != 0 {
		c.Model = new(time.Unix(at, 0).UTC())
	}
	return c
}

// modelSeen records that a process of this user has used a model's interface.
func (e *OwnExchange) modelSeen() { e.model.Store(time.Now().Unix()) }
