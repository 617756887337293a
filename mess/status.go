package mess

// Status reports the state of a task (MESS 1.0 section 4, 1.1 section 2). Section 4.2 lists
// the fields of each code.
type Status struct {
	ID       string `mess:"id"`
	Re       Refs   `mess:"re"`
	Code     Code   `mess:"code"`
	Executor string `mess:"executor"`
	Message  string `mess:"message"`

	QueuePosition *int64 `mess:"queue_position"` // received
	ExchangeID    string `mess:"exchange_id"`    // received

	ETA      TimeOrDuration `mess:"eta"`      // claimed, in_progress: a time, or a duration as in 4.4
	Estimate Duration       `mess:"estimate"` // claimed, in_progress (1.1 section 2.1)

	ProgressPct *float64 `mess:"progress_pct"` // in_progress, 0..100
	Partial     any      `mess:"partial"`      // in_progress

	WaitingFor *WaitingFor `mess:"waiting_for"` // waiting

	Reason    *Reason        `mess:"reason"`     // held, partial, failed, declined, cancelled, superseded, delegated
	ResumeETA TimeOrDuration `mess:"resume_eta"` // held

	Attempt     *int64         `mess:"attempt"`      // retrying
	MaxAttempts *int64         `mess:"max_attempts"` // retrying
	NextAttempt TimeOrDuration `mess:"next_attempt"` // retrying

	Questions []Question `mess:"questions"` // needs_input

	Action       string `mess:"action"`       // needs_confirmation
	Consequences string `mess:"consequences"` // needs_confirmation
	Reversible   *bool  `mess:"reversible"`   // needs_confirmation

	Completed []any `mess:"completed"` // partial, and steps of a running plan
	Remaining []any `mess:"remaining"` // partial, and steps of a running plan

	Recoverable *bool  `mess:"recoverable"` // failed
	Suggestion  string `mess:"suggestion"`  // failed

	ExpiredAt Time   `mess:"expired_at"` // expired
	Stage     string `mess:"stage"`      // expired

	SupersededBy Refs   `mess:"superseded_by"` // superseded
	DelegatedTo  string `mess:"delegated_to"`  // delegated

	// messkit extensions; peers ignore them (1.1 section 5.1).
	Epoch      uint64   `mess:"epoch"`       // fencing token of the claim
	Instance   string   `mess:"instance"`    // claimed, and in_progress at the start permission: the process, of several with one id and key
	ActionHash string   `mess:"action_hash"` // digest of the plan to confirm or to start
	ConfirmBy  string   `mess:"confirm_by"`  // needs_confirmation: "operator" if the requester may not confirm it
	Evidence   Evidence `mess:"evidence"`    // completed, partial: evidence of the executor

	Extra Object `mess:"*"`
}

// WaitingFor is the cause of a waiting task (MESS 1.0 section 4.3).
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

// Reason is the reason of a status. Short form: a string, which is only Detail. Long form:
// {type, detail} as in MESS 1.0 section 4.4, with the physical effect of the attempt in
// effect.
type Reason struct {
	Type   string `mess:"type"`
	Detail string `mess:"detail"`
	Effect Effect `mess:"effect"`
	Extra  Object `mess:"*"`
}

// Shutdown is the Type of the reason of an executor that returns a thread (delegated)
// because it shuts down, and will accept it again after its restart (messkit extension).
const Shutdown = "shutdown"

// Effect is the physical effect of an incomplete attempt. MESS has no code for it.
type Effect string

// Values of Effect.
const (
	EffectNone    Effect = "none"
	EffectPartial Effect = "partial"
	EffectUnknown Effect = "unknown"
)

// Evidence is how an executor knows that an action took place, weakest first.
type Evidence string

// Values of Evidence, weakest first; unknown is separate.
const (
	Dispatched      Evidence = "dispatched"   // the executor has sent the command
	Acknowledged    Evidence = "acknowledged" // the device has accepted it
	ReadBack        Evidence = "read_back"    // state read from the device
	Photographed    Evidence = "photographed" // image taken after the action
	EvidenceUnknown Evidence = "unknown"
)

// ReasonText returns why a status is as it is, in words: the detail of its reason, else its message.
func (s *Status) ReasonText() string {
	if s.Reason != nil && s.Reason.Detail != "" {
		return s.Reason.Detail
	}
	return s.Message
}

// HasUnknownEffect reports whether a status says that nobody knows its physical effect. nil says
// nothing.
func (s *Status) HasUnknownEffect() bool {
	return s != nil && s.Reason != nil && s.Reason.Effect == EffectUnknown
}

// Question of a needs_input status (MESS 1.0 section 4.4; MESSE-AF spells field as id).
// Options lists the valid answers, if present.
type Question struct {
	Field    string   `mess:"field"`
	ID       string   `mess:"id"`
	Question string   `mess:"question"`
	Options  []string `mess:"options"`
	Extra    Object   `mess:"*"`
}

// Key returns the name of this question's answer.
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
