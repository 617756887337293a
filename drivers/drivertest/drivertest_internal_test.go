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
	return []Option{Safe(d.safe), Acts(d.acts), Level(d.level), Force(d.force), Obey(d.obey)}
}

func TestADeviceThatIsRightPasses(t *testing.T) {
	sim := &device{}
	Run(t, func(*testing.T) drivers.Device { sim.reset(); return sim }, all(sim)...)
}

func TestADeviceWithoutVerbsPasses(t *testing.T) {
	Run(t, func(*testing.T) drivers.Device { return &plain{name: "plain"} })
}

// broken are the ways in which the device can be wrong, by the rule that must
// see it. Each rule has one at least.
var broken = map[string][]fault{
	"has a name":                              {noName},
	"verbs need a start":                      {worksUnstarted, namelessErrors},
	"verbs end with Halt":                     {worksAfterHalt},
	"an ended context is obeyed":              {ignoresContext, hidesContext},
	"Halt is safe":                            {haltLeavesOn},
	"it knows whether it is safe":             {saysSafe, deniesSafe, safeStarted},
	"it knows whether it stands still":        {alwaysRests, neverRests, restsStarted, drivesOn},
	"Halt at any time":                        {secondHaltFails, secondHaltPanics},
	"Halt beside a verb":                      {haltLeavesCleaning},
	"Start after Halt":                        {startsOnce},
	"no goroutine is left":                    {leaksGoroutine},
	"a switch does what it says":              {cannotSwitchOff, switchesNothing},
	"read-back comes from the device":         {remembers},
	"a dimmer does what it says":              {dimsNothing, dimsAnyhow, zeroIsOn},
	"a colour is what was asked for":          {wrongColour, darkColour},
	"what opens also closes":                  {neverShuts, opensNot},
	"a white is what was asked for":           {wrongWhite, darkWhite, anyWhite},
	"what locks also unlocks":                 {neverUnlocks, locksNot},
	"a part of the way is what was asked for": {opensWholly, opensAnyhow},
	"what turns stays within its limits":      {turnsNot, turnsElsewhere, turnsAnywhere, turnsSilently},
	"a temperature is what was asked for":     {targetsNot, targetsAnother, targetsAny, targetsSilently, targetsOn},
	"orders are obeyed":                       {otherOrders, obeysNothing, obeysTwice, obeysStarted},
	"a motion is a lease":                     {movesOn, movesLong, movesNot},
	"a photo is new and whole":                {oldPhoto, wrongMIME, noBytes},
	"a map is new and whole":                  {wrongMap},
	"readings are whole":                      {noReadings, notANumber},
	"an observation says something":           {saysNothing, strangeFact},
	"areas have names of their own":           {sameNames},
	"a cleaner does what it says":             {cleansNothing, forgetsDone, progressFallsBack},
	"a cleaner refuses an unknown place":      {cleansAnywhere},
	"a cleaner stops midway":                  {forgetsRemaining, drivesOn},
}

func TestBrokenDevicesAreFound(t *testing.T) {
	for _, r := range rules {
		if len(broken[r.name]) == 0 {
			t.Errorf("no broken device shows that %q can fail", r.name)
		}
		for _, f := range broken[r.name] {
			t.Run(r.name+"/"+string(f), func(t *testing.T) {
				var err error
				for range 20 { // what goes wrong beside a call may go well where the machine is busy
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

func TestProbesAreAskedFor(t *testing.T) {
	b := newBench(func() drivers.Device { return &device{} })
	err := rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == "verbs need a start" })].check(t.Context(), b)
	for _, option := range []string{"Safe", "Acts", "Level", "Force"} {
		if err == nil || !strings.Contains(err.Error(), "the option "+option+" ") {
			t.Errorf("%v does not ask for %s", err, option)
		}
	}
}
