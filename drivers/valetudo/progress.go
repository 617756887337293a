package valetudo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

// homeward is the task to return to the dock.
const homeward = "driving to its dock"

// cleanProgress follows the state of the robot during one task.
type cleanProgress struct {
	what     string
	began    time.Time
	out      bool    // the robot has set out
	lost     bool    // the robot was unreachable since it was last seen at its task
	floor    float64 // area of the task in cm²; 0 if unknown
	progress func(drivers.Progress)
	reported float64 // last reported percentage
}

func newCleanProgress(now time.Time, what string, floor float64, progress func(drivers.Progress)) *cleanProgress {
	if progress == nil {
		progress = func(drivers.Progress) {}
	}
	progress(drivers.Progress{Activity: what})
	return &cleanProgress{what: what, began: now, floor: floor, progress: progress}
}

// almost is the highest percentage before the robot reports its end.
const almost = 99

// step evaluates the present state; area is the cleaned area in cm², or 0 if unknown. over
// reports the end of the task.
func (j *cleanProgress) step(s state, now time.Time, area float64, t *drivers.HelpWait) (over bool, err error) {
	percent := 0.0
	if j.floor > 0 {
		percent = min(almost, 100*area/j.floor)
	}
	help, err := t.Update(now, s.neededHelp(), s.Status == isCleaning || s.Status == isMoving)
	if err != nil {
		return false, err
	}
	if help != nil {
		j.progress(drivers.Progress{Percent: j.reported, Activity: j.what + ", waiting for a person", Help: help})
		return false, nil
	}
	switch {
	case j.what == homeward && s.Status == isDocked:
		j.report(100, j.what)
		return true, nil
	case j.what == homeward && (s.Status == isIdle || s.Status == isPaused) && j.out:
		return false, fmt.Errorf("the robot stopped on the way to its dock, and is %s", s.activityText())
	case s.Status == isPaused:
		j.report(percent, j.what+", paused by hand")
		return false, nil
	case s.Flag == resumable && s.Status != isCleaning:
		j.out = true
		j.report(percent, j.what+", charging before it continues")
		return false, nil
	case s.Status == isCleaning, s.Status == isMoving, j.what == homeward && s.moves():
		j.out, j.lost = true, false
		j.report(percent, j.what)
		return false, nil
	case j.out && j.lost && s.Status == isIdle: // as after a restart of the robot
		return false, drivers.ErrOutcomeUnknown
	case j.out: // the robot returns, is docked or idle: it has finished
		j.report(100, j.what)
		return true, nil
	case now.Sub(j.began) > setOutTime:
		return false, errors.New("the robot has accepted the task, and has not set out in " + setOutTime.String() + "; inspect it")
	}
	return false, nil
}

// report reports the progress, which never decreases.
func (j *cleanProgress) report(percent float64, activity string) {
	j.reported = min(100, max(j.reported, percent))
	j.progress(drivers.Progress{Percent: j.reported, Activity: activity})
}

// cleaned returns the cleaned area of this task in cm², or 0 if unknown.
func (v *Vacuum) cleaned(ctx context.Context, s state) float64 {
	if s.Status != isCleaning {
		return 0
	}
	a, err := v.web.Do(ctx, httpclient.Call{Path: statisticsPath})
	if err != nil {
		return 0 // not every robot reports it
	}
	return parseArea(a.Body)
}

// parseArea returns the area in statistics in cm², or 0.
func parseArea(data []byte) float64 {
	var list []struct {
		Type  string  `json:"type"`
		Value float64 `json:"value"`
	}
	if json.Unmarshal(data, &list) != nil {
		return 0
	}
	for _, one := range list {
		if one.Type == "area" && one.Value > 0 {
			return one.Value
		}
	}
	return 0
}
