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

// channel is the name of this door in threads.
const channel = "agentmail"

// self sees what happens, and says nothing.
var self = exchange.Actor{ID: channel, Roles: exchange.Observer}

// peer is who has sent a message.
type peer struct {
	name  string
	who   exchange.Actor // as whom it speaks to the exchange
	http  bool           // it fetches what is for it
	gives bool           // it may give tasks
	agent Agent          // it is an executor, unless its name is ""
}

// mailActor is the actor for an agent at the mail server. No key can be for it: the
// id of one has no slash.
func mailActor(name string) exchange.Actor {
	return exchange.Actor{ID: "mail/" + name, Roles: exchange.Requester}
}

// email is a message as it came.
type email struct {
	from peer
	body string
	mail format.Mail
	at   time.Time // when it came, by the clock of whoever has brought it
}

// receipt is what the sender of a message is told at once, over HTTP.
type receipt struct {
	MessageID string    `json:"message_id,omitempty"`
	TaskID    string    `json:"task_id,omitempty"`
	Ref       string    `json:"ref,omitempty"`
	Status    mess.Code `json:"status,omitempty"`
	Note      string    `json:"note,omitempty"`
}

// Codes of what is wrong with a message that fits its format.
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

// reject refuses a message.
func reject(code, text string, args ...any) error {
	return &format.Invalid{Code: code, Details: fmt.Sprintf(text, args...)}
}

// rejectionOf makes of a refusal what the sender of a message is told.
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

// newID is an id for a message ("Common Fields").
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("msg-%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// task is a task that somebody has given here, until its end is told.
type task struct {
	Peer   string    `json:"peer"`
	Actor  string    `json:"actor"`
	HTTP   bool      `json:"http,omitempty"` // the answers are fetched
	ID     string    `json:"id"`
	Thread string    `json:"thread,omitempty"` // of the mail
	From   string    `json:"from,omitempty"`   // the message that gave it
	Told   int       `json:"told"`             // messages of the thread
	At     time.Time `json:"at,omitzero"`      // something was told last
	Waits  bool      `json:"waits,omitempty"`  // the sender was told what it waits for before it is offered
	Asked  []asked   `json:"asked,omitempty"`
}

// asked is a question that was told.
type asked struct {
	Ref      string    `json:"ref"`            // of the message that asks
	Hash     string    `json:"hash,omitempty"` // of the plan
	Letter   string    `json:"letter"`         // the message_id under which it went out
	At       time.Time `json:"at,omitzero"`    // by our clock, when it was asked
	Sent     time.Time `json:"sent,omitzero"`  // by the mail server's clock; zero before
	Deadline time.Time `json:"deadline,omitzero"`
}

// outboxEntry is a message that is to be sent, or fetched.
type outboxEntry struct {
	Seq    uint64    `json:"seq"`
	ID     string    `json:"id"` // message_id
	To     string    `json:"to"`
	HTTP   bool      `json:"http,omitempty"`
	At     time.Time `json:"at"`
	Task   string    `json:"task,omitempty"`
	Thread string    `json:"thread,omitempty"`
	Actor  string    `json:"actor,omitempty"` // who has given the task
	Waits  bool      `json:"waits,omitempty"` // as of the task

	Ref   string          `json:"ref,omitempty"`   // thread that it tells of
	Index int             `json:"index,omitempty"` // of the message there
	Part  int             `json:"part,omitempty"`
	Kind  string          `json:"kind,omitempty"` // progress may be left out for what comes later
	Body  json.RawMessage `json:"body,omitempty"` // whole, where it tells of no message

	Tried time.Time `json:"tried,omitzero"` // first
}

// assignment is a task that was given to a mail agent, or is about to be.
type assignment struct {
	Agent   string          `json:"agent"`    // its name at the mail server
	ID      string          `json:"executor"` // and as an executor
	Epoch   uint64          `json:"epoch"`
	Consent string          `json:"consent,omitempty"` // digest under which somebody is asked whether it may be given away
	Begun   bool            `json:"begun,omitempty"`   // the exchange may have let it begin
	Sent    bool            `json:"sent,omitempty"`    // it has arrived
	Asks    []agentQuestion `json:"asks,omitempty"`
	At      time.Time       `json:"at"`
}

// agentQuestion is a question of the agent's.
type agentQuestion struct {
	Here  string `json:"here"`            // ref of the message that asks, here
	There string `json:"there,omitempty"` // and at the agent, if it has told
	Hash  string `json:"hash,omitempty"`
}

// Refused is a message that was not taken.
type Refused struct {
	At      time.Time `json:"at"`
	From    string    `json:"from"`
	Code    string    `json:"code"`
	Details string    `json:"details"`
	Subject string    `json:"subject,omitempty"`
}

// Reservation is the use of zones by one agent for some time.
type Reservation struct {
	Actor     string    `json:"actor"` // as whom it speaks to the exchange
	By        string    `json:"by"`
	Task      string    `json:"task"`
	Message   string    `json:"message"` // the message_id that asked for it
	Patterns  []string  `json:"patterns"`
	Devices   []string  `json:"devices"` // that it binds
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
	maxKept    = 500 // letters for one who fetches them
	keptFor    = 7 * 24 * time.Hour
	maxText    = 300 // of what is recorded, in bytes
)

// Health is how the door stands with its mail server.
type Health struct {
	Name    string    `json:"name,omitempty"` // of this agent there
	Since   time.Time `json:"since,omitzero"` // it has been reached last
	Err     string    `json:"error,omitempty"`
	Waiting int       `json:"waiting"` // messages to be sent
	Tasks   int       `json:"tasks"`   // of others that run here
	Given   int       `json:"given"`   // that others work on
}

// Report is how the door stands, for people.
type Report struct {
	Mailbox Health        `json:"mailbox"`
	Zones   []Reservation `json:"zones"`
	Refused []Refused     `json:"refused"` // the last messages that were not taken
}
