package format

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// Carried returns the MESS items in metadata.mess. There are none in a message of another program.
// companion is true if another message has all items.
func Carried(b Body) (items []mess.Item, companion bool, err error) {
	o, ok := carriedIn(metadataOf(b))
	if !ok {
		return nil, false, nil
	}
	if _, ok := o.Get("with"); ok {
		return nil, true, nil
	}
	var list []any
	for _, f := range o {
		switch mess.Kind(f.Key) {
		case mess.KindStatus, mess.KindReply, mess.KindAnswer, mess.KindCancel, mess.KindSuggestion:
			list = append(list, mess.Object{f})
		case mess.KindResponse:
			in, _ := f.Value.(mess.Object)
			if content, ok := o.Get("content"); ok {
				in = append(slices.Clone(in), mess.Field{Key: "content", Value: content})
			}
			list = append(list, mess.Object{{Key: f.Key, Value: in}})
		case "items":
			more, _ := f.Value.([]any)
			list = append(list, more...)
		case "content":
			if _, beside := o.Get(string(mess.KindResponse)); !beside {
				list = append(list, mess.Object{{Key: string(mess.KindResponse), Value: mess.Object{f}}})
			}
		}
	}
	if len(list) == 0 {
		return nil, false, nil
	}
	data, err := json.Marshal(mess.Object{{Key: "MESS", Value: list}})
	if err != nil {
		return nil, false, err
	}
	m, err := mess.Parse(data)
	if err != nil {
		return nil, false, fmt.Errorf("metadata.mess: %w", err)
	}
	return m.Items, false, nil
}

// metadataOf returns the metadata of a message.
func metadataOf(b Body) mess.Object {
	switch b := b.(type) {
	case *TaskAssignment:
		return b.Metadata
	case *TaskCompletion:
		return b.Metadata
	case *StatusUpdate:
		return b.Metadata
	case *CoordinationRequest:
		return b.Metadata
	case *ErrorReport:
		return objectIn(b.Extra, "metadata")
	case *FileReservation:
		return objectIn(b.Extra, "metadata")
	}
	return nil
}

func objectIn(o mess.Object, key string) mess.Object {
	v, _ := o.Get(key)
	in, _ := v.(mess.Object)
	return in
}

// InReplyTo returns the id of the message that a message answers, "" for none (D9).
func InReplyTo(b Body) string { return metadataOf(b).Text("in_reply_to") }

// TaskOf returns the id of the task of a message, "" for none.
func TaskOf(b Body) string {
	switch b := b.(type) {
	case *TaskAssignment:
		return b.TaskID
	case *TaskCompletion:
		return b.TaskID
	case *ErrorReport:
		return b.TaskID
	case *StatusUpdate:
		return b.TaskID
	case *FileReservation:
		return b.TaskID
	case *CoordinationRequest:
		return b.Metadata.Text("task_id")
	}
	return ""
}

// Reports converts a message about a task to MESS items: those in metadata.mess, or items from the
// fields of the format. now is the time of receipt.
func Reports(m Message, now time.Time) ([]mess.Item, error) {
	items, companion, err := Carried(m.Body)
	if err != nil || companion || len(items) > 0 {
		return items, err
	}
	switch b := m.Body.(type) {
	case *StatusUpdate:
		return []mess.Item{b.status(now)}, nil
	case *TaskCompletion:
		return b.items(), nil
	case *ErrorReport:
		return []mess.Item{b.status()}, nil
	case *CoordinationRequest:
		return []mess.Item{b.status(m.MessageID)}, nil
	}
	return nil, fmt.Errorf("a %s does not report the status of a task", m.Type)
}

func (u *StatusUpdate) status(now time.Time) *mess.Status {
	s := &mess.Status{Code: mess.InProgress, Message: u.Summary}
	if u.UpdateType == "blocker" {
		return &mess.Status{Code: mess.Waiting, Message: u.Summary, WaitingFor: &mess.WaitingFor{Type: "condition", Condition: joined(u.Blockers)}}
	}
	if p := u.Progress; p != nil {
		s.ProgressPct = p.Percentage
		s.Message = cmp.Or(s.Message, p.CurrentStep)
		s.Completed, s.Remaining = listOf(p.CompletedSteps), listOf(p.RemainingSteps)
		if p.CurrentStep != "" && len(s.Remaining) > 0 {
			s.Remaining = append([]any{p.CurrentStep}, s.Remaining...)
		}
		if at, err := p.EstimatedCompletion.Time(); err == nil && at.After(now) {
			s.Estimate = mess.DurationOf(at.Sub(now).Round(time.Second))
		}
	}
	if len(u.Metrics) > 0 {
		s.Partial = u.Metrics
	}
	return s
}

