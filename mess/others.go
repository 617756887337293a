package mess

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

	// Ours: which plan is confirmed, as the question's status named it. A reply
	// may name the question by its ref instead.
	ActionHash string `mess:"action_hash"`

	// Ours: the code that the page of the exchange shows, where it asks for one.
	// The exchange takes it out and stores it nowhere.
	Code string `mess:"code"`

	Extra Object `mess:"*"`
}

// Answer is a reply to one question as MESSE-AF 2.1 writes it: the question is
// the message-level re, or Re as writers in the field put it.
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

// Ack says that the exchange has a message on disk (MESS 1.0 section 7.2). It
// names one message by Re and Ref, or several requests by Requests.
type Ack struct {
	ID            string     `mess:"id"`
	Re            Refs       `mess:"re"`
	Ref           string     `mess:"ref"`
	Requests      []AckEntry `mess:"requests"`
	ReceivedAt    Time       `mess:"received_at"`
	QueuePosition *int64     `mess:"queue_position"`

	// Ours: what the sender needs to go on, so that it need not ask again.
	Status Code     `mess:"status"` // the thread's status after this message
	Epoch  uint64   `mess:"epoch"`  // the fence, in the ack of a claim
	Lease  Duration `mess:"lease"`  // what is left of the claim's lease
	// Threads answers a heartbeat: the state of each thread that the executor
	// said it holds, and of each that the exchange says it holds.
	Threads []HeldThread `mess:"threads"`
	// Stops answers a stop: the one that was taken. In the answer to a
	// registration or heartbeat they are those that the executor has not
	// confirmed.
	Stops []Stop `mess:"stops"`
	// Hold and Resume answer a hold and its end: the one that was taken. In the
	// answer to a registration or heartbeat they are the last such order, where
	// this process of the executor has not confirmed it.
	Hold   *Hold `mess:"hold"`
	Resume *Hold `mess:"resume"`
	// States, in the answer to a registration or heartbeat, asks the executor to
	// tell how its devices are.
	States *bool `mess:"states"`

	Extra Object `mess:"*"`
}

// AckEntry maps one of several requests to its thread.
type AckEntry struct {
	ID            string `mess:"id"`
	Ref           string `mess:"ref"`
	QueuePosition *int64 `mess:"queue_position"` // ours; MESS has it in an ack of one request
	Extra         Object `mess:"*"`
}

