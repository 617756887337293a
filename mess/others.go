package mess

import "time"

// Reply answers needs_input, needs_confirmation or a suggestion
// (MESS 1.0 section 6).
type Reply struct {
	ID      string  `mess:"id"`
	Re      Refs    `mess:"re"`
	Answers Object  `mess:"answers"` // field to value, for needs_input
	Confirm *bool   `mess:"confirm"` // for needs_confirmation
	Accept  *bool   `mess:"accept"`  // for a suggestion
	Reason  string  `mess:"reason"`
	Context []Entry `mess:"context"`

	// ActionHash identifies the confirmed plan, as in the status of the question (messkit
	// extension). A reply may refer to the question by its ref instead.
	ActionHash string `mess:"action_hash"`

	// Code is the code on the page of the exchange, if it requires one (messkit extension).
	// The exchange removes it and stores it nowhere.
	Code string `mess:"code"`

	Extra Object `mess:"*"`
}

// Answer is a reply to one question in the form of MESSE-AF 2.1: the question is the
// message-level re, or Re as other implementations write it.
type Answer struct {
	ID    string `mess:"id"`
	Re    Refs   `mess:"re"`
	Value any    `mess:"value"`
	Extra Object `mess:"*"`
}

// Cancel withdraws requests (MESS 1.0 section 7.1).
type Cancel struct {
	ID     string `mess:"id"`
	Re     Refs   `mess:"re"`
	Reason string `mess:"reason"`
	Extra  Object `mess:"*"`
}

// Ack confirms that the exchange has stored a message (MESS 1.0 section 7.2). It refers to
// one message by Re and Ref, or to several requests by Requests.
type Ack struct {
	ID            string     `mess:"id"`
	Re            Refs       `mess:"re"`
	Ref           string     `mess:"ref"`
	Requests      []AckEntry `mess:"requests"`
	ReceivedAt    Time       `mess:"received_at"`
	QueuePosition *int64     `mess:"queue_position"`

	// Further fields for the sender, so that it need not query (messkit extension).
	Status Code     `mess:"status"` // status of the thread after this message
	Epoch  uint64   `mess:"epoch"`  // fencing token, in the ack of a claim
	Lease  Duration `mess:"lease"`  // remaining time of the claim's lease
	// Threads answers a heartbeat: the state of each thread that the executor reports, and
	// of each that the exchange considers held by it.
	Threads []HeldThread `mess:"threads"`
	// Stops answers a stop with the accepted one. In the answer to a registration or
	// heartbeat it lists the stops that the executor has not confirmed.
	Stops []Stop `mess:"stops"`
	// Drain and Resume answer a drain order or its end with the accepted one. In the answer
	// to a registration or heartbeat they contain the last such order, if this process of
	// the executor has not confirmed it.
	Drain  *DrainOrder `mess:"hold"`
	Resume *DrainOrder `mess:"resume"`
	// States asks the executor to report the states of its devices, in the answer to a
	// registration or heartbeat.
	States *bool `mess:"states"`

	Extra Object `mess:"*"`
}

// AckEntry maps one of several requests to its thread.
type AckEntry struct {
	ID            string `mess:"id"`
	Ref           string `mess:"ref"`
	QueuePosition *int64 `mess:"queue_position"` // messkit extension; MESS has it in an ack of one request
	Extra         Object `mess:"*"`
}

// HeldThread is one thread in a heartbeat and in its answer (messkit extension).
type HeldThread struct {
	Ref    string   `mess:"ref"`
	Epoch  uint64   `mess:"epoch"`
	Status Code     `mess:"status"` // only in the answer
	Yours  *bool    `mess:"yours"`  // only in the answer: the executor holds the claim of that epoch
	Stop   *bool    `mess:"stop"`   // only in the answer: a cancel waits for the executor
	Lease  Duration `mess:"lease"`  // only in the answer
	// Instance is the process that has claimed it, if known; only in the answer.
	Instance string `mess:"instance"`
	Extra    Object `mess:"*"`
}

