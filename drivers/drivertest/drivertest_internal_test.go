package drivertest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

func all(d *device) []Option {
	return []Option{Safe(d.safe), Acts(d.acts), Level(d.level), Force(d.force), RunWatchdogCommand(d.runCommand)}
}

func TestCorrectDevicePasses(t *testing.T) {
	sim := &device{}
	Run(t, func(*testing.T) drivers.Device { sim.reset(); return sim }, all(sim)...)
}

func TestDeviceWithoutVerbsPasses(t *testing.T) {
	Run(t, func(*testing.T) drivers.Device { return &plain{name: "plain"} })
}

// broken maps each rule to the defects that it must detect, at least one.
var broken = map[string][]fault{
	"the device has a name":                        {noName},
	"verbs need Start":                             {worksUnstarted, namelessErrors},
	"verbs end with Halt":                          {worksAfterHalt},
	"verbs respect an ended context":               {ignoresContext, hidesContext},
	"Halt is safe":                                 {haltLeavesOn},
	"Safe reports the real state":                  {compareSafe, deniesSafe, safeStarted},
	"AtRest reports the real state":                {alwaysRests, neverRests, restsStarted, drivesOn},
	"Halt works at any time":                       {secondHaltFails, secondHaltPanics},
	"Halt works during a verb":                     {haltLeavesCleaning},
	"Start works after Halt":                       {startsOnce},
	"no goroutines remain":                         {leaksGoroutine},
	"a switch sets the requested level":            {cannotSwitchOff, switchesNothing},
	"readback comes from the device":               {remembers},
	"a dimmer sets the requested level":            {dimsNothing, dimsAnyhow, zeroIsOn},
	"a light sets the requested color":             {wrongColor, darkColor},
	"an opener opens and closes":                   {neverShuts, opensNot},
	"a light sets the requested color temperature": {wrongWhite, darkWhite, anyWhite},
	"a locker locks and unlocks":                   {neverUnlocks, locksNot},
	"a positioner reaches the requested position":  {opensWholly, opensAnyhow},
	"a turner stays within its limits":             {turnsNot, turnsElsewhere, turnsAnywhere, turnsSilently},
	"a thermostat sets the requested temperature":  {targetsNot, targetsAnother, targetsAny, targetsSilently, targetsOn},
	"RunWatchdogCommand executes commands":         {otherOrders, obeysNothing, obeysTwice, obeysStarted},
	"a motion ends with its lease":                 {movesOn, movesLong, movesNot},
	"a photo is new and complete":                  {oldPhoto, wrongMIME, noBytes},
	"a map is new and complete":                    {wrongMap},
	"readings are complete":                        {noReadings, notANumber},
	"an observation has a text":                    {saysNothing, strangeFact},
	"areas have distinct names":                    {sameNames},
	"a cleaner cleans the requested areas":         {cleansNothing, forgetsDone, progressFallsBack},
	"a cleaner rejects an unknown place":           {cleansAnywhere},
	"a cleaner stops during a task":                {forgetsRemaining, drivesOn},
}

func TestFaultyDevicesAreFound(t *testing.T) {
	for _, r := range rules {
		if len(broken[r.name]) == 0 {
			t.Errorf("no broken device shows that %q can fail", r.name)
		}
		for _, f := range broken[r.name] {
			t.Run(r.name+"/"+string(f), func(t *testing.T) {
				var err error
				for range 20 { // a concurrent defect may stay hidden on a busy host
					sim := &device{fault: f, end: make(chan struct{})}
					t.Cleanup(func() { close(sim.end) })
					b := newBench(func() drivers.Device { sim.reset(); return sim }, all(sim)...)
					b.limit = 100 * time.Millisecond // it may hang, which is its fault
					err = r.check(t.Context(), b)
					if _, skipped := errors.AsType[notApplicable](err); err != nil && !skipped {
						return
					}
				}
				t.Errorf("got %v, want an error", err)
			})
		}
	}
}

func TestMissingOptionsAreNamed(t *testing.T) {
	b := newBench(func() drivers.Device { return &device{} })
	err := rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == "verbs need Start" })].check(t.Context(), b)
	for _, option := range []string{"Safe", "Acts", "Level", "Force"} {
		if err == nil || !strings.Contains(err.Error(), "the option "+option+" ") {
			t.Errorf("%v does not ask for %s", err, option)
		}
	}
}
