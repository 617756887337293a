package daemon

import (
	"fmt"

	"github.com/messkit/messkit/internal/cli/output"
)

// foldersJSON is how far the MESSE-AF folders are behind the log.
type foldersJSON struct {
	Behind int     `json:"behind"` // threads with steps that their folders do not show
	LagS   float64 `json:"lag_s"`  // age of the oldest of these steps
}

func (f foldersJSON) String() string {
	if f.Behind == 0 {
		return "show all that is in the log"
	}
	return fmt.Sprintf("%s behind the log, the oldest step %.1f s", output.Count(f.Behind, "thread"), f.LagS)
}