// HeldThread is one thread in a heartbeat and in its answer (ours).
type HeldThread struct {
	Ref    string   `mess:"ref"`
	Epoch  uint64   `mess:"epoch"`
	Status Code     `mess:"status"` // in the answer
	Yours  *bool    `mess:"yours"`  // in the answer: the claim of that epoch is held by the asker
	Stop   *bool    `mess:"stop"`   // in the answer: a cancel waits for the executor's word
	Lease  Duration `mess:"lease"`  // in the answer
	// Instance is, in the answer, the process that has claimed it, where that has named itself.
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

// Filter of a query (MESS 1.0 sections 7.3 and 8.6).
type Filter struct {
	Re       Refs     `mess:"re"`
	Status   []Code   `mess:"status"`
	Executor string   `mess:"executor"`
	Since    Time     `mess:"since"`
	Tags     []string `mess:"tags"`
	Extra    Object   `mess:"*"`
}

// Config registers an executor, or sets routing rules (MESS 1.0 section 7.4), or
// stops executors, or has them take nothing new for a while.
type Config struct {
	ID       string    `mess:"id"`
	Executor *Executor `mess:"executor"`
	Routing  *Routing  `mess:"routing"`
	Stop     *Stop     `mess:"stop"`   // ours
	Hold     *Hold     `mess:"hold"`   // ours
	Resume   *Hold     `mess:"resume"` // ours: the end of a hold
	Extra    Object    `mess:"*"`
}

// Stop is the order to stop everything (ours). An executor that has taken it
// lets nothing pass until a person at its place clears it; no message does.
type Stop struct {
	ID        string `mess:"id"` // given by the exchange
	Why       string `mess:"why"`
	By        string `mess:"by"`             // set by the exchange, never believed from outside
	At        Time   `mess:"at"`             // as By
	Executors Refs   `mess:"executors,list"` // whom it is for; none: all that are registered
	// Ending is how many threads that waited have not ended yet, in the answer to a stop
	// of all. None of them can begin.
	Ending uint64 `mess:"ending"`
	Extra  Object `mess:"*"`
}

// Hold is the order to take nothing new, or, as Config.Resume, to take it again
// (ours). What was claimed before goes on. Short form: true.
type Hold struct {
	ID        string `mess:"id"` // given by the exchange; the same order may come twice
	Why       string `mess:"why,words"`
	By        string `mess:"by"`             // set by the exchange, never believed from outside
	At        Time   `mess:"at"`             // as By
	Executors Refs   `mess:"executors,list"` // whom it is for; none: all that it can be for
	Extra     Object `mess:"*"`
}

// OnHold is what an executor has made of holds (ours).
type OnHold struct {
	// Orders are the ids of those that this process of it has taken, holds and
	// their ends.
	Orders Refs `mess:"orders,list"`
	// Why it takes nothing new; "" if it does.
	Why   string `mess:"why"`
	Extra Object `mess:"*"`
}

// Stopped is how an executor stands (ours).
type Stopped struct {
	// Orders are the ids of the stops that it has taken and written down.
	Orders Refs `mess:"orders,list"`
	// Why it is stopped; "" if it is not, or not any more.
	Why     string       `mess:"why"`
	Devices []SafeDevice `mess:"devices"` // what they did when it was stopped
	Extra   Object       `mess:"*"`
}

// SafeDevice is what one device did in a stop (ours).
type SafeDevice struct {
	Device   string   `mess:"device"`
	State    string   `mess:"state"`    // safe, unsafe, or pending: its driver has not answered
	Evidence Evidence `mess:"evidence"` // where it is safe
	Took     Duration `mess:"took"`
	Err      string   `mess:"err"`
	Extra    Object   `mess:"*"`
}

// Executor describes an executor (MESS 1.0 sections 7.4 and 8.3). As an update
// of one that is registered, what is absent stays as it was; with only its id
// (and Holding) it is a heartbeat.
type Executor struct {
	ID           string       `mess:"id"`
	Name         string       `mess:"name,words"`
	Capabilities []Capability `mess:"capabilities"`
	Availability Availability `mess:"availability"`
	Schedule     string       `mess:"schedule"` // cron, where availability is schedule

	// Ours.
	Versions []string     `mess:"versions"` // MESS versions it speaks; confirm_before needs 1.1.0
	Holding  []HeldThread `mess:"holding"`  // the claims it believes it holds
	// Instance names the process. What another process of the same executor has
	// claimed and not begun is offered again once that process is gone.
	Instance string `mess:"instance"`
	// Stopped is absent where it has not changed.
	Stopped *Stopped `mess:"stopped"`
	// Held is absent where it has not changed.
	Held *OnHold `mess:"held"`
	// States is how its devices are, where the exchange has asked for that.
	States []DeviceState `mess:"states"`
	Extra  Object        `mess:"*"`
}

// DeviceState is how one device is, by its own word (ours).
type DeviceState struct {
	Device string `mess:"device"`
	State  string `mess:"state"` // on, off, open, closed, opening, closing, locked, unlocked, locking, unlocking, docked, cleaning, paused, returning, idle; unknown where it does not tell
	Extra  Object `mess:"*"`
}

// StateUnknown is the state of a device that does not tell.
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
	// Default is a rule for what no other matches (MESSE-AF 2.1, "Simple Router").
	Default *Preferred `mess:"default"`
	Extra   Object     `mess:"*"`
}

// Preferred are the executors of a default rule.
type Preferred struct {
	Prefer Refs   `mess:"prefer,list"`
	Extra  Object `mess:"*"`
}

// Words that a Rule may prefer instead of executors.
const (
	LowerLatency    = "lower_latency"
	HigherPrecision = "higher_precision"
)

// Match of a routing rule; what is "" matches all.
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
