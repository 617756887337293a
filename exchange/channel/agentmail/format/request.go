package format

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// messKey is the one key of metadata under which everything of MESS travels that
// the formats have no field for, so that between two of ours nothing is lost.
const messKey = "mess"

// extraKey is where a request keeps what an assignment says and MESS has no field
// for.
const extraKey = "agent_mail"

// priorities by those of MESS.
var priorities = map[mess.Priority]Priority{
	mess.Background: Low, mess.Normal: Normal, "": Normal, mess.Elevated: High, mess.Urgent: Urgent,
}

// RequestID is the id that a request has for a task: the task's own, unless that
// means something else at an exchange.
func RequestID(task string) string {
	day, _, ok := messeaf.ParseRef(messeaf.ThreadRef(task))
	_, err := time.Parse(time.DateOnly, day)
	if task == mess.Last || ok && err == nil {
		return "mail-" + task
	}
	return task
}

// Request is the assignment as a request. known reports whether an id is one of a
// capability: a label that is one is required, all others are only kept.
func (t *TaskAssignment) Request(known func(string) bool) (mess.Request, error) {
	r, err := t.carried()
	if err != nil {
		return mess.Request{}, err
	}
	own := mess.Object{{Key: "task_id", Value: t.TaskID}}
	if r.ID != "" {
		own = append(own, mess.Field{Key: "id", Value: r.ID})
	}
	r.ID, r.Intent = RequestID(t.TaskID), t.Description
	if r.Priority == "" {
		r.Priority = t.priority()
	}
	if r.NeededBy == "" {
		r.NeededBy = t.Deadline
	}
	list := t.ownCriteria(r)
	for _, text := range slices.Concat(t.Specification.TechnicalRequirements, list) {
		if strings.TrimSpace(text) != "" && !hasText(r.Context, text) {
			r.Context = append(r.Context, mess.TextEntry(text))
		}
	}
	if len(list) > 0 {
		own = append(own, mess.Field{Key: criteriaKey, Value: list})
	}
	own = append(own, t.needs(&r, known)...)
	if len(t.FilePatterns) > 0 {
		own = append(own, mess.Field{Key: "file_patterns", Value: t.FilePatterns})
	}
	if t.Minutes != nil {
		own = append(own, mess.Field{Key: "estimated_duration_minutes", Value: *t.Minutes})
	}
	for _, f := range t.Metadata {
		if f.Key != messKey {
			own = append(own, f)
		}
	}
	r.Extra = r.Extra.Set(extraKey, own)
	return r, nil
}

// ownCriteria returns the acceptance criteria without those that Assign has derived from
// the request in metadata.mess.
func (t *TaskAssignment) ownCriteria(r mess.Request) []string {
	list := t.Specification.AcceptanceCriteria
	if _, carried := carriedIn(t.Metadata); !carried {
		return list
	}
	derived := criteria(r.ResponseHint)
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return slices.Contains(derived, text) })
}

// hasText reports whether a text is an entry of the context.
func hasText(context []mess.Entry, text string) bool {
	return slices.ContainsFunc(context, func(e mess.Entry) bool {
		one, ok := e.Text()
		return ok && one == text
	})
}

// priority is that of the task in the words of MESS.
func (t *TaskAssignment) priority() mess.Priority {
	for p, q := range priorities {
		if q == t.Priority && p != "" {
			return p
		}
	}
	return mess.Normal
}

// needs puts in what the request requires and depends on, and returns what was
// required of somebody else: what another exchange has seen to.
func (t *TaskAssignment) needs(r *mess.Request, known func(string) bool) (own mess.Object) {
	labels, _ := t.Metadata.Get("labels")
	list, _ := labels.([]any)
	for _, l := range list {
		id, _ := l.(string)
		has := slices.ContainsFunc(r.Requires, func(c mess.Capability) bool { return c.ID == id })
		if !has && known(id) {
			r.Requires = append(r.Requires, mess.Capability{ID: id})
		}
	}
	if r.Constraints != nil && len(r.Constraints.DependsOn) > 0 {
		own = append(own, mess.Field{Key: "depends_on", Value: []string(r.Constraints.DependsOn)})
		r.Constraints.DependsOn = nil
	}
	for _, task := range t.Dependencies {
		if r.Constraints == nil {
			r.Constraints = &mess.Constraints{}
		}
		r.Constraints.DependsOn = append(r.Constraints.DependsOn, RequestID(task))
	}
	return own
}