func listOf(words []string) (list []any) {
	for _, w := range words {
		list = append(list, w)
	}
	return list
}

// joined converts a list of any values to text.
func joined(list []any) string {
	var all []string
	for _, one := range list {
		text, ok := one.(string)
		if !ok {
			data, _ := json.Marshal(one) // the value was parsed from JSON
			text = string(data)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// cancelledMarker marks a completion without success as the end of a cancelled task (D13).
const cancelledMarker = "cancelled"

func (c *TaskCompletion) items() []mess.Item {
	r := &mess.Response{Content: []mess.Entry{}}
	if c.Summary != "" {
		r.Content = append(r.Content, mess.TextEntry(c.Summary))
	}
	facts := mess.Object{}
	if len(c.FilesModified) > 0 {
		facts = append(facts, mess.Field{Key: "files_modified", Value: c.FilesModified})
	}
	if len(c.TestResults) > 0 {
		facts = append(facts, mess.Field{Key: "test_results", Value: c.TestResults})
	}
	if v, ok := c.Metadata.Get(criteriaKey); ok {
		r.Extra = r.Extra.Set(criteriaKey, v)
	}
	if len(facts) > 0 {
		r.Content = append(r.Content, mess.Entry{Type: "structured", Value: facts})
	}
	notes := joined(slices.Concat(c.Errors, c.Warnings))
	switch {
	case c.Status == "complete":
		r.Notes = notes
		return []mess.Item{&mess.Status{Code: mess.Completed, Evidence: mess.Acknowledged, Message: "the other side reports that it has finished"}, r}
	case c.Status == "partial":
		return []mess.Item{&mess.Status{Code: mess.Partial, Evidence: mess.Acknowledged, Reason: &mess.Reason{
			Detail: cmp.Or(notes, c.Summary), Effect: mess.EffectPartial,
		}}, r}
	case len(c.Errors) > 0 && c.Errors[0] == cancelledMarker:
		return []mess.Item{&mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{Detail: cmp.Or(c.Summary, notes), Effect: mess.EffectUnknown}}}
	}
	return []mess.Item{&mess.Status{
		Code: mess.Failed, Reason: &mess.Reason{Type: "blocked", Detail: strings.TrimPrefix(c.Summary+"; "+notes, "; "), Effect: mess.EffectUnknown},
		Suggestion: "look before retrying", Recoverable: new(false),
	}}
}

func (e *ErrorReport) status() *mess.Status {
	text := e.Error.Code + ": " + e.Error.Message
	if e.Severity == "low" || e.Severity == "medium" {
		return &mess.Status{Code: mess.InProgress, Message: text}
	}
	s := &mess.Status{Code: mess.Held, Reason: &mess.Reason{Type: e.Error.Code, Detail: text}}
	if e.NeedsHumanIntervention {
		s.Message = "a person has to step in"
	}
	if len(e.SuggestedActions) > 0 {
		s.Suggestion = strings.Join(e.SuggestedActions, "; ")
	}
	return s
}

// status converts a coordination request to a question: a review asks for a confirmation, all else
// for an answer. The id of the message names the plan.
func (c *CoordinationRequest) status(id string) *mess.Status {
	about := c.Topic
	if more := joined(c.SuccessCriteria); more != "" {
		about += ": " + more
	}
	switch c.RequestType {
	case "review":
		return &mess.Status{Code: mess.NeedsConfirmation, Action: about, ActionHash: id}
	case "sync":
		return &mess.Status{Code: mess.NeedsInput, Questions: []mess.Question{{Field: "answer", Question: about}}}
	}
	return &mess.Status{Code: mess.InProgress, Message: c.RequestType + ": " + about}
}

// NewTaskMessage makes a message to the agent of a task: an answer, a confirmation or a cancel.
// topic is the same as text.
func NewTaskMessage(task, to, topic string, m mess.Message) *CoordinationRequest {
	return &CoordinationRequest{
		RequestType: "sync", Participants: []string{to}, Topic: topic,
		Metadata: append(mess.Object{{Key: "task_id", Value: task}}, metadata(carry(m))...),
	}
}

// RefOf returns the ref of the MESS message in a message, "" for none.
func RefOf(b Body) string {
	o, _ := carriedIn(metadataOf(b))
	return o.Text("ref")
}
