package format

import "github.com/messkit/messkit/mess"

// Priority is the priority of a task.
type Priority string

// Values of Priority.
const (
	Urgent Priority = "urgent"
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Value returns the number of a priority, -1 for an unknown one.
func (p Priority) Value() float64 {
	for i, one := range []Priority{Urgent, High, Normal, Low} {
		if one == p {
			return float64(i)
		}
	}
	return -1
}

// TaskAssignment assigns a task (section 1).
type TaskAssignment struct {
	TaskID        string        `mess:"task_id"`
	Description   string        `mess:"description"`
	Specification Specification `mess:"specification"`
	FilePatterns  []string      `mess:"file_patterns"`
	Priority      Priority      `mess:"priority"`
	PriorityValue float64       `mess:"priority_value"`
	Dependencies  []string      `mess:"dependencies"` // ids of tasks that must end before
	Minutes       *float64      `mess:"estimated_duration_minutes"`
	Deadline      mess.Time     `mess:"deadline"`
	Metadata      mess.Object   `mess:"metadata"`
	Extra         mess.Object   `mess:"*"`
}

// Specification of a task.
type Specification struct {
	AcceptanceCriteria    []string    `mess:"acceptance_criteria"`
	TechnicalRequirements []string    `mess:"technical_requirements"`
	Extra                 mess.Object `mess:"*"`
}

// TaskCompletion ends a task (section 2).
type TaskCompletion struct {
	TaskID        string      `mess:"task_id"`
	Status        string      `mess:"status"` // complete, partial or blocked
	Summary       string      `mess:"completion_summary"`
	FilesModified []string    `mess:"files_modified"`
	TestResults   mess.Object `mess:"test_results"`
	Errors        []any       `mess:"errors_encountered"` // text or objects
	Warnings      []any       `mess:"warnings"`
	MinutesSpent  *float64    `mess:"time_spent_minutes"`
	NextTasks     []NextTask  `mess:"next_tasks"`
	Metadata      mess.Object `mess:"metadata"`
	Extra         mess.Object `mess:"*"`
}

// NextTask is a task that should follow.
type NextTask struct {
	TaskID       string      `mess:"task_id"`
	Relationship string      `mess:"relationship"`
	Reason       string      `mess:"reason"`
	Extra        mess.Object `mess:"*"`
}

// ErrorReport reports an error (section 3).
type ErrorReport struct {
	TaskID                 string      `mess:"task_id"`
	Severity               string      `mess:"severity"` // low, medium, high or blocking
	Error                  Error       `mess:"error"`
	AttemptedSolutions     []any       `mess:"attempted_solutions"`
	ReproductionSteps      []string    `mess:"reproduction_steps"`
	NeedsHumanIntervention bool        `mess:"needs_human_intervention"`
	SuggestedActions       []string    `mess:"suggested_actions"`
	Impact                 mess.Object `mess:"impact"`
	Attachments            []any       `mess:"attachments"`
	Extra                  mess.Object `mess:"*"`
}

// Error describes an error.
type Error struct {
	Code       string      `mess:"code"`
	Message    string      `mess:"message"`
	StackTrace string      `mess:"stack_trace"`
	Context    mess.Object `mess:"context"`
	Extra      mess.Object `mess:"*"`
}

// StatusUpdate reports the progress of a task (section 4).
type StatusUpdate struct {
	TaskID        string      `mess:"task_id"`
	UpdateType    string      `mess:"update_type"` // progress, milestone, blocker or unblocker
	Summary       string      `mess:"status_summary"`
	Progress      *Progress   `mess:"progress"`
	Metrics       mess.Object `mess:"metrics"`
	Blockers      []any       `mess:"blockers"`
	NextMilestone string      `mess:"next_milestone"`
	Metadata      mess.Object `mess:"metadata"`
	Extra         mess.Object `mess:"*"`
}

// Progress is the progress of a task.
type Progress struct {
	Percentage          *float64    `mess:"percentage"`
	CompletedSteps      []string    `mess:"completed_steps"`
	CurrentStep         string      `mess:"current_step"`
	RemainingSteps      []string    `mess:"remaining_steps"`
	EstimatedCompletion mess.Time   `mess:"estimated_completion"`
	Extra               mess.Object `mess:"*"`
}

// CoordinationRequest asks other agents to coordinate (section 5).
type CoordinationRequest struct {
	RequestType     string      `mess:"request_type"` // parallel_execution, handoff, review or sync
	Participants    []string    `mess:"participants"`
	Topic           string      `mess:"coordination_topic"`
	SharedResources []any       `mess:"shared_resources"`
	Schedule        mess.Object `mess:"schedule"`
	Protocol        mess.Object `mess:"communication_protocol"`
	SuccessCriteria []any       `mess:"success_criteria"`
	Metadata        mess.Object `mess:"metadata"`
	Extra           mess.Object `mess:"*"`
}

// FileReservation asks to reserve files or physical zones (section 6).
type FileReservation struct {
	TaskID       string        `mess:"task_id"`
	Request      Reservation   `mess:"reservation_request"`
	Alternatives []Alternative `mess:"alternatives"`
	Extra        mess.Object   `mess:"*"`
}

// Reservation has the files or zones to reserve, the mode and the duration of the reservation.
type Reservation struct {
	Mode         Mode        `mess:"mode"`
	FilePatterns []string    `mess:"file_patterns"`
	Minutes      float64     `mess:"duration_minutes"`
	Reason       string      `mess:"reason"`
	Extra        mess.Object `mess:"*"`
}

// Alternative is an acceptable alternative.
type Alternative struct {
	Pattern string      `mess:"pattern"`
	Mode    Mode        `mess:"mode"`
	Note    string      `mess:"note"`
	Extra   mess.Object `mess:"*"`
}

// Mode is the mode of a reservation.
type Mode string

// Values of Mode.
const (
	Exclusive   Mode = "exclusive"
	SharedRead  Mode = "shared_read"
	SharedWrite Mode = "shared_write"

	shared Mode = "shared" // from an example of the specification; it means SharedRead
)

// Types of the bodies.
func (*TaskAssignment) Type() Type      { return TypeTaskAssignment }
func (*TaskCompletion) Type() Type      { return TypeTaskCompletion }
func (*ErrorReport) Type() Type         { return TypeErrorReport }
func (*StatusUpdate) Type() Type        { return TypeStatusUpdate }
func (*CoordinationRequest) Type() Type { return TypeCoordinationRequest }
func (*FileReservation) Type() Type     { return TypeFileReservation }

// newBody returns an empty body of a type, nil for an unknown one.
func newBody(t Type) Body {
	switch t {
	case TypeTaskAssignment:
		return &TaskAssignment{}
	case TypeTaskCompletion:
		return &TaskCompletion{}
	case TypeErrorReport:
		return &ErrorReport{}
	case TypeStatusUpdate:
		return &StatusUpdate{}
	case TypeCoordinationRequest:
		return &CoordinationRequest{}
	case TypeFileReservation:
		return &FileReservation{}
	}
	return nil
}
