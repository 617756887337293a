package status

import (
	"fmt"

	"github.com/messkit/messkit/internal/cli/output"
)

// Folders is the delay of the MESSE-AF folders behind the log.
type Folders struct {
	Behind int     `json:"behind"` // threads whose folders lack a step
	LagS   float64 `json:"lag_s"`  // age of the oldest of these steps
}

func (f Folders) String() string {
	if f.Behind == 0 {
		return "show the log completely"
	}
	return fmt.Sprintf("%s behind the log, the oldest step %.1f s", output.Count(f.Behind, "thread"), f.LagS)
}
