package printer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// prusalink is the API of PrusaLink, in the printer or on a Raspberry Pi
// (https://github.com/prusa3d/Prusa-Link-Web/blob/master/spec/openapi.yaml).
type prusalink struct {
	server
	storage string
}

// prusaFile is a file, or a folder with files.
type prusaFile struct {
	Name     string      `json:"name"`
	Display  string      `json:"display_name"`
	Type     string      `json:"type"` // PRINT_FILE, FOLDER, FIRMWARE, FILE
	Children []prusaFile `json:"children"`
}

func (p prusalink) files(ctx context.Context) ([]listed, error) {
	var root prusaFile
	err := p.get(ctx, "/api/v1/files/"+p.storage, &root)
	var list []listed
	for _, f := range root.Children {
		if f.Type == "PRINT_FILE" {
			list = append(list, listed{cmp.Or(f.Display, f.Name), f.Name}) // the names on a card are short: BENCHY~1.BGC
		}
	}
	return list, err
}

type prusaStatus struct {
	Job struct {
		ID       *int    `json:"id"`
		Progress float64 `json:"progress"`
		Left     float64 `json:"time_remaining"`
		Printed  float64 `json:"time_printing"`
	} `json:"job"`
	Printer struct {
		State  string   `json:"state"`
		Nozzle *float64 `json:"temp_nozzle"`
		Bed    *float64 `json:"temp_bed"`
		HotEnd float64  `json:"target_nozzle"`
		HotBed float64  `json:"target_bed"`
		Status struct {
			OK      *bool  `json:"ok"`
			Message string `json:"message"`
		} `json:"status_printer"`
	} `json:"printer"`
}

var prusaPhases = map[string]phase{
	"IDLE": idle, "READY": idle, "BUSY": busy, "PRINTING": printing, "PAUSED": paused, "FINISHED": finished, "STOPPED": cancelled,
	"ERROR": failed, "ATTENTION": attention,
}

func (p prusalink) state(ctx context.Context) (state, error) {
	var status json.RawMessage
	if err := p.get(ctx, "/api/v1/status", &status); err != nil {
		return state{}, err
	}
	s, err := parsePrusa(status)
	if err != nil || s.Phase == idle {
		return s, err
	}
	var job struct {
		ID   *int `json:"id"`
		File struct {
			Name    string `json:"name"`
			Display string `json:"display_name"`
			Path    string `json:"path"`
		} `json:"file"`
	}
	if err := p.get(ctx, "/api/v1/job", &job); err != nil {
		return state{}, err
	}
	if job.ID != nil {
		s.ID, s.Label = strconv.Itoa(*job.ID), job.File.Display
		folder := strings.Trim(job.File.Path, "/")
		if _, below, ok := strings.Cut(folder, "/"); ok { // path below the storage
			s.File = below + "/" + job.File.Name
		} else {
			s.File = job.File.Name
		}
	}
	return s, nil
}

func parsePrusa(data []byte) (state, error) {
	var now prusaStatus
	if json.Unmarshal(data, &now) != nil || prusaPhases[now.Printer.State] == "" {
		return state{}, errors.New("the answer is not a state of PrusaLink; check server: and the version of PrusaLink")
	}
	s := state{
		Phase: prusaPhases[now.Printer.State], Percent: percent(now.Job.Progress), Left: seconds(now.Job.Left), Elapsed: seconds(now.Job.Printed),
		Nozzle: now.Printer.Nozzle, Bed: now.Printer.Bed, Heated: max(now.Printer.HotEnd, now.Printer.HotBed),
	}
	if now.Job.ID != nil {
		s.ID = strconv.Itoa(*now.Job.ID)
	}
	if ok := now.Printer.Status.OK; ok != nil && !*ok || s.Phase == failed || s.Phase == attention {
		s.Says = firstLine(now.Printer.Status.Message)
	}
	if s.Phase == finished {
		s.Percent = 100
	}
	return s, nil
}

func (p prusalink) start(ctx context.Context, path string) error {
	return p.post(ctx, "/api/v1/files/"+p.storage+"/"+escaped(path), nil)
}

func (p prusalink) pause(ctx context.Context, s state) error {
	return p.job(ctx, http.MethodPut, s, "/pause")
}

func (p prusalink) resume(ctx context.Context, s state) error {
	return p.job(ctx, http.MethodPut, s, "/resume")
}

func (p prusalink) cancel(ctx context.Context, s state) error {
	return p.job(ctx, http.MethodDelete, s, "")
}

func (p prusalink) job(ctx context.Context, method string, s state, what string) error {
	if s.ID == "" {
		return drivers.MarkNothingDone(errors.New("PrusaLink does not report the id of its job"))
	}
	return p.ask(ctx, method, "/api/v1/job/"+s.ID+what, nil, nil)
}

// cools returns false: the firmware turns off the heaters after a stop, and has no command
// for it.
func (p prusalink) cools() bool { return false }

func (p prusalink) cool(context.Context) error { return nil }

// last returns nothing, because PrusaLink keeps no records.
func (p prusalink) last(context.Context, string, time.Time) (*ending, bool, error) {
	return nil, false, nil
}
