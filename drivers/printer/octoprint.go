package printer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// octoprint is the API of OctoPrint (https://docs.octoprint.org/en/master/api/).
type octoprint struct{ server }

// octoFile is a file, or a folder with files.
type octoFile struct {
	Path     string     `json:"path"`
	Type     string     `json:"type"` // machinecode, model, folder
	Origin   string     `json:"origin"`
	Children []octoFile `json:"children"`
}

func (o octoprint) files(ctx context.Context) ([]listed, error) {
	var answer struct {
		Files []octoFile `json:"files"`
	}
	err := o.get(ctx, "/api/files/local?recursive=true", &answer)
	var list []listed
	walkOcto(answer.Files, 0, &list)
	return list, err
}

// maxFolders limits the depth of folders.
const maxFolders = 8

func walkOcto(files []octoFile, depth int, list *[]listed) {
	for _, f := range files {
		switch {
		case f.Type == "folder" && depth < maxFolders:
			walkOcto(f.Children, depth+1, list)
		case f.Type == "machinecode":
			*list = append(*list, listed{f.Path, f.Path})
		}
	}
}

type octoJob struct {
	Job struct {
		File struct {
			Path string `json:"path"`
			Name string `json:"name"`
		} `json:"file"`
	} `json:"job"`
	Progress struct {
		Completion *float64 `json:"completion"`
		Printed    float64  `json:"printTime"`
		Left       float64  `json:"printTimeLeft"`
	} `json:"progress"`
	State string `json:"state"`
	Error string `json:"error"`
}

func (o octoprint) state(ctx context.Context) (state, error) {
	var job json.RawMessage
	if err := o.get(ctx, "/api/job", &job); err != nil {
		return state{}, err
	}
	s, err := parseOcto(job)
	if err != nil || s.Phase == offline || s.Phase == failed {
		return s, err
	}
	var heat map[string]json.RawMessage
	var temps struct {
		Temperature map[string]json.RawMessage `json:"temperature"`
	}
	if err := o.get(ctx, "/api/printer?exclude=sd,state", &temps); err == nil {
		heat = temps.Temperature
	}
	for name, data := range heat {
		var h struct {
			Actual *float64 `json:"actual"`
			Target float64  `json:"target"`
		}
		if json.Unmarshal(data, &h) != nil {
			continue
		}
		switch name {
		case "tool0":
			s.Nozzle = h.Actual
		case "bed":
			s.Bed = h.Actual
		}
		s.Heated = max(s.Heated, h.Target)
	}
	return s, nil
}

func parseOcto(data []byte) (state, error) {
	var now octoJob
	if json.Unmarshal(data, &now) != nil || now.State == "" {
		return state{}, errors.New("the answer is not a job of OctoPrint; check server: and the version of OctoPrint")
	}
	s := state{File: cmp.Or(now.Job.File.Path, now.Job.File.Name), Elapsed: seconds(now.Progress.Printed), Left: seconds(now.Progress.Left), Says: firstLine(now.Error)}
	if now.Progress.Completion != nil {
		s.Percent = percent(*now.Progress.Completion)
	}
	switch word := now.State; {
	case strings.HasPrefix(word, "Offline"):
		s.Phase = offline
	case strings.HasPrefix(word, "Error"):
		s.Phase = failed
	case word == "Operational" && s.File != "" && s.Percent >= 100:
		s.Phase = finished
	case word == "Operational" && s.File != "" && s.Percent > 0:
		s.Phase = cancelled
	case word == "Operational":
		s.Phase = idle
	case word == "Paused":
		s.Phase = paused
	case strings.HasPrefix(word, "Printing"), word == "Pausing", word == "Resuming", word == "Starting", word == "Finishing":
		s.Phase = printing
	default: // Connecting, Cancelling, Transferring file
		s.Phase = busy
	}
	if s.Phase != offline && s.Phase != failed {
		s.Says = ""
	}
	return s, nil
}

func (o octoprint) start(ctx context.Context, path string) error {
	return o.post(ctx, "/api/files/local/"+escaped(path), map[string]any{"command": "select", "print": true})
}

func (o octoprint) pause(ctx context.Context, _ state) error {
	return o.post(ctx, "/api/job", map[string]string{"command": "pause", "action": "pause"})
}

func (o octoprint) resume(ctx context.Context, _ state) error {
	return o.post(ctx, "/api/job", map[string]string{"command": "pause", "action": "resume"})
}

func (o octoprint) cancel(ctx context.Context, _ state) error {
	return o.post(ctx, "/api/job", map[string]string{"command": "cancel"})
}

func (o octoprint) cools() bool { return true }

func (o octoprint) cool(ctx context.Context) error {
	tool := o.post(ctx, "/api/printer/tool", map[string]any{"command": "target", "targets": map[string]int{"tool0": 0}})
	bed := o.post(ctx, "/api/printer/bed", map[string]any{"command": "target", "target": 0})
	if answered(bed, http.StatusConflict) { // the printer has no heated bed
		bed = nil
	}
	return errors.Join(tool, bed)
}

// last reads the last finished print that OctoPrint records for a file.
func (o octoprint) last(ctx context.Context, path string, since time.Time) (*ending, bool, error) {
	var answer struct {
		Prints struct {
			Last struct {
				Date    float64 `json:"date"`
				Time    float64 `json:"printTime"`
				Success bool    `json:"success"`
			} `json:"last"`
		} `json:"prints"`
	}
	err := o.get(ctx, "/api/files/local/"+escaped(path), &answer)
	if err != nil {
		if errors.Is(err, drivers.ErrNothingDone) && answered(err, http.StatusNotFound) {
			return nil, false, nil // OctoPrint no longer has the file
		}
		return nil, false, err
	}
	l := answer.Prints.Last
	ended := unix(l.Date)
	if ended.IsZero() || ended.Before(since.Add(-earlier)) {
		return nil, true, nil
	}
	if began := ended.Add(-seconds(l.Time)); l.Time > 0 && began.Before(since.Add(-earlier)) {
		return nil, true, nil
	}
	return &ending{began: since, whole: l.Success, reason: "OctoPrint reports it as failed or canceled"}, true, nil
}
