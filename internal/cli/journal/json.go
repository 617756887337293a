package journal

import (
	"encoding/json"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/mess"
)

// entryJSON is a thread in the journal, for scripts.
type entryJSON struct {
	Ref     string       `json:"ref"`
	Epoch   uint64       `json:"epoch"`
	State   string       `json:"state"`
	Digest  string       `json:"digest,omitempty"`
	Boot    string       `json:"boot,omitempty"`
	At      time.Time    `json:"at,omitzero"`
	Bytes   int          `json:"bytes"`
	Begun   int          `json:"begun"`
	Found   int          `json:"found"`
	Records []recordJSON `json:"records,omitempty"`
}

func entryOf(e *journal.ThreadInfo) entryJSON {
	return entryJSON{Ref: e.Ref, Epoch: e.Epoch, State: e.State, Digest: e.Digest, Boot: e.Boot, At: e.At, Bytes: e.Bytes, Begun: e.Begun, Found: e.Found}
}

// recordJSON is a record of the journal, for scripts.
type recordJSON struct {
	File   string          `json:"file"`
	Offset int64           `json:"offset"`
	Bytes  int             `json:"bytes"`
	Kind   string          `json:"kind"`
	At     time.Time       `json:"at,omitzero"`
	Epoch  uint64          `json:"epoch,omitempty"`
	Digest string          `json:"digest,omitempty"`
	Boot   string          `json:"boot,omitempty"`
	Plan   json.RawMessage `json:"plan,omitempty"`
	Report *mess.Message   `json:"report,omitempty"`
}

func linesOf(lines []journal.RecordInfo) []recordJSON {
	list := make([]recordJSON, len(lines))
	for i, l := range lines {
		list[i] = recordJSON{
			File: l.File, Offset: l.Offset, Bytes: l.Bytes, Kind: l.Kind, At: l.At, Epoch: l.Epoch,
			Digest: l.Digest, Boot: l.Boot, Plan: l.Plan, Report: l.Report,
		}
	}
	return list
}

// checkJSON is the result of a check of the journal, for scripts.
type checkJSON struct {
	Journal  string        `json:"journal"`
	Records  int           `json:"records"`
	Threads  int           `json:"threads"`
	Torn     *placeJSON    `json:"torn,omitempty"`
	Mistakes []mistakeJSON `json:"mistakes"`
}

type placeJSON struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
}

type mistakeJSON struct {
	placeJSON
	Rule string `json:"rule"`
	What string `json:"what"`
}

func checkOf(dir string, r journal.Contents) checkJSON {
	c := checkJSON{Journal: dir, Records: len(r.Records), Threads: len(r.Threads()), Mistakes: []mistakeJSON{}}
	if r.Tail.Torn {
		c.Torn = &placeJSON{r.Tail.File, r.Tail.Offset}
	}
	for _, m := range r.Violations {
		c.Mistakes = append(c.Mistakes, mistakeJSON{placeJSON{m.File, m.Offset}, m.Rule, m.What})
	}
	return c
}