// Query asks about threads, capabilities or executors (MESS 1.0 section 7.3).
type Query struct {
	ID     string  `mess:"id"`
	Type   string  `mess:"type"` // status, capabilities or executors
	Filter *Filter `mess:"filter"`
	Extra  Object  `mess:"*"`
}

// Filter limits a query (MESS 1.0 sections 7.3 and 8.6).
type Filter struct {
	Re       Refs     `mess:"re"`
	Status   []Code   `mess:"status"`
	Executor string   `mess:"executor"`
	Since    Time     `mess:"since"`
	Tags     []string `mess:"tags"`
	Extra    Object   `mess:"*"`
}

// Config registers an executor, sets routing rules (MESS 1.0 section 7.4), stops executors,
// or drains them.
type Config struct {
	ID       string      `mess:"id"`
	Executor *Executor   `mess:"executor"`
	Routing  *Routing    `mess:"routing"`
	Stop     *Stop       `mess:"stop"`   // messkit extension
	Drain    *DrainOrder `mess:"hold"`   // messkit extension
	Resume   *DrainOrder `mess:"resume"` // messkit extension: the end of a drain order
	Extra    Object      `mess:"*"`
}

// Stop is the order to stop everything (messkit extension). After it an executor executes
// nothing until a local operator resets the stop; no message resets it.
type Stop struct {
	ID        string `mess:"id"` // assigned by the exchange
	Reason    string `mess:"why"`
	By        string `mess:"by"`             // the exchange sets it and ignores the value from outside
	At        Time   `mess:"at"`             // like By
	Executors Refs   `mess:"executors,list"` // its executors; none: all registered executors
	// Ending is the number of waiting threads that have not ended yet, in the answer to a
	// stop of all. None of them can begin.
	Ending uint64 `mess:"ending"`
	Extra  Object `mess:"*"`
}

// DrainOrder is the order to accept nothing new, or, as Config.Resume, to accept it again
// (messkit extension). Claimed work continues. Short form: true.
type DrainOrder struct {
	ID        string `mess:"id"` // assigned by the exchange; the same order may arrive twice
	Reason    string `mess:"why,words"`
	By        string `mess:"by"`             // the exchange sets it and ignores the value from outside
	At        Time   `mess:"at"`             // like By
	Executors Refs   `mess:"executors,list"` // its executors; none: all possible executors
	Extra     Object `mess:"*"`
}

// DrainState is the drain state of an executor (messkit extension).
type DrainState struct {
	// Orders contains the ids of the orders that this process has accepted, drain orders
	// and their ends.
	Orders Refs `mess:"orders,list"`
	// Reason is the reason why it accepts nothing new; "" if it does.
	Reason string `mess:"why"`
	Extra  Object `mess:"*"`
}

// StopState is the stop state of an executor (messkit extension).
type StopState struct {
	// Orders contains the ids of the stops that it has accepted and stored.
	Orders Refs `mess:"orders,list"`
	// Reason is the reason of the stop; "" if it is not stopped.
	Reason  string       `mess:"why"`
	Devices []SafeDevice `mess:"devices"` // result of the stop for each device
	Extra   Object       `mess:"*"`
}

// SafeDevice is the result of a stop for one device (messkit extension).
type SafeDevice struct {
	Device   string   `mess:"device"`
	State    string   `mess:"state"`    // safe, unsafe, or pending until its driver answers
	Evidence Evidence `mess:"evidence"` // only for safe
	Took     Duration `mess:"took"`
	Err      string   `mess:"err"`
	Extra    Object   `mess:"*"`
}

