package format

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// ReportContext is the context of a report. Bodies reports a message of a thread to the agent that
// has assigned the task.
type ReportContext struct {
	Task    string    // id of the task
	To      string    // name of the agent
	Now     time.Time // time of the message; durations count from it
	Blocked bool      // the agent knows that the task waits

	Criteria []string // acceptance criteria of the task
	Unused   []string // fields of the assignment that the exchange does not use
}

// companion is the metadata field that marks a secondary message; another message has all its MESS
// items.
const companion = "with"

// Bodies returns the messages that report a message of an executor or of the exchange. The one
// with the MESS message comes before its secondary messages, but an error report comes before the
// end.
func (t ReportContext) Bodies(m mess.Message) []Body {
	carried := carry(m)
	var s *mess.Status
	var r *mess.Response
	for _, item := range m.Items {
		switch i := item.(type) {
		case *mess.Status:
			s = i
		case *mess.Response:
			r = i
		}
	}
	switch {
	case s == nil && r == nil && len(carried) <= 1:
		return nil
	case s == nil && r == nil:
		return []Body{t.update("progress", "there is more about it", carried)}
	case s == nil:
		s = &mess.Status{Code: mess.Completed}
	}
	return t.status(s, r, carried)
}

func (t ReportContext) status(s *mess.Status, r *mess.Response, carried mess.Object) []Body {
	switch s.Code {
	case mess.Completed, mess.Partial:
		return []Body{t.done(s, r, carried)}
	case mess.Failed, mess.Declined, mess.Expired:
		return []Body{t.problem(s, carried), t.blockedEnd(s, r, carried)}
	case mess.Cancelled, mess.Superseded, mess.Delegated:
		return []Body{t.blockedEnd(s, r, carried)}
	case mess.Waiting, mess.Held:
		return []Body{t.blocker(s.Code, waitReasons(s), carried)}
	case mess.NeedsInput:
		var lines []string
		for _, q := range s.Questions {
			lines = append(lines, questionLine(q))
		}
		return []Body{
			t.ask("sync", "Question: "+strings.Join(lines, "; "), lines, carried),
			t.blocker(s.Code, lines, t.with(carried, TypeCoordinationRequest)),
		}
	case mess.NeedsConfirmation:
		topic, lines := "Confirm: "+s.Action, []string{"Answer yes or no in this thread: " + s.Action}
		if s.ConfirmBy != "" {
			topic = "Waits for the confirmation of the " + s.ConfirmBy + " on the host: " + s.Action
			lines = []string{topic, "A confirmation by mail does not count; cancel withdraws the task"}
		}
		if s.Consequences != "" {
			lines = append(lines, "Consequences: "+s.Consequences)
		}
		return []Body{
			t.ask("review", topic, lines, carried),
			t.blocker(s.Code, lines, t.with(carried, TypeCoordinationRequest)),
		}
	}
	return []Body{t.progress(s, carried)}
}

// questionLine returns a question in one line.
func questionLine(q mess.Question) string {
	text := cmp.Or(q.Question, q.Key())
	if len(q.Options) > 0 {
		text += " (" + strings.Join(q.Options, " | ") + ")"
	}
	return text
}

// waitReasons returns what a task waits for.
func waitReasons(s *mess.Status) []string {
	var list []string
	if w := s.WaitingFor; w != nil {
		about := cmp.Or(w.Note, w.Condition, w.Resource, strings.Join(w.Ref, ", "), w.Location)
		list = append(list, strings.TrimSpace(w.Type+": "+about))
	}
	if s.Reason != nil {
		list = append(list, reason(s))
	}
	if len(list) == 0 {
		list = append(list, cmp.Or(s.Message, string(s.Code)))
	}
	return list
}

func reason(s *mess.Status) string {
	if s.Reason == nil {
		return s.Message
	}
	return cmp.Or(s.Reason.Detail, s.Reason.Type, s.Message)
}

// with marks a secondary message.
func (t ReportContext) with(carried mess.Object, of Type) mess.Object {
	o := mess.Object{{Key: companion, Value: string(of)}}
	if ref, ok := carried.Get("ref"); ok {
		o = append(o, mess.Field{Key: "ref", Value: ref})
	}
	return o
}

