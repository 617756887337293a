package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/resources"
)

// recentLimit is the time for which a limit counts as binding after a refusal.
const recentLimit = 10 * time.Minute

// nearly is the use, in per cent, at which the doctor warns of a limit.
const nearly = 80

// CheckLimit reports whether a limit binds, is about to bind, or has bound. quiet is
// true if none of that holds.
func CheckLimit(u resources.Use, now time.Time) (f output.CheckResult, quiet bool) {
	f = output.CheckResult{What: "limits", OK: true, Note: true, Says: fmt.Sprintf("%s: %d of %d", u.What, u.Now, u.Limit)}
	away := ""
	if u.Refused > 0 {
		away = fmt.Sprintf("; the exchange turned %d away, the last at %s", u.Refused, u.Last.Local().Format(time.DateTime))
	}
	switch full := u.Now >= u.Limit; {
	case full || u.Refused > 0 && now.Sub(u.Last) < recentLimit:
		f.OK, f.Note = false, false
		f.Says += fmt.Sprintf("%s: the limit binds; raise %s, or look who uses them", away, u.Setting)
	case u.Now*100 >= u.Limit*nearly:
		f.Says += fmt.Sprintf("%s: the limit is about to bind; raise %s", away, u.Setting)
	case u.Refused > 0:
		f.Says += fmt.Sprintf("%s; raise %s if that comes again", away, u.Setting)
	default:
		return f, true
	}
	return f, false
}

// checkLimits asks the running exchange for the use of its limits.
func checkLimits(ctx context.Context, k *client.Client) (found []output.CheckResult) {
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	var s status.Document
	if x, err := k.Open(); err != nil || x.Status(ctx, &s) != nil {
		return nil // the checks of the key and of the exchange report it
	}
	found = append(found, checkUplinks(&s)...)
	var fine []string
	for _, u := range s.Limits {
		if f, quiet := CheckLimit(u, time.Now()); !quiet {
			found = append(found, f)
			continue
		}
		fine = append(fine, fmt.Sprintf("%s: %d of %d", u.What, u.Now, u.Limit))
	}
	if len(fine) > 0 {
		found = append(found, output.CheckResult{What: "limits", OK: true, Says: strings.Join(fine, ", ")})
	}
	for _, d := range s.Damaged {
		if s.Store == nil {
			break // the start of the exchange has mended what it could
		}
		found = append(found, output.CheckResult{What: "damage", Says: output.Printable(d)})
	}
	return found
}

// checkUplinks returns a result for each uplink of the running exchange. A cut one is no mistake: a site is
// made for that.
func checkUplinks(s *status.Document) (found []output.CheckResult) {
	check := func(what string, failing, state string, connected bool) {
		f := output.CheckResult{What: what, OK: true, Note: !connected, Says: state}
		if failing != "" {
			f.OK, f.Note, f.Says = false, false, failing
		}
		found = append(found, f)
	}
	for _, u := range s.Sites {
		check("site "+u.Site, u.Failing, u.String(), u.Connected)
	}
	if u := s.Centre; u != nil {
		check("centre", u.Failing, u.String(), u.Connected)
	}
	return found
}