// Executor describes an executor (MESS 1.0 sections 7.4 and 8.3). In an update, absent
// fields keep their values; with only its id (and Holding) it is a heartbeat.
type Executor struct {
	ID           string       `mess:"id"`
	Name         string       `mess:"name,words"`
	Capabilities []Capability `mess:"capabilities"`
	Availability Availability `mess:"availability"`
	Schedule     string       `mess:"schedule"` // cron, if availability is schedule

	// messkit extensions.
	Versions []string     `mess:"versions"` // supported MESS versions; confirm_before needs 1.1.0
	Holding  []HeldThread `mess:"holding"`  // the claims that it holds by its own records
	// Instance identifies the process. The exchange offers a thread again that another
	// process of the same executor has claimed and not begun, once that process is gone.
	Instance string `mess:"instance"`
	// Stopped is absent if it has not changed.
	Stopped *StopState `mess:"stopped"`
	// Drained is absent if it has not changed.
	Drained *DrainState `mess:"held"`
	// States contains the states of its devices, if the exchange has asked for them.
	States []DeviceState `mess:"states"`
	Extra  Object        `mess:"*"`
}

// DeviceState is the state of one device, as its executor reports (messkit extension).
type DeviceState struct {
	Device string `mess:"device"`
	State  string `mess:"state"` // on, off, open, closed, opening, closing, locked, unlocked, locking, unlocking, docked, cleaning, paused, returning, idle; unknown without a report

	Name     string         `mess:"name"`     // for people; "" if the executor reports none
	Area     string         `mess:"area"`     // "" for none
	Class    string         `mess:"class"`    // light, plug, camera, ...; "" for none
	AsOf     Time           `mess:"as_of"`    // of the newest reading; "" if the executor has never read it
	Doing    string         `mess:"doing"`    // cleaning, opening, paused, ...; "" for no lasting activity
	Readings []StateReading `mess:"readings"` // the last known ones, one of each quantity
	Limits   Object         `mess:"limits"`   // its own ranges of parameters: {temperature: {min: 5, max: 30}}
	Failing  *DeviceFailing `mess:"failing"`  // nil if it works
	Locked   string         `mess:"locked"`   // reason of its lockout; "" for none
	Extra    Object         `mess:"*"`
}

// StateReading is one known value of a device. A truth value is 0 or 1.
type StateReading struct {
	Quantity  string  `mess:"quantity"` // temperature, power, ..., or on, opening, lock, docked, level, angle, target
	Value     float64 `mess:"value"`
	Unit      string  `mess:"unit"`
	AsOf      Time    `mess:"as_of"`
	Commanded *bool   `mess:"commanded"` // true: the commanded value, with no reading since
	Estimated *bool   `mess:"estimated"` // true: calculated from the time of its motion
	Extra     Object  `mess:"*"`
}

// DeviceFailing says that the last use of a device failed.
type DeviceFailing struct {
	Since  Time   `mess:"since"`
	Reason string `mess:"reason"`
	Extra  Object `mess:"*"`
}

// StateUnknown is the state of a device without a report.
const StateUnknown = "unknown"

// Availability of an executor; "" means always.
type Availability string

// Values of Availability.
const (
	Always   Availability = "always"
	Schedule Availability = "schedule"
	OnDemand Availability = "on_demand"
)

// Routing is a list of rules that prefer executors (MESS 1.0 section 7.4).
type Routing struct {
	Rules []Rule `mess:"rules"`
	Extra Object `mess:"*"`
}

// Rule prefers executors for the requests that it matches. Prefer is a list of
// executor ids, or the single word lower_latency or higher_precision.
type Rule struct {
	Match  Match `mess:"match"`
	Prefer Refs  `mess:"prefer,list"`
	// Default is the rule for requests that match no other (MESSE-AF 2.1, "Simple Router").
	Default *Preferred `mess:"default"`
	Extra   Object     `mess:"*"`
}

// Preferred contains the executors of a default rule.
type Preferred struct {
	Prefer Refs   `mess:"prefer,list"`
	Extra  Object `mess:"*"`
}

// Keywords that a Rule may prefer instead of executors.
const (
	LowerLatency    = "lower_latency"
	HigherPrecision = "higher_precision"
)

