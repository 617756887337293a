package output

// CheckResult is what the doctor says about one thing.
type CheckResult struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Note bool   `json:"note,omitempty"` // it is in order, and yet somebody should know
	Says string `json:"says"`           // what was found; what to do
}

// Sign returns three characters for the result: "ok ", "BAD" or "-- ".
func (f CheckResult) Sign() string {
	switch {
	case !f.OK:
		return "BAD"
	case f.Note:
		return "-- "
	}
	return "ok "
}
