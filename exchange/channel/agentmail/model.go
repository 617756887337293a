package agentmail

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/mess"
)

// channel is the name of this channel in threads.
const channel = "agentmail"

// self reads threads and posts nothing.
var self = exchange.Actor{ID: channel, Roles: exchange.Observer}

// peer is the sender of a message.
type peer struct {
	name  string
	actor exchange.Actor // its actor at the exchange
	http  bool           // it fetches its messages over HTTP
	gives bool           // it may assign tasks
	agent Agent          // its settings as an executor; Name is "" if it is none
}

// mailActor returns the actor of an agent at the mail server. No API key can have this id, because
// ids of keys contain no slash.
func mailActor(name string) exchange.Actor {
	return exchange.Actor{ID: "mail/" + name, Roles: exchange.Requester}
}

// email is a received message.
type email struct {
	from peer
	body string
	mail format.Mail
	at   time.Time // when it was received, by the clock of the mail server or of this host
}

// receipt is the immediate answer to a message over HTTP.
type receipt struct {
	MessageID string    `json:"message_id,omitempty"`
	TaskID    string    `json:"task_id,omitempty"`
	Ref       string    `json:"ref,omitempty"`
	Status    mess.Code `json:"status,omitempty"`
	Note      string    `json:"note,omitempty"`
}

// Error codes for messages with a valid format.
const (
	codeForbidden   = "forbidden"
	codeUnknownTask = "unknown_task"
	codeRefused     = "refused"
	codeStale       = "stale_answer"
	codeUnexpected  = "unexpected_message"
	codeConflict    = "zone_conflict"
	codeUnknownZone = "unknown_zone"
	codeUnsupported = "not_supported"
)

// reject returns an error that rejects a message.
func reject(code, text string, args ...any) error {
	return &format.Invalid{Code: code, Details: fmt.Sprintf(text, args...)}
}

// rejectionOf converts an error to the one that the sender of a message gets.
func rejectionOf(err error, m format.Message) error {
	bad, ok := errors.AsType[*format.Invalid](err)
	if !ok {
		bad = &format.Invalid{Code: codeRefused, Details: err.Error()}
		if r, ok := errors.AsType[*mess.Error](err); ok {
			bad.Code, bad.Details = string(r.Code), r.Text
		}
	}
	bad.Type, bad.MessageID = m.Type, m.MessageID
	bad.TaskID = cmp.Or(bad.TaskID, format.TaskOf(m.Body))
	return bad
}

// newID returns a new message id ("Common Fields").
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("msg-%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// task is a task of a mail agent, until the agent got its end.
type task struct {
	Peer     string    `json:"peer"`
	Actor    string    `json:"actor"`
	HTTP     bool      `json:"http,omitempty"` // its agent fetches the messages
	ID       string    `json:"id"`
	Thread   string    `json:"thread,omitempty"` // thread of the mail
	From     string    `json:"from,omitempty"`   // id of the assignment
	Reported int       `json:"told"`             // number of messages of the thread that were reported
	At       time.Time `json:"at,omitzero"`      // time of the last report
	Waits    bool      `json:"waits,omitempty"`  // the agent has a report that the task depends on other tasks
	Asked    []asked   `json:"asked,omitempty"`
}

// asked is a question that was sent to the agent of a task.
type asked struct {
	Ref      string    `json:"ref"`            // of the message with the question
	Hash     string    `json:"hash,omitempty"` // of the plan
	Mail     string    `json:"letter"`         // message_id of the question
	At       time.Time `json:"at,omitzero"`    // when it was asked, by our clock
	Sent     time.Time `json:"sent,omitzero"`  // when it was sent, by the clock of the mail server; zero before
	Deadline time.Time `json:"deadline,omitzero"`
}

// outboxEntry is a message to send, or to be fetched.
type outboxEntry struct {
	Seq    uint64    `json:"seq"`
	ID     string    `json:"id"` // message_id
	To     string    `json:"to"`
	HTTP   bool      `json:"http,omitempty"`
	At     time.Time `json:"at"`
	Task   string    `json:"task,omitempty"`
	Thread string    `json:"thread,omitempty"`
	Actor  string    `json:"actor,omitempty"` // actor of the agent that has assigned the task
	Waits  bool      `json:"waits,omitempty"` // task.Waits

	Ref   string          `json:"ref,omitempty"`   // thread of the message
	Index int             `json:"index,omitempty"` // index of the message in the thread
	Part  int             `json:"part,omitempty"`
	Kind  string          `json:"kind,omitempty"` // a later message can replace progress
	Body  json.RawMessage `json:"body,omitempty"` // the whole message, if it does not come from a thread

	Tried time.Time `json:"tried,omitzero"` // first attempt
}

// assignment is a task that was assigned to a mail agent, or is about to be.
type assignment struct {
	Agent   string          `json:"agent"`    // name at the mail server
	ID      string          `json:"executor"` // id as an executor
	Epoch   uint64          `json:"epoch"`
	Consent string          `json:"consent,omitempty"` // digest of the consent question: may the agent have the task?
	Begun   bool            `json:"begun,omitempty"`   // the exchange may have given the start permission
	Sent    bool            `json:"sent,omitempty"`    // the mail server has the assignment
	Asks    []agentQuestion `json:"asks,omitempty"`
	At      time.Time       `json:"at"`
}

// agentQuestion is a question of an agent about its task.
type agentQuestion struct {
	Here  string `json:"here"`            // ref of the question in the thread
	There string `json:"there,omitempty"` // ref of the question at the agent, if the agent has sent it
	Hash  string `json:"hash,omitempty"`
}

// Refused is a rejected message.
type Refused struct {
	At      time.Time `json:"at"`
	From    string    `json:"from"`
	Code    string    `json:"code"`
	Details string    `json:"details"`
	Subject string    `json:"subject,omitempty"`
}

// Reservation reserves devices for one agent for a time.
type Reservation struct {
	Actor     string    `json:"actor"` // actor of the agent
	By        string    `json:"by"`
	Task      string    `json:"task"`
	Message   string    `json:"message"` // message_id of the request
	Patterns  []string  `json:"patterns"`
	Devices   []string  `json:"devices"` // reserved devices
	Exclusive bool      `json:"exclusive"`
	From      time.Time `json:"from,omitzero"`
	Until     time.Time `json:"until"`
	Reason    string    `json:"reason,omitempty"`
}

func (r Reservation) mode() string {
	if r.Exclusive {
		return "exclusive"
	}
	return "shared"
}

func threadID(task string) string { return mailbox.ThreadID(task) }

func first(re mess.Refs) string {
	if len(re) == 0 {
		return ""
	}
	return re[0]
}

func short(s string) string { return s[:min(len(s), maxText)] }

const (
	maxSeen    = 4096
	maxRefused = 100
	maxKept    = 500 // messages for one HTTP client
	keptFor    = 7 * 24 * time.Hour
	maxText    = 300 // bytes of a recorded text
)

// Health is the state of the connection to the mail server.
type Health struct {
	Name    string    `json:"name,omitempty"` // name of this agent there
	Since   time.Time `json:"since,omitzero"` // last contact
	Err     string    `json:"error,omitempty"`
	Waiting int       `json:"waiting"` // messages to send
	Tasks   int       `json:"tasks"`   // tasks of mail agents
	Given   int       `json:"given"`   // assignments to mail agents
}

// Report is the state of the channel, for people.
type Report struct {
	Mailbox Health        `json:"mailbox"`
	Zones   []Reservation `json:"zones"`
	Refused []Refused     `json:"refused"` // last rejected messages
}
