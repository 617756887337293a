package mess

// Status reports the state of a task (MESS 1.0 section 4, 1.1 section 2).
// Which fields belong to which code stands in section 4.2.
type Status struct {
	ID       string `mess:"id"`
	Re       Refs   `mess:"re"`
	Code     Code   `mess:"code"`
	Executor string `mess:"executor"`
	Message  string `mess:"message"`

	QueuePosition *int64 `mess:"queue_position"` // received
	ExchangeID    string `mess:"exchange_id"`    // received

	ETA      When     `mess:"eta"`      // claimed, in_progress: a time, or a duration as in 4.4
	Estimate Duration `mess:"estimate"` // claimed, in_progress (1.1 section 2.1)

	ProgressPct *float64 `mess:"progress_pct"` // in_progress, 0..100
	Partial     any      `mess:"partial"`      // in_progress

	WaitingFor *WaitingFor `mess:"waiting_for"` // waiting

	Reason    *Reason `mess:"reason"`     // held, partial, failed, declined, cancelled, superseded, delegated
	ResumeETA When    `mess:"resume_eta"` // held

	Attempt     *int64 `mess:"attempt"`      // retrying
	MaxAttempts *int64 `mess:"max_attempts"` // retrying
	NextAttempt When   `mess:"next_attempt"` // retrying

	Questions []Question `mess:"questions"` // needs_input

	Action       string `mess:"action"`       // needs_confirmation
	Consequences string `mess:"consequences"` // needs_confirmation
	Reversible   *bool  `mess:"reversible"`   // needs_confirmation

	Completed []any `mess:"completed"` // partial, and steps of a plan that runs
	Remaining []any `mess:"remaining"` // partial, and steps of a plan that runs

	Recoverable *bool  `mess:"recoverable"` // failed
	Suggestion  string `mess:"suggestion"`  // failed

	ExpiredAt Time   `mess:"expired_at"` // expired
	Stage     string `mess:"stage"`      // expired

	SupersededBy Refs   `mess:"superseded_by"` // superseded
	DelegatedTo  string `mess:"delegated_to"`  // delegated

	// Ours, not in the documents; peers ignore them (1.1 section 5.1).
	Epoch      uint64   `mess:"epoch"`       // fence of the claim that this report belongs to
	Instance   string   `mess:"instance"`    // claimed, and in_progress at the start gate: names the process, of several with one id and key
	ActionHash string   `mess:"action_hash"` // digest of the plan that is to be confirmed, or that is starting
	ConfirmBy  string   `mess:"confirm_by"`  // needs_confirmation: "operator" where the requester's own word is not enough
	Evidence   Evidence `mess:"evidence"`    // completed, partial: how the executor knows

	Extra Object `mess:"*"`
}

// WaitingFor says what a waiting task is blocked on (MESS 1.0 section 4.3).
type WaitingFor struct {
	Type        string   `mess:"type"` // dependency, condition, resource, access or schedule
	Ref         Refs     `mess:"ref,list"`
	Condition   string   `mess:"condition"`
	ETA         Duration `mess:"eta"`
	Resource    string   `mess:"resource"`
	Location    string   `mess:"location"`
	Note        string   `mess:"note"`
	AvailableAt Time     `mess:"available_at"`
	Extra       Object   `mess:"*"`
}

// Reason of a status. Short form: a string, which is Detail alone. Long form:
// {type, detail} as in MESS 1.0 section 4.4, with what the attempt did to the
// world in effect.
type Reason struct {
	Type   string `mess:"type"`
	Detail string `mess:"detail"`
	Effect Effect `mess:"effect"`
	Extra  Object `mess:"*"`
}

// Shutdown is the Type of the reason of an executor that hands back (delegated)
// since it ends, and will take the thread again when it is back (ours).
const Shutdown = "shutdown"

// Effect says what an attempt that did not complete has done to the world. It
// carries the outcome that MESS has no code for.
type Effect string

// Values of Effect.
const (
	EffectNone    Effect = "none"
	EffectPartial Effect = "partial"
	EffectUnknown Effect = "unknown"
)

// Evidence says how an executor knows that a thing was done, weakest first.
type Evidence string

// Values of Evidence, weakest first; unknown stands apart.
const (
	Dispatched      Evidence = "dispatched"   // the order was sent
	Acknowledged    Evidence = "acknowledged" // the device took it
	ReadBack        Evidence = "read_back"    // state read from the device
	Photographed    Evidence = "photographed" // image taken after the action
	EvidenceUnknown Evidence = "unknown"
)

// Question of a needs_input status (MESS 1.0 section 4.4; MESSE-AF spells
// field as id). Options, where given, are the answers that fit.
type Question struct {
	Field    string   `mess:"field"`
	ID       string   `mess:"id"`
	Question string   `mess:"question"`
	Options  []string `mess:"options"`
	Extra    Object   `mess:"*"`
}

// Key is the name that an answer to this question goes by.
func (q Question) Key() string {
	if q.Field != "" {
		return q.Field
	}
	return q.ID
}

// Response delivers a result (MESS 1.0 section 5.1).
type Response struct {
	ID          string  `mess:"id"`
	Re          Refs    `mess:"re"`
	Executor    string  `mess:"executor"`
	CompletedAt Time    `mess:"completed_at"`
	Content     []Entry `mess:"content"`
	Notes       string  `mess:"notes"`
	Extra       Object  `mess:"*"`
}
