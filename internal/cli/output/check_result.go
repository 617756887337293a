package output

// CheckResult is the result of one check of `messkit doctor`.
type CheckResult struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Note bool   `json:"note,omitempty"` // OK, with something that the user should know
	Says string `json:"says"`           // the finding and the remedy
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
