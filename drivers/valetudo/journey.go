package valetudo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

// homeward is the task of going to the dock.
const homeward = "driving to its dock"

// journey follows one task from what the robot says of itself.
type journey struct {
	what     string
	began    time.Time
	out      bool    // it has set out
	lost     bool    // it was out of reach since it was seen at it
	floor    float64 // cm² that it will go over; 0 where that is not known
	progress func(drivers.Progress)
	told     float64 // the percent that were told
}

func newJourney(now time.Time, what string, floor float64, progress func(drivers.Progress)) *journey {
	if progress == nil {
		progress = func(drivers.Progress) {}
	}
	progress(drivers.Progress{Doing: what})
	return &journey{what: what, began: now, floor: floor, progress: progress}
}

// almost is the most that is told before the robot says that it has done.
const almost = 99

// step takes in how the robot is now; area is how many cm² it has done in this
// task, 0 where it does not say. over is the task's end.
func (j *journey) step(s state, now time.Time, area float64, t *drivers.Trouble) (over bool, err error) {
	percent := 0.0
	if j.floor > 0 {
		percent = min(almost, 100*area/j.floor)
	}
	help, err := t.Meets(now, s.trouble(), s.Status == isCleaning || s.Status == isMoving)
	if err != nil {
		return false, err
	}
	if help != nil {
		j.progress(drivers.Progress{Percent: j.told, Doing: j.what + ", waiting for a person", Help: help})
		return false, nil
	}
	switch {
	case j.what == homeward && s.Status == isDocked:
		j.tell(100, j.what)
		return true, nil
	case j.what == homeward && (s.Status == isIdle || s.Status == isPaused) && j.out:
		return false, fmt.Errorf("it stopped on the way to its dock, and is %s", s.doing())
	case s.Status == isPaused:
		j.tell(percent, j.what+", paused by hand")
		return false, nil
	case s.Flag == resumable && s.Status != isCleaning:
		j.out = true
		j.tell(percent, j.what+", charging before it goes on")
		return false, nil
	case s.Status == isCleaning, s.Status == isMoving, j.what == homeward && s.moves():
		j.out, j.lost = true, false
		j.tell(percent, j.what)
		return false, nil
	case j.out && j.lost && s.Status == isIdle: // as after a restart of its own
		return false, drivers.ErrLostSight
	case j.out: // it returns, is docked or idle: the robot says that it has done
		j.tell(100, j.what)
		return true, nil
	case now.Sub(j.began) > setOutTime:
		return false, errors.New("it took the task, and has not set out in " + setOutTime.String() + "; look at it")
	}
	return false, nil
}

// tell says how far it is; it never goes back.
func (j *journey) tell(percent float64, doing string) {
	j.told = min(100, max(j.told, percent))
	j.progress(drivers.Progress{Percent: j.told, Doing: doing})
}

// cleaned is how many cm² the robot has done in this task; 0 where it does not
// say.
func (v *Vacuum) cleaned(ctx context.Context, s state) float64 {
	if s.Status != isCleaning {
		return 0
	}
	a, err := v.web.Do(ctx, web.Call{Path: statisticsPath})
	if err != nil {
		return 0 // not every robot has it
	}
	return parseArea(a.Body)
}

// parseArea finds the area in statistics, in cm²; 0 for none.
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
