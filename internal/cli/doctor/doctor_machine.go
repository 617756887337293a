package doctor

import (
	"fmt"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// checkTime reports that the executor rejects times of day, because its clock may be wrong.
func checkTime(c config.Agent) []output.CheckResult {
	err := c.Unset()
	if err == nil {
		return nil
	}
	return []output.CheckResult{{What: "clock", OK: true, Note: true, Says: fmt.Sprintf("%v; until then messkit rejects times of day", err)}}
}
