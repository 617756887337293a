// Package format holds the messages of Agent Mail 1.0: the six formats as
// types, what is wrong with those of others, and the report that answers it. It
// knows no server, exchange or clock.
package format

import (
	"time"

	"github.com/messkit/messkit/mess"
)

// Version is the version of the formats that is spoken here.
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

// Message is a message with the fields that all have ("Common Fields").
type Message struct {
	Version   string    `mess:"version"`
	Timestamp mess.Time `mess:"timestamp"`
	SenderID  string    `mess:"sender_id"`
	MessageID string    `mess:"message_id"`
	Type      Type      `mess:"type"`
	Body      Body      `mess:"-"`
	Notes     []string  `mess:"-"` // what was taken otherwise than it is written, in words
}

// Body is what one type of message says: a *TaskAssignment, *TaskCompletion,
// *ErrorReport, *StatusUpdate, *CoordinationRequest or *FileReservation.
type Body interface {
	Type() Type
}

// Mail is what a mail server tells of the mail that a message came in.
type Mail struct {
	From     string
	Subject  string
	ThreadID string
	ID       string // the server's own, for a message that has none
	Created  time.Time
}

// Profile says how much a message may lack.
type Profile uint8

// The profiles.
const (
	// Strict takes what the document says.
	Strict Profile = iota
	// Lenient takes what the scenarios of the document show: it fills in what the
	// mail tells, and what is empty where nothing is said. It never guesses what
	// decides what is done.
	Lenient
)
