// Package capabilities holds what can be asked for, and turns the words of a
// request into exactly one plan, a question, or a refusal with a reason. It is
// pure: a resolver is made from data and answers from its arguments alone.
package capabilities

import (
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// Plan is a request resolved to one device, one command and its parameters.
type Plan struct {
	Capability string        // id in the catalogue: "switch-on"
	Device     string        // name in the configuration: "porch-lamp"
	Command    Command       // what is done with the device
	Args       mess.Object   // parameters in SI units, in the catalogue's order
	Risk       Risk          // the effect of being wrong
	Effect     Effect        // what doing it twice means
	For        time.Duration // how long a state is to last, 0 for until told otherwise
	Summary    string        // what will be done, for a person: "turn on the porch lamp"
	// Consequences for a confirmation: "the vacuum will move about the kitchen".
	Consequences string
	Reversible   bool
	// NotBefore is when it may begin; zero for at once.
	NotBefore time.Time `json:",omitzero"`
	// After is how long a step waits when the one before it is done.
	After time.Duration `json:",omitzero"`
	// Steps, if there are any, are carried out in order, and the plan has no
	// command of its own.
	Steps []Plan `json:",omitempty"`
	// Want is what the requester asked to get back beyond the capability's own
	// answer (response_hint), as content types.
	Want []string
	// Place is where the device is, or what it works on, where the requester asked for
	// that; "" where nobody knows.
	Place string `json:",omitempty"`
	// Asks is the state that a question asks for with yes or no, like "on" or "closed",
	// behind AnyOf where one of several things is enough; "" for none.
	Asks string `json:",omitempty"`
	// Unused is what of the request's context changes nothing of the plan, as it was
	// written. It is told to the requester.
	Unused []string `json:",omitempty"`
}

// Actuates reports whether the plan would change the world, whatever it says of
// itself.
func (p Plan) Actuates() bool { return p.Effect != Query || p.Command.acts() }

// Repeatable reports whether carrying out the plan twice changes no more than once does.
// A repetition of what acts for a time begins that time anew.
func (p Plan) Repeatable() bool {
	for _, step := range p.Each() {
		if step.Actuates() && (step.Effect != Idempotent || step.For > 0) {
			return false
		}
	}
	return true
}

// Command is what an executor does with a device; each stands for one verb of
// package drivers.
type Command string

// The commands.
const (
	TakePhoto      Command = "take-photo"      // drivers.Photographer
	Observe        Command = "observe"         // drivers.Observer, with a photo where the device is a Photographer
	SetSwitch      Command = "switch"          // drivers.Switch; args: on (bool)
	Toggle         Command = "toggle"          // drivers.SwitchReader and drivers.Switch: off if it is on, on if it is off
	Dim            Command = "dim"             // drivers.Dimmer; args: level (percent), or change (percent more or, below 0, less)
	Tint           Command = "tint"            // drivers.Tinter; args: colour (#rrggbb)
	Warm           Command = "warm"            // drivers.Warmer; args: kelvin, or change (kelvin more or, below 0, less)
	ReadState      Command = "read-state"      // drivers.SwitchReader, drivers.Sensor
	Clean          Command = "clean"           // drivers.Cleaner; args: areas ([]string)
	Dock           Command = "dock"            // drivers.Cleaner
	CleanSpot      Command = "spot"            // drivers.Spotter
	Pause          Command = "pause"           // drivers.Pauser
	Resume         Command = "resume"          // drivers.Pauser
	Stop           Command = "stop"            // drivers.Stopper
	Print          Command = "print"           // drivers.Printer; args: file (its name among the device's spots)
	Open           Command = "open"            // drivers.Opener
	Shut           Command = "close"           // drivers.Opener
	OpenTo         Command = "open-to"         // drivers.Positioner; args: opening (percent)
	Lock           Command = "lock"            // drivers.Locker
	Unlock         Command = "unlock"          // drivers.Locker
	TurnTo         Command = "turn-to"         // drivers.Turner; args: angle (degrees)
	Press          Command = "press"           // drivers.Presser
	SetTemperature Command = "set-temperature" // drivers.Thermostat; args: temperature (°C)
	Watch          Command = "watch"           // drivers.Sensor, SwitchReader, OpeningReader, LockReader; args: until, value, quantity; lasts For at most
	Await          Command = "await"           // drivers.Worker, Sensor (power), RestReader: until it is done; lasts For at most
	Earlier        Command = "earlier"         // no verb: sends pictures of an earlier thread; args: thread, pictures
	Move           Command = "move"            // drivers.Mover; args: forward (m/s), turn (rad/s, to the left); lasts For
)

// Known reports whether c is one of the commands.
func (c Command) Known() bool { return slices.Contains(commands, string(c)) }

// Parameters are what a plan with this command may bear: its arguments, and for
// how long a state is to last.
func (c Command) Parameters() []string {
	switch c {
	case SetSwitch:
		return []string{"on", "for"}
	case Dim:
		return []string{"level", "change"}
	case Tint:
		return []string{"colour"}
	case Warm:
		return []string{"kelvin", "change"}
	case OpenTo:
		return []string{"opening"}
	case TurnTo:
		return []string{"angle"}
	case SetTemperature:
		return []string{"temperature"}
	case Clean:
		return []string{"areas"}
	case Print:
		return []string{"file"}
	case Watch, Await:
		return []string{"for"}
	case Move:
		return []string{"forward", "turn", "for"}
	}
	return nil
}

// KnownCommands lists the commands for people.
func KnownCommands() string { return strings.Join(commands, ", ") }

// Risk is the effect of being wrong, mildest first.
type Risk string

// The risk classes of a plan.
const (
	RiskObserve      Risk = "observe"      // camera, sensor
	RiskComfort      Risk = "comfort"      // lamp
	RiskAppliance    Risk = "appliance"    // heat, motor, pump
	RiskAccess       Risk = "access"       // lock, garage, valve
	RiskMotion       Risk = "motion"       // something that moves about
	RiskIrreversible Risk = "irreversible" // cannot be undone
)

// Known reports whether r is one of the classes.
func (r Risk) Known() bool {
	switch r {
	case RiskObserve, RiskComfort, RiskAppliance, RiskAccess, RiskMotion, RiskIrreversible:
		return true
	}
	return false
}

// Effect says what doing a thing twice means.
type Effect string

// Values of Effect.
const (
	Query      Effect = "query"      // reads; changes nothing
	Idempotent Effect = "idempotent" // twice is as once
	Once       Effect = "once"       // must not happen twice
)

// Home is what a resolver may choose from.
type Home struct {
	Devices []Device
	// Now is when the request is read, in the zone of the home; zero where nobody
	// knows: times of the clock cannot be kept then.
	Now time.Time
	// Unset is why the clock is not known to be set, "" if it is: a length of time
	// can be kept then, and no time of the clock.
	Unset string
	// Where the home is, for daylight; nil where nobody knows.
	Where *Position
	// Facts are capabilities that are so of the place, like home-kitchen-access:
	// nobody does anything for them.
	Facts []string
	// MaxSteps is how many things one request may do without a question; 0 is 12.
	MaxSteps int
	// WatchFor is how long a watch lasts where the request does not say it, and
	// WatchLongest how long it may at most; 0 is WatchFor and WatchLongest.
	WatchFor, WatchLongest time.Duration
}

// Device is a configured device as the resolver sees it.
type Device struct {
	Name    string   // unique: "porch-lamp"
	Label   string   // what people call it: "porch light"
	Aliases []string // other names: "front door light"
	Class   string   // light, plug, camera, vacuum, lock, garage-door, fan, heater, ...
	Area    string   // "porch"
	Sees    []string // what a camera looks at: "fridge", "front door"
	SeenBy  string   // the camera that takes a picture of it after an act; "" for none
	Maps    bool     // it draws a map of what it has cleaned
	Places  bool     // it can tell Spots of its own, though maybe not now
	// Commands that the device's verbs allow.
	Commands []Command
	// Quantities are what it can tell; nil where that is not known before it is asked.
	Quantities []string
	// Within are the device's own limits for parameters of plans: "angle" in degrees,
	// "kelvin", "temperature" in °C.
	Within map[string]Range
	// Positions are the angles that have a name here.
	Positions []Pose
	// Spots are places within reach of the device that have a name of their
	// own: rooms and spills for a vacuum.
	Spots []Spot
	// Risk, where configured, replaces the catalogue's class for this device.
	Risk Risk
	// Effect, where configured, is what doing a thing twice means for this device.
	Effect Effect
}

// Range is what a parameter may be, both ends included.
type Range struct{ Min, Max float64 }

// Pose is an angle with a name.
type Pose struct {
	Name  string  // "left"
	Angle float64 // degrees
}

// Spot is a place that a device can work on.
type Spot struct {
	Name string // "near sink"
	Room string // "kitchen"; Name == Room for the room as a whole
	Note string // "rice spill"
}

// Outcome is what a request was resolved to: exactly one of the three is set.
type Outcome struct {
	Plan     *Plan
	Question *Question
	Refusal  *Refusal
	Explain  Explanation
}

// Question is what must be answered before there is a plan.
type Question struct {
	Field   string   // the name the answer goes by
	Text    string   // "Rice near the sink and crumbs by the stove: which area?"
	Options []string // the answers that fit
	// Given are the answers to earlier questions of the same request; a resolver
	// that is given the question back goes on from them.
	Given mess.Object
}

// Refusal is why there is no plan.
type Refusal struct {
	Reason  string   // for the requester: what was not understood or is not there, and what is
	Nearest []string // names or capabilities that come nearest
}

// Explanation shows how an outcome was reached.
type Explanation struct {
	Template   string            // the sentence template that matched
	Capability string            // that the text is about, whatever the outcome
	Evidence   mess.Evidence     // by which it would be known that it was done
	Slots      map[string]string // what its slots took
	Score      float64           // 1 for a template, less for the scorer
	RunnerUp   string            // the next best reading, and its score
	Leftover   []string          // words that nothing consumed
}

// Resolver turns requests into outcomes for one home. It is immutable and safe
// for concurrent use.
type Resolver struct {
	catalogue *Catalogue
	home      Home
	class     []string // of each device, in the catalogue's words
	index     *index
	names     *names
	all       spelled
	named     []spelling // the words of names that may be misspelt
	able      string     // what this home can do, shortly
	ids       []string   // of the capabilities that it has
}
