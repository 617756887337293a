package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/resources"
)

// filesSetting raises the limit of open files.
const filesSetting = "LimitNOFILE= of the service, or ulimit -n"

// limits returns the use of each limit of the exchange.
func (e *ownExchange) limits() []resources.Use {
	list := e.door.Connections()
	if e.mqtt != nil && e.mqtt.own != nil {
		list = append(list, e.mqtt.own.Use())
	}
	if n, ok := resources.OpenFiles(); ok {
		list = append(list, resources.Use{What: "open files", Setting: filesSetting, Now: n, Limit: resources.Of().Files})
	}
	return list
}

// lately is the time for which a limit counts as binding after a refusal.
const lately = 10 * time.Minute

// nearly is the use, in per cent, at which the doctor warns of a limit.
const nearly = 80

// checkLimit says whether a limit binds, is about to bind, or has bound. quiet is
// true if none of that holds.
func checkLimit(u resources.Use, now time.Time) (f output.CheckResult, quiet bool) {
	f = output.CheckResult{What: "limits", OK: true, Note: true, Says: fmt.Sprintf("%s: %d of %d", u.What, u.Now, u.Limit)}
	away := ""
	if u.Refused > 0 {
		away = fmt.Sprintf("; the exchange turned %d away, the last at %s", u.Refused, u.Last.Local().Format(time.DateTime))
	}
	switch full := u.Now >= u.Limit; {
	case full || u.Refused > 0 && now.Sub(u.Last) < lately:
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
func (k *client) checkLimits(ctx context.Context) (found []output.CheckResult) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	var s statusJSON
	if x, err := k.open(); err != nil || x.Status(ctx, &s) != nil {
		return nil // the checks of the key and of the exchange tell
	}
	var fine []string
	for _, u := range s.Limits {
		if f, quiet := checkLimit(u, time.Now()); !quiet {
			found = append(found, f)
			continue
		}
		fine = append(fine, fmt.Sprintf("%s: %d of %d", u.What, u.Now, u.Limit))
	}
	if len(fine) > 0 {
		found = append(found, output.CheckResult{What: "limits", OK: true, Says: strings.Join(fine, ", ")})
	}
	return found
}