// Match limits a routing rule; "" matches everything.
type Match struct {
	Capability string    `mess:"capability"`
	Urgency    Urgency   `mess:"urgency"`
	Precision  Precision `mess:"precision"`
	Extra      Object    `mess:"*"`
}

// Suggestion proposes a protocol action (MESS 1.0 section 7.5).
type Suggestion struct {
	ID       string `mess:"id"`
	Type     string `mess:"type"` // merge, split, delegate, alternative or defer
	Re       Refs   `mess:"re,list"`
	Proposed any    `mess:"proposed"`
	Reason   string `mess:"reason"`
	Extra    Object `mess:"*"`
}

// FailingField is the field of config.executor that lists the devices whose last use
// failed, for operators: [{device, at, why}] (messkit extension).
const FailingField = "failing"

// Failing is a device whose last use failed, as its executor reports.
type Failing struct {
	Device string    `json:"device"`
	At     time.Time `json:"at"` // with a resolution of one second
	Reason string    `json:"why"`
}

// FailingItems returns the value of FailingField for failing devices.
func FailingItems(all []Failing) []any {
	list := make([]any, len(all))
	for i, f := range all {
		list[i] = Object{{Key: "device", Value: f.Device}, {Key: "at", Value: f.At.UTC().Format(time.RFC3339)}, {Key: "why", Value: f.Reason}}
	}
	return list
}

// FailingDevices returns the devices in FailingField. It ignores entries with another
// structure, because any executor may write the field.
func (e Executor) FailingDevices() []Failing {
	value, _ := e.Extra.Get(FailingField)
	list, _ := value.([]any)
	var all []Failing
	for _, one := range list {
		o, _ := one.(Object)
		text := func(key string) string {
			v, _ := o.Get(key)
			s, _ := v.(string)
			return s
		}
		at, err := time.Parse(time.RFC3339, text("at"))
		if f := (Failing{text("device"), at, text("why")}); err == nil && f.Device != "" && f.Reason != "" {
			all = append(all, f)
		}
	}
	return all
}

// SoftwareField is the field of config.executor with the program of an executor and its version, such
// as "messkit 1.2.0" (messkit extension).
const SoftwareField = "software"

// BatteryField is the field of config.executor with the charge of the battery that supplies the
// executor: {percent, charging} (messkit extension).
const BatteryField = "battery"

// UsesField is the field of a status with the devices that the executor uses for the thread: a list of
// {device, capability} (messkit extension).
const UsesField = "uses"

// PlacesField is the field of a DeviceState with the names of the rooms or files that the device has
// reported (messkit extension).
const PlacesField = "places"

// ColourField is the field of a DeviceState with the color that the device has reported, such as "#ff8800"
// (messkit extension). A light that shows a white has none.
const ColourField = "colour"

// HiddenField is the field of a DeviceState that is true for a device that pages leave out of their first
// view (messkit extension). It works like any other.
const HiddenField = "hidden"

// DecideWithinField is the field of a request with the time that a person has for a confirmation, a
// duration (messkit extension).
const DecideWithinField = "decide_within"

// Battery is the charge of a battery that supplies an executor.
type Battery struct {
	Percent  float64 `json:"percent"` // 0 to 100
	Charging bool    `json:"charging"`
}

// Software returns SoftwareField, "" without a text there.
func (e Executor) Software() string {
	value, _ := e.Extra.Get(SoftwareField)
	s, _ := value.(string)
	return s
}

// Battery returns BatteryField, nil without a number from 0 to 100 as percent.
func (e Executor) Battery() *Battery {
	value, _ := e.Extra.Get(BatteryField)
	o, _ := value.(Object)
	percent, _ := o.Get("percent")
	charging, _ := o.Get("charging")
	n, _ := percent.(Number)
	b := Battery{}
	var err error
	if b.Percent, err = n.Float64(); err != nil || !(b.Percent >= 0 && b.Percent <= 100) { // also NaN
		return nil
	}
	b.Charging, _ = charging.(bool)
	return &b
}
