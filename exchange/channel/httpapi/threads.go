package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/home"
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
	Trace     string        `json:"traceparent,omitempty"`
	Asked     *home.Asked   `json:"asked,omitempty"` // of a request for a verb of a device
}

func summaryOf(e exchange.Envelope) summary {
	s := summary{
		Ref: e.Ref, Status: e.Status, Intent: e.Intent, Requester: e.Requester, Priority: cmp.Or(e.Priority, mess.Normal),
		Created: formatTime(e.Created), Updated: formatTime(e.Updated), Trace: e.Trace, Asked: home.AskedOf(&e),
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
	if f.Device != "" && !strings.Contains(f.Device, ":") { // a name that only one executor has
		d, err := c.home.Device(f.Device)
		if err != nil {
			return err
		}
		f.Device = d.ID
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
	f := exchange.Filter{Executor: q.Get("executor"), Requester: q.Get("requestor"), Capability: q.Get("capability"), Device: q.Get("device"), Cursor: q.Get("cursor")}
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

// patchThread adds to a thread as existing clients do: a status, a note, and items. An empty
// body returns the status.
func (c *call) patchThread(ref string) error {
	body, err := c.readObject()
	if err != nil {
		return err
	}
	t, unseen := c.x.Envelope(c.r.Context(), c.actor, ref)
	if unseen != nil {
		t.Ref = ref // a caller that may not see it still gets the error of a taken claim
	}
	m, err := c.messageOfPatch(t, body)
	if err != nil {
		return err
	}
	if len(m.Items) == 0 {
		if unseen != nil {
			return unseen
		}
		c.writeJSON(http.StatusOK, withUnknown(map[string]any{"ref": t.Ref, "status": t.Status}, body, patchFields))
		return nil
	}
	m.Re = mess.Refs{t.Ref}
	if ref == mess.Last {
		m.Re = mess.Refs{mess.Last} // this name cannot confirm (MESS 1.0 section 1.3)
	}
	answer, err := c.post(m)
	if err != nil {
		return err
	}
	v := withUnknown(map[string]any{"ref": t.Ref, "status": mess.FirstAck(answer).Status}, body, patchFields)
	for _, item := range m.Items {
		if o, ok := item.(*mess.Other); ok { // the exchange stores it without effect
			list, _ := v["unknown"].([]string)
			v["unknown"] = append(list, "mess."+truncate(string(o.Type)))
		}
	}
	c.writeJSON(http.StatusOK, v)
	return nil
}

// patchFields are the known fields of a PATCH.
var patchFields = []string{"status", "message", "mess"}

// messageOfPatch returns the message that a PATCH means.
func (c *call) messageOfPatch(t exchange.Envelope, body mess.Object) (mess.Message, error) {
	var m mess.Message
	if v, ok := body.Get("mess"); ok && v != nil {
		var err error
		if m, err = c.messageOfItems(v); err != nil {
			return m, err
		}
		for _, item := range m.Items {
			if err := pointAtThread(item, t); err != nil {
				return m, err
			}
		}
	}
	note, err := textField(body, "message")
	if err != nil {
		return m, err
	}
	code, err := parseStatus(body)
	switch {
	case err != nil:
		return m, err
	case len(body) > 0 && len(unknownFields(body, patchFields)) == len(body):
		return m, checkKnown(body, patchFields...)
	case code != "":
		return c.withStatus(t, m, code, note), nil
	case note != "" && len(m.Items) == 0:
		return m, mess.Errorf(mess.Invalid, "message: says something about a status; send one beside it, or answer with mess")
	}
	return m, nil
}

// parseStatus reads the status of a body, or "".
func parseStatus(body mess.Object) (mess.Code, error) {
	v, _ := body.Get("status")
	if v == nil {
		return "", nil
	}
	word, ok := v.(string)
	if !ok {
		return "", mess.Errorf(mess.Invalid, "status: is not text; write a status such as claimed")
	}
	code, err := mess.ParseCode(word)
	if err != nil {
		return "", mess.Errorf(mess.Invalid, "status: %v", err)
	}
	return code, nil
}

// pointAtThread points an item at the thread of the path. Existing clients write a name of that
// thread into re. Only the ref of one of its messages adds anything, so others are removed.
// Suggestions may name any thread.
func pointAtThread(item mess.Item, t exchange.Envelope) error {
	var re *mess.Refs
	switch i := item.(type) {
	case *mess.Status:
		re = &i.Re
	case *mess.Response:
		re = &i.Re
	case *mess.Reply:
		re = &i.Re
	case *mess.Answer:
		re = &i.Re
	case *mess.Cancel:
		re = &i.Re
	case *mess.Suggestion, *mess.Other:
		return nil
	default:
		return mess.Errorf(mess.Invalid, "mess: %s: does not belong in a thread; post it to mess", item.Kind())
	}
	var kept mess.Refs
	for _, r := range *re {
		switch {
		case strings.HasPrefix(r, t.Ref+"/"):
			kept = append(kept, r)
		case t.Suggestion(r) != "":
			kept = append(kept, t.Suggestion(r))
		case r != t.Ref && r != mess.Last && (r != t.ClientID || r == ""):
			return mess.Errorf(mess.Invalid, "mess: %s.re: names %.60q, but the path names %s; leave re out", item.Kind(), r, t.Ref)
		}
	}
	*re = kept
	return nil
}

// withStatus adds the status to the message, unless an item has it. The status cancelled of the
// requester becomes a cancel.
func (c *call) withStatus(t exchange.Envelope, m mess.Message, code mess.Code, note string) mess.Message {
	if code == mess.Cancelled && c.isRequestCancel(t) {
		return withCancel(m, note)
	}
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok && s.Code == code {
			s.Message = cmp.Or(s.Message, note)
			return m
		}
	}
	m.Items = slices.Insert(m.Items, 0, mess.Item(statusWithNote(code, note)))
	return m
}

// isRequestCancel reports whether the caller's status cancelled cancels the request. From the
// holder it reports that the work has stopped.
func (c *call) isRequestCancel(t exchange.Envelope) bool {
	return c.actor.ID != t.Executor || c.actor.ID == t.Requester && t.CancelBy == ""
}

// withCancel returns m with one cancel, and without the status cancelled.
func withCancel(m mess.Message, note string) mess.Message {
	m.Items = slices.DeleteFunc(m.Items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return ok && s.Code == mess.Cancelled
	})
	if !slices.ContainsFunc(m.Items, func(i mess.Item) bool { return i.Kind() == mess.KindCancel }) {
		m.Items = slices.Insert(m.Items, 0, mess.Item(&mess.Cancel{Reason: note}))
	}
	return m
}

// statusWithNote returns a status that has only a note, which becomes the mandatory field of
// the status (MESS 1.0 section 4.2).
func statusWithNote(code mess.Code, note string) *mess.Status {
	s := &mess.Status{Code: code, Message: note}
	if note == "" {
		return s
	}
	switch code {
	case mess.NeedsInput:
		s.Questions = []mess.Question{{Field: "answer", Question: note}}
	case mess.NeedsConfirmation:
		s.Action = note
	case mess.Waiting:
		s.WaitingFor = &mess.WaitingFor{Type: "condition", Condition: note}
	}
	return s
}
