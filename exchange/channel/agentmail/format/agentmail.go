// Package format has the messages of Agent Mail 1.0: the six formats as types, the validation of
// received messages, and the error report about an invalid one. It is pure, and knows no mail
// server and no exchange.
package format

import (
	"time"

	"github.com/messkit/messkit/mess"
)

// Version is the version of the formats.
const Version = "1.0.0"

// Type is the type of a message.
type Type string

// The types.
const (
	TypeTaskAssignment      Type = "task_assignment"
	TypeTaskCompletion      Type = "task_completion"
	TypeErrorReport         Type = "error_report"
	TypeStatusUpdate        Type = "status_update"
	TypeCoordinationRequest Type = "coordination_request"
	TypeFileReservation     Type = "file_reservation"
)

// Message is a message with the fields of all types ("Common Fields").
type Message struct {
	Version   string    `mess:"version"`
	Timestamp mess.Time `mess:"timestamp"`
	SenderID  string    `mess:"sender_id"`
	MessageID string    `mess:"message_id"`
	Type      Type      `mess:"type"`
	Body      Body      `mess:"-"`
	Notes     []string  `mess:"-"` // how the parser has interpreted the message
}

// Body is the content of a message: a *TaskAssignment, *TaskCompletion, *ErrorReport,
// *StatusUpdate, *CoordinationRequest or *FileReservation.
type Body interface {
	Type() Type
}

// Mail is the mail that contains a message.
type Mail struct {
	From     string
	Subject  string
	ThreadID string
	ID       string // id for a message without one
	Created  time.Time
}

// Profile says which fields a message may lack.
type Profile uint8

// The profiles.
const (
	// Strict accepts messages that follow the specification.
	Strict Profile = iota
	// Lenient also accepts the messages in the scenarios of the specification. It takes missing
	// fields from the mail, or fills in empty values. It never guesses a field that decides about
	// an action.
	Lenient
)
