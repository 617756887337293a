package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// formatTime prints a time like the MESS reference servers: UTC with milliseconds.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// formatMessageTime prints the time of a message in the same form, so that clients can compare
// the two as text.
func formatMessageTime(t mess.Time) string {
	at, err := t.Time()
	if err != nil {
		return string(t)
	}
	return formatTime(at)
}

// summary is a thread in lists and events.
type summary struct {
	Ref       string        `json:"ref"`
	Status    mess.Code     `json:"status"`
	Intent    string        `json:"intent"`
	Requester string        `json:"requestor_id"`
	Executor  *string       `json:"executor_id"`
	Priority  mess.Priority `json:"priority"`
	Created   string        `json:"created_at"`
	Updated   string        `json:"updated_at"`
}

func summaryOf(e exchange.Envelope) summary {
	s := summary{
		Ref: e.Ref, Status: e.Status, Intent: e.Intent, Requester: e.Requester, Priority: cmp.Or(e.Priority, mess.Normal),
		Created: formatTime(e.Created), Updated: formatTime(e.Updated),
	}
	if e.Executor != "" {
		s.Executor = &e.Executor
	}
	return s
}

// message is a message as existing clients read it, with messkit extensions. Its items follow
// as mess.
type message struct {
	From  string    `json:"from"`
	TS    string    `json:"ts"`
	Ref   string    `json:"ref,omitempty"`
	Re    mess.Refs `json:"re,omitempty"`
	Epoch uint64    `json:"epoch,omitempty"`
}

type attachment struct {
	Name   string `json:"name"`
	MIME   string `json:"mime"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (c *call) thread(ref string) error {
	t, err := c.x.Thread(c.r.Context(), c.actor, ref)
	if err != nil {
		return err
	}
	c.writeBody(http.StatusOK, jsonType, threadJSON(t))
	return nil
}

// threadJSON returns a thread with its messages. It copies their JSON, which encoding/json
// would parse again.
func threadJSON(t exchange.Thread) []byte {
	p := newJSONWriter()
	p.Grow(1 << 10)
	p.WriteString(`{"thread":`)
	p.begin(summaryOf(t.Envelope))
	p.WriteString(`,"messages":[`)
	for i, m := range t.Messages {
		if i > 0 {
			p.WriteByte(',')
		}
		p.begin(message{From: m.From, TS: formatMessageTime(m.Received), Ref: m.Ref, Re: m.Re, Epoch: m.Epoch})
		p.WriteString(`,"mess":`)
		p.Write(messeaf.Named(t.Ref, m).ListJSON())
		p.WriteByte('}')
	}
	p.WriteByte(']')
	if list := t.AllAttachments(); len(list) > 0 {
		p.WriteString(`,"attachments":`)
		p.value(attachmentsOf(list))
	}
	p.WriteString("}}\n")
	return p.Bytes()
}

func attachmentsOf(list []exchange.Attachment) []attachment {
	all := make([]attachment, len(list))
	for i, a := range list {
		all[i] = attachment(a)
	}
	return all
}

// threadYAML returns the messages of a thread as YAML.
func (c *call) threadYAML(ref string) error {
	t, err := c.x.Thread(c.r.Context(), c.actor, ref)
	if err != nil {
		return err
	}
	text, err := mess.YAMLAll(t.Messages)
	if err != nil {
		return err
	}
	c.writeBody(http.StatusOK, "application/yaml; charset=utf-8", text)
	return nil
}

func (c *call) listThreads() error {
	q, err := c.readQuery()
	if err != nil {
		return err
	}
	f, err := parseFilter(q)
	if err != nil {
		return err
	}
	page, err := c.x.List(c.r.Context(), c.actor, f)
	if err != nil {
		return err
	}
	threads := make([]summary, len(page.Threads))
	for i, e := range page.Threads {
		threads[i] = summaryOf(e)
	}
	v := map[string]any{"threads": threads}
	if page.Cursor != "" {
		v["cursor"] = page.Cursor
	}
	c.writeJSON(http.StatusOK, v)
	return nil
}

// parseFilter reads the filter of a list.
func parseFilter(q url.Values) (exchange.Filter, error) {
	f := exchange.Filter{Executor: q.Get("executor"), Requester: q.Get("requestor"), Capability: q.Get("capability"), Cursor: q.Get("cursor")}
	for _, s := range q["status"] {
		if s == "" {
			continue
		}
		code, err := mess.ParseCode(s)
		if err != nil {
			return f, mess.Errorf(mess.Invalid, "status: %v", err)
		}
		f.Status = append(f.Status, code)
	}
	if s := q.Get("since"); s != "" {
		since, err := mess.Time(s).Time()
		if err != nil {
			return f, mess.Errorf(mess.Invalid, "since: %v", err)
		}
		f.Since = since
	}
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1000 {
			return f, mess.Errorf(mess.Invalid, "limit: %.20q is not a number from 1 to 1000", s)
		}
		f.Limit = n
	}
	return f, nil
}
