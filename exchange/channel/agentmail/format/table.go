package format

// kind is the kind of a field's value.
type kind uint8

const (
	text    kind = iota // a string that is not empty
	words               // a string
	date                // RFC 3339 with an offset
	number              // within low and high
	truth               // true or false
	list                // an array of anything
	texts               // an array of strings
	some                // an array of at least one string
	objects             // an array of objects
	object              // an object
)

// need says who requires a field.
type need uint8

const (
	optional need = iota
	required      // by a strict parser; a lenient one fills in the empty value
	decisive      // by every parser
)

// field is a row of a table of fields.
type field struct {
	path string // with dots
	need need
	kind kind
	of   []string // allowed strings; nil: any
	low  float64  // smallest number; over excludes the number itself
	high float64  // largest number; 0: no limit
	over bool
}

// common are the fields of all messages. A lenient parser takes missing ones from the mail.
var common = []field{
	{path: "version", need: decisive, kind: text},
	{path: "timestamp", need: decisive, kind: date},
	{path: "sender_id", need: decisive, kind: text},
	{path: "message_id", need: decisive, kind: text},
}

var modes = []string{string(Exclusive), string(SharedRead), string(SharedWrite), string(shared)}

// tables has the fields of each type. If the specification has no table, they are those of its
// example.
var tables = map[Type][]field{
	TypeTaskAssignment: {
		{path: "task_id", need: decisive, kind: text},
		{path: "description", need: decisive, kind: text},
		{path: "specification", need: required, kind: object},
		{path: "specification.acceptance_criteria", need: required, kind: texts},
		{path: "specification.technical_requirements", kind: texts},
		{path: "file_patterns", need: required, kind: texts},
		{path: "priority", need: decisive, kind: text, of: []string{"low", "normal", "high", "urgent"}},
		{path: "priority_value", need: required, kind: number, high: 3},
		{path: "dependencies", kind: texts},
		{path: "estimated_duration_minutes", kind: number},
		{path: "deadline", kind: date},
		{path: "metadata", kind: object},
		{path: "metadata.mess", kind: object},
		{path: "metadata.labels", kind: texts},
		{path: "metadata.component", kind: words},
		{path: "metadata.epic", kind: words},
	},
	TypeTaskCompletion: {
		{path: "task_id", need: decisive, kind: text},
		{path: "status", need: decisive, kind: text, of: []string{"complete", "partial", "blocked"}},
		{path: "completion_summary", need: required, kind: words},
		{path: "files_modified", need: required, kind: texts},
		{path: "test_results", need: required, kind: object},
		{path: "test_results.unit_tests", kind: object},
		{path: "test_results.integration_tests", kind: object},
		{path: "errors_encountered", need: required, kind: list},
		{path: "warnings", kind: list},
		{path: "time_spent_minutes", kind: number},
		{path: "next_tasks", kind: objects},
		{path: "metadata", kind: object},
		{path: "metadata.mess", kind: object},
	},
	TypeErrorReport: {
		{path: "task_id", need: decisive, kind: text},
		{path: "severity", need: decisive, kind: text, of: []string{"low", "medium", "high", "blocking"}},
		{path: "error", need: decisive, kind: object},
		{path: "error.code", need: decisive, kind: text},
		{path: "error.message", need: decisive, kind: words},
		{path: "error.stack_trace", kind: words},
		{path: "error.context", kind: object},
		{path: "attempted_solutions", kind: objects},
		{path: "reproduction_steps", need: required, kind: texts},
		{path: "needs_human_intervention", need: decisive, kind: truth},
		{path: "suggested_actions", kind: texts},
		{path: "impact", kind: object},
		{path: "attachments", kind: objects},
	},
	TypeStatusUpdate: {
		{path: "task_id", need: decisive, kind: text},
		{path: "status_summary", need: decisive, kind: words},
		{path: "update_type", need: decisive, kind: text, of: []string{"progress", "milestone", "blocker", "unblocker"}},
		{path: "progress", kind: object},
		{path: "progress.percentage", kind: number, high: 100},
		{path: "progress.completed_steps", kind: texts},
		{path: "progress.current_step", kind: words},
		{path: "progress.remaining_steps", kind: texts},
		{path: "progress.estimated_completion", kind: date},
		{path: "metrics", kind: object},
		{path: "blockers", need: required, kind: list},
		{path: "next_milestone", kind: words},
		{path: "metadata", kind: object},
		{path: "metadata.mess", kind: object},
	},
	TypeCoordinationRequest: {
		{path: "request_type", need: decisive, kind: text, of: []string{"parallel_execution", "handoff", "review", "sync"}},
		{path: "participants", need: decisive, kind: some},
		{path: "coordination_topic", need: decisive, kind: text},
		{path: "shared_resources", kind: objects},
		{path: "schedule", kind: object},
		{path: "schedule.start_time", kind: date},
		{path: "communication_protocol", kind: object},
		{path: "success_criteria", kind: list},
		{path: "metadata", kind: object},
		{path: "metadata.mess", kind: object},
	},
	TypeFileReservation: {
		{path: "task_id", need: decisive, kind: text},
		{path: "reservation_request", need: decisive, kind: object},
		{path: "reservation_request.mode", need: decisive, kind: text, of: modes},
		{path: "reservation_request.file_patterns", need: decisive, kind: some},
		{path: "reservation_request.duration_minutes", need: decisive, kind: number, over: true},
		{path: "reservation_request.reason", kind: words},
		{path: "alternatives", kind: objects},
	},
}