// flat are the keys that may stand in metadata.mess itself instead of in its
// constraints, and where they belong.
var flat = map[string][]string{"location": {"constraints"}, "environment": {"constraints"}, "not_before": {"constraints", "timing"}}

// carried is the request that metadata.mess holds, an empty one if it holds none.
func (t *TaskAssignment) carried() (mess.Request, error) {
	var r mess.Request
	o, ok := carriedIn(t.Metadata)
	if !ok {
		return r, nil
	}
	doc := mess.Object{{Key: "intent", Value: t.Description}}
	for _, f := range o {
		switch {
		case f.Key == "intent", f.Key == "ref":
		case flat[f.Key] != nil:
			doc = setIn(doc, append(slices.Clone(flat[f.Key]), f.Key), f.Value)
		case f.Key == "constraints":
			in, _ := f.Value.(mess.Object)
			for _, one := range in {
				doc = setIn(doc, []string{"constraints", one.Key}, one.Value)
			}
		default:
			doc = doc.Set(f.Key, f.Value)
		}
	}
	data, err := json.Marshal(doc)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return mess.Request{}, fmt.Errorf("metadata.mess: %w", err)
	}
	return r, nil
}

// setIn sets a value deep in an object.
func setIn(o mess.Object, path []string, value any) mess.Object {
	if len(path) == 1 {
		return o.Set(path[0], value)
	}
	v, _ := o.Get(path[0])
	in, _ := v.(mess.Object)
	return o.Set(path[0], setIn(in, path[1:], value))
}

// carriedIn is what metadata hold of MESS.
func carriedIn(metadata mess.Object) (mess.Object, bool) {
	v, ok := metadata.Get(messKey)
	o, isObject := v.(mess.Object)
	return o, ok && isObject
}

// Assign makes an assignment of a request that an exchange knows by ref. expires
// is when it is too late; zero if never.
func Assign(ref string, r mess.Request, expires time.Time) *TaskAssignment {
	p := priorities[r.Priority]
	t := &TaskAssignment{
		TaskID: ref, Description: r.Intent, Priority: p, PriorityValue: p.Value(),
		Specification: Specification{AcceptanceCriteria: criteria(r.ResponseHint)}, FilePatterns: []string{},
	}
	if !expires.IsZero() {
		t.Deadline = mess.TimeOf(expires.UTC())
	}
	for _, e := range r.Context {
		if text, ok := e.Text(); ok {
			t.Specification.TechnicalRequirements = append(t.Specification.TechnicalRequirements, text)
		}
	}
	var labels []string
	for _, c := range r.Requires {
		labels = append(labels, c.ID)
	}
	if labels != nil {
		t.Metadata = mess.Object{{Key: "labels", Value: labels}}
	}
	carried := mess.Object{{Key: "ref", Value: ref}}
	carried = append(carried, objectOf(r)...)
	t.Metadata = t.Metadata.Set(messKey, carried)
	return t
}

// criteria are what is asked for in the answer, in words.
func criteria(hints []mess.ResponseHint) []string {
	list := []string{"Say with task_completion what was done, and how that is known"}
	for _, h := range hints {
		list = append(list, "The answer has content of the type "+h.Type)
	}
	return list
}

// objectOf is anything of MESS as an object.
func objectOf(x any) mess.Object {
	var o mess.Object
	data, err := json.Marshal(x)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return nil // which is only so of what is no object
	}
	return o
}