func metadata(carried mess.Object) mess.Object { return mess.Object{{Key: messKey, Value: carried}} }

func (t ReportContext) update(kind, summary string, carried mess.Object) *StatusUpdate {
	return &StatusUpdate{TaskID: t.Task, UpdateType: kind, Summary: summary, Blockers: []any{}, Metadata: t.unused(metadata(carried))}
}

func (t ReportContext) progress(s *mess.Status, carried mess.Object) Body {
	words := map[mess.Code]string{
		mess.Claimed: "claimed", mess.InProgress: "in progress", mess.Retrying: "trying again", mess.Pending: "waits for an executor",
	}
	summary := cmp.Or(words[s.Code], string(s.Code))
	if by := cmp.Or(s.Executor, ""); by != "" {
		summary += " by " + by
	}
	if s.Message != "" {
		summary += ": " + s.Message
	}
	kind := "progress"
	if t.Blocked {
		kind = "unblocker"
	}
	u := t.update(kind, summary, carried)
	u.Progress = &Progress{CurrentStep: s.Message, Percentage: s.ProgressPct, CompletedSteps: lines(s.Completed)}
	if left := lines(s.Remaining); len(left) > 0 {
		u.Progress.CurrentStep = cmp.Or(s.Message, left[0])
		u.Progress.RemainingSteps, u.NextMilestone = left[1:], left[min(1, len(left)-1)]
	}
	if s.Code == mess.Claimed && s.ProgressPct == nil {
		u.Progress.Percentage = new(0.0)
	}
	if d, err := s.Estimate.Duration(); err == nil && d > 0 {
		u.Progress.EstimatedCompletion = mess.TimeOf(t.Now.Add(d).UTC())
	}
	if o, ok := s.Partial.(mess.Object); ok {
		u.Metrics = o
	}
	return u
}

// ExecutorStopped reports that an executor has stopped work on a task that has not ended, or has
// ended it under an earlier claim.
func (t ReportContext) ExecutorStopped(from, ref string, s *mess.Status) Body {
	summary := from + " says " + strings.ReplaceAll(string(s.Code), "_", " ")
	if text := reason(s); text != "" {
		summary += " (" + text + ")"
	}
	return t.update("progress", summary+"; the task has not ended", t.with(mess.Object{{Key: "ref", Value: ref}}, TypeTaskCompletion))
}

// lines returns the items of a list as text.
func lines(list []any) (words []string) {
	for _, one := range list {
		words = append(words, joined([]any{one}))
	}
	return words
}

func (t ReportContext) blocker(code mess.Code, reason []string, carried mess.Object) Body {
	u := t.update("blocker", strings.ReplaceAll(string(code), "_", " ")+": "+strings.Join(reason, "; "), carried)
	u.Blockers = append(u.Blockers, listOf(reason)...)
	return u
}

func (t ReportContext) ask(kind, topic string, lines []string, carried mess.Object) Body {
	c := &CoordinationRequest{RequestType: kind, Participants: []string{t.To}, Topic: topic, SuccessCriteria: listOf(lines)}
	c.Metadata = append(mess.Object{{Key: "task_id", Value: t.Task}}, metadata(carried)...)
	return c
}

// done reports an end with results.
func (t ReportContext) done(s *mess.Status, r *mess.Response, carried mess.Object) Body {
	c := t.end("complete", s, r, carried)
	if s.Code == mess.Partial {
		c.Status = "partial"
		for _, left := range s.Remaining {
			c.Warnings = append(c.Warnings, fmt.Sprintf("not done: %v", left))
		}
		c.Warnings = append(c.Warnings, reason(s))
	}
	return c
}

func (t ReportContext) end(status string, s *mess.Status, r *mess.Response, carried mess.Object) *TaskCompletion {
	c := &TaskCompletion{
		TaskID: t.Task, Status: status, Summary: summary(s, r), FilesModified: []string{}, TestResults: mess.Object{}, Errors: []any{},
		Metadata: t.unused(metadata(carried)),
	}
	t.addCriteriaResults(c, r)
	return c
}

