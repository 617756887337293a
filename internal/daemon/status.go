package daemon

import (
	"fmt"
	"math"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/mess"
)

// Status is the status of messkit, as the HTTP API returns it.
type Status struct {
	Version   string                `json:"version"`
	Began     time.Time             `json:"began"`
	UptimeS   float64               `json:"uptime_s"`
	Exchange  string                `json:"exchange"`
	Threads   map[mess.Code]int     `json:"threads"`           // open threads, by status
	Log       writtenJSON           `json:"log"`               // log of the exchange
	Files     writtenJSON           `json:"files"`             // attachments of threads
	Folders   foldersJSON           `json:"folders"`           // MESSE-AF folders, which follow the log
	Damaged   []string              `json:"damaged,omitempty"` // damage of the log that the start has found
	DiskFree  int64                 `json:"disk_free"`         // free bytes for the data folder
	Confirm   confirmJSON           `json:"confirm"`
	Limits    []resources.Use       `json:"limits"` // of connections and files
	Process   resources.Process     `json:"process"`
	Executor  *ExecutorStatus       `json:"executor,omitempty"`
	MQTT      *mqtt.Counts          `json:"mqtt,omitempty"`      // of the MQTT channel
	Mail      *agentmail.Report     `json:"agentmail,omitempty"` // of the Agent Mail channel
	Executors []httpclient.Executor `json:"executors,omitempty"` // all registered ones
}

// writtenJSON is the use of the disk by a log.
type writtenJSON struct {
	Bytes   int64 `json:"bytes"`             // now
	Written int64 `json:"written"`           // since the start
	Today   int64 `json:"today"`             // since midnight, or the start
	PerDay  int64 `json:"per_day,omitempty"` // at this pace; 0 shortly after the start
}

// ExecutorStatus is the status of the executor in the same process as the exchange.
type ExecutorStatus struct {
	ID       string              `json:"id"`
	Stopped  string              `json:"stopped,omitempty"`  // why
	Disarmed string              `json:"disarmed,omitempty"` // reason for which no device acts
	Waits    []localpolicy.Block `json:"waits,omitempty"`    // devices and classes that wait for a local operator
	Devices  []deviceState       `json:"devices"`
	Working  int                 `json:"working"` // threads with a running task
	Waiting  int                 `json:"waiting"` // reports that the exchange does not have yet
	Journal  writtenJSON         `json:"journal"`
	LeftOut  []string            `json:"left_out,omitempty"` // unusable files of words, with the reason
}

type deviceState struct {
	Name    string         `json:"name"`
	Started bool           `json:"started"`
	Task    string         `json:"task,omitempty"`  // the thread that uses it now
	Failed  device.Failure `json:"failed,omitzero"` // its last use, until it works again
}

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

// status returns a Status for the HTTP API.
func (e *OwnExchange) status() any {
	up := time.Since(e.began)
	now, total, today := e.store.Written()
	s := Status{
		Version: output.Version, Began: e.began, UptimeS: up.Seconds(), Exchange: e.id, Threads: e.x.OpenByStatus(), Log: written(now, total, today, up),
		Confirm: e.confirm(), Limits: e.limits(), Process: resources.Spent(),
	}
	now, total, today = e.store.WrittenFiles()
	s.Files = written(now, total, today, up)
	behind, lag := e.store.Lag()
	s.Folders = foldersJSON{behind, lag.Seconds()}
	for _, d := range e.store.Damage() {
		s.Damaged = append(s.Damaged, d.Error())
	}
	if free, _, known := resources.FreeSpace(e.data); known {
		s.DiskFree = int64(min(free, math.MaxInt64))
	}
	if e.mqtt != nil {
		s.MQTT = new(e.mqtt.adapter.Counts())
	}
	if e.mail != nil {
		s.Mail = new(e.mail.Status())
	}
	if e.agent != nil {
		s.Executor = e.agent.status(up)
	}
	return s
}

func (e *executor) status(up time.Duration) *ExecutorStatus {
	now := e.agent.Status()
	total, today := e.outputs.journal.Written()
	s := &ExecutorStatus{
		ID: e.id, Stopped: now.Stopped, Working: now.Working, Waiting: now.Waiting, Devices: []deviceState{},
		Journal: written(e.outputs.journal.Size(), total, today, up),
	}
	s.LeftOut = UnusedWords(e.words)
	local := e.outputs.now.Decisions()
	s.Disarmed, s.Waits = localpolicy.BlockReason(local), localpolicy.Blocks(local)
	if now.Disarmed != nil {
		s.Disarmed = now.Disarmed.Error()
	}
	for _, d := range now.Devices {
		s.Devices = append(s.Devices, deviceState{d.Name, d.Started, d.Task, d.Failed})
	}
	return s
}

// soon is the time after a start without a reported pace. A start writes more than an idle hour.
const soon = time.Hour

func written(size, total, today int64, up time.Duration) writtenJSON {
	w := writtenJSON{Bytes: size, Written: total, Today: today}
	if up >= soon {
		w.PerDay = int64(float64(total) * (24 * time.Hour).Seconds() / up.Seconds())
	}
	return w
}

// UnusedWords returns each unusable file of words, with the reason.
func UnusedWords(words []catalog.IgnoredWords) (list []string) {
	for _, one := range words {
		list = append(list, one.String())
	}
	return list
}

func (w writtenJSON) String() string {
	since := "today"
	if w.Today == w.Written { // the bytes of today before the start are unknown
		since = "since the start"
	}
	s := fmt.Sprintf("%s; written: %s %s", output.Bytes(w.Bytes), output.Bytes(w.Today), since)
	if w.PerDay > 0 {
		s += fmt.Sprintf(", %s a day at this pace", output.Bytes(w.PerDay))
	}
	return s
}
