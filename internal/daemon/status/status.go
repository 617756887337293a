// Package status has the document in which a running messkit reports its state: the exchange, the
// executor in the same program, and the use of the disk and of each limit. internal/daemon fills it
// in, and the command line prints it.
package status

import (
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/exchange/channel/natsapi"
	"github.com/messkit/messkit/exchange/channel/sites"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/mess"
)

// Document is the status of messkit, as the HTTP API returns it.
type Document struct {
	Version   string                `json:"version"`
	Began     time.Time             `json:"began"`
	UptimeS   float64               `json:"uptime_s"`
	Exchange  string                `json:"exchange"`
	Threads   map[mess.Code]int     `json:"threads"`           // open threads, by status
	Log       DiskUse               `json:"log"`               // log of the exchange
	Files     DiskUse               `json:"files"`             // attachments of threads
	Folders   Folders               `json:"folders"`           // MESSE-AF folders, which follow the log
	Store     *Store                `json:"store,omitempty"`   // on NATS servers; then there is no log
	Damaged   []string              `json:"damaged,omitempty"` // damage of the log that the start has found, or unreadable records on the servers
	DiskFree  int64                 `json:"disk_free"`         // free bytes for the data folder
	Confirm   Confirm               `json:"confirm"`
	Limits    []resources.Use       `json:"limits"` // of connections and files
	Process   resources.Process     `json:"process"`
	Executor  *Executor             `json:"executor,omitempty"`
	MQTT      *mqtt.Counts          `json:"mqtt,omitempty"`      // of the MQTT channel
	NATS      *natsapi.Counts       `json:"nats,omitempty"`      // of the executors over NATS
	Sites     []sites.Uplink        `json:"sites,omitempty"`     // uplinks of the sites that it reads
	Centre    *sites.Uplink         `json:"centre,omitempty"`    // uplink of this site to its centre
	Mail      *agentmail.Report     `json:"agentmail,omitempty"` // of the Agent Mail channel
	Executors []httpclient.Executor `json:"executors,omitempty"` // all registered ones
}

// DiskUse is the use of the disk by a log.
type DiskUse struct {
	Bytes   int64 `json:"bytes"`             // now
	Written int64 `json:"written"`           // since the start
	Today   int64 `json:"today"`             // since midnight, or the start
	PerDay  int64 `json:"per_day,omitempty"` // at this pace; 0 shortly after the start
}

// Executor is the status of the executor in the same process as the exchange.
type Executor struct {
	ID       string              `json:"id"`
	Stopped  string              `json:"stopped,omitempty"`  // why
	Disarmed string              `json:"disarmed,omitempty"` // reason for which no device acts
	Waits    []localpolicy.Block `json:"waits,omitempty"`    // devices and classes that wait for a local operator
	Devices  []Device            `json:"devices"`
	Working  int                 `json:"working"` // threads with a running task
	Waiting  int                 `json:"waiting"` // reports that the exchange does not have yet
	Journal  DiskUse             `json:"journal"`
	LeftOut  []string            `json:"left_out,omitempty"` // unusable files of words, with the reason
}

// Device is the status of a device of the executor.
type Device struct {
	Name    string         `json:"name"`
	Started bool           `json:"started"`
	Task    string         `json:"task,omitempty"`  // the thread that uses it now
	Failed  device.Failure `json:"failed,omitzero"` // its last use, until it works again
}

// minUptimeForPace is the time since the start from which on the status reports a pace. A start
// writes more than an idle hour.
const minUptimeForPace = time.Hour

// NewDiskUse returns the use of the disk by a log: its size now, and the bytes written since the start
// and today. up is the time since the start.
func NewDiskUse(size, total, today int64, up time.Duration) DiskUse {
	w := DiskUse{Bytes: size, Written: total, Today: today}
	if up >= minUptimeForPace {
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

func (w DiskUse) String() string {
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