// blockedEnd reports an end without results, or with an unknown outcome.
func (t ReportContext) blockedEnd(s *mess.Status, r *mess.Response, carried mess.Object) Body {
	c := t.end("blocked", s, r, carried)
	c.Errors = append(c.Errors, string(s.Code))
	if text := reason(s); text != "" {
		c.Errors = append(c.Errors, text)
	}
	for _, ref := range s.SupersededBy {
		c.NextTasks = append(c.NextTasks, NextTask{TaskID: ref, Relationship: "supersedes", Reason: cmp.Or(reason(s), "it takes the place of this one")})
	}
	if s.DelegatedTo != "" {
		c.NextTasks = append(c.NextTasks, NextTask{TaskID: t.Task, Relationship: "delegated", Reason: "passed on to " + s.DelegatedTo})
	}
	return c
}

// problem returns the error report before a blocked end.
func (t ReportContext) problem(s *mess.Status, carried mess.Object) Body {
	e := &ErrorReport{
		TaskID: t.Task, Severity: "blocking", Error: Error{Code: string(s.Code), Message: cmp.Or(reason(s), string(s.Code))},
		ReproductionSteps: []string{"give the task again"},
	}
	if s.Recoverable != nil && *s.Recoverable {
		e.Severity = "high"
	}
	if s.Reason != nil {
		if s.Reason.Type != "" {
			e.Error.Code = s.Reason.Type
		}
		if s.Reason.Effect != "" {
			e.Error.Context = mess.Object{{Key: "effect", Value: string(s.Reason.Effect)}}
		}
		e.NeedsHumanIntervention = s.Reason.Effect == mess.EffectUnknown || s.Reason.Effect == mess.EffectPartial
	}
	if s.Suggestion != "" {
		e.SuggestedActions = []string{s.Suggestion}
	}
	e.Extra = mess.Object{{Key: "metadata", Value: metadata(t.with(carried, TypeTaskCompletion))}}
	return e
}

// summary describes an end.
func summary(s *mess.Status, r *mess.Response) string {
	text := strings.ReplaceAll(string(s.Code), "_", " ")
	if s.Evidence != "" {
		text += " (" + strings.ReplaceAll(string(s.Evidence), "_", " ") + ")"
	}
	lines := []string{text}
	if detail := reason(s); detail != "" {
		lines = append(lines, detail)
	}
	if r != nil {
		for i, e := range r.Content {
			if e.Type == "structured" && i > 0 {
				continue // it repeats the first entry for programs
			}
			lines = append(lines, describeEntry(e))
		}
		if r.Notes != "" {
			lines = append(lines, r.Notes)
		}
	}
	return strings.Join(lines, "\n")
}

// describeEntry describes an entry of content.
func describeEntry(e mess.Entry) string {
	if text, ok := e.Text(); ok {
		return text
	}
	if m, ok := e.Media(); ok {
		return strings.TrimSpace(e.Type + " " + cmp.Or(m.Name, m.File))
	}
	if l, ok := e.Location(); ok {
		return "location " + cmp.Or(l.Name, l.Address, l.Description)
	}
	if c, ok := e.Confirmation(); ok {
		return strings.TrimSpace(fmt.Sprintf("confirmed: %v %s", c.Confirmed, c.Details))
	}
	if c, ok := e.Failure(); ok {
		return "error " + c.Code + ": " + c.Message
	}
	return e.Type + " (in metadata.mess.content)"
}

// carry returns a message in the form of metadata.mess: its items by kind, with the content of a
// response.
func carry(m mess.Message) mess.Object {
	o := mess.Object{{Key: "ref", Value: m.Ref}}
	var others []any
	for _, item := range m.Items {
		key := string(item.Kind())
		body := objectOf(item)
		if _, twice := o.Get(key); twice || body == nil {
			others = append(others, mess.Object{{Key: key, Value: value(item, body)}})
			continue
		}
		if r, ok := item.(*mess.Response); ok {
			bare := *r
			bare.Content = nil
			body = objectOf(bare)
			if len(r.Content) > 0 {
				content, _ := objectOf(mess.Response{Content: r.Content}).Get("content")
				o = append(o, mess.Field{Key: "content", Value: content})
			}
		}
		o = append(o, mess.Field{Key: key, Value: body})
	}
	if others != nil {
		o = append(o, mess.Field{Key: "items", Value: others})
	}
	return o
}

func value(item mess.Item, body mess.Object) any {
	if other, ok := item.(*mess.Other); ok {
		return other.Value
	}
	return body
}
