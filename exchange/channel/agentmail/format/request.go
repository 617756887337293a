package format

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// messKey is the metadata field for all parts of a MESS message that have no field in the format.
// Two messkit exchanges lose nothing.
const messKey = "mess"

// extraKey is the field of a request for the parts of an assignment that MESS has no field for.
const extraKey = "agent_mail"

// priorities maps the priorities of MESS.
var priorities = map[mess.Priority]Priority{
	mess.Background: Low, mess.Normal: Normal, "": Normal, mess.Elevated: High, mess.Urgent: Urgent,
}

// RequestID returns the id of the request for a task: the id of the task, unless the exchange
// could take that for another id.
func RequestID(task string) string {
	day, _, ok := messeaf.ParseRef(messeaf.ThreadRef(task))
	_, err := time.Parse(time.DateOnly, day)
	if task == mess.Last || ok && err == nil {
		return "mail-" + task
	}
	return task
}

// Request converts the assignment to a request. known reports whether an id is a capability: the
// request requires such a label, and keeps all others.
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
	r.Priority, r.NeededBy = cmp.Or(r.Priority, t.priority()), cmp.Or(r.NeededBy, t.Deadline)
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

// hasText reports whether the context has a text entry.
func hasText(context []mess.Entry, text string) bool {
	return slices.ContainsFunc(context, func(e mess.Entry) bool {
		one, ok := e.Text()
		return ok && one == text
	})
}

// priority returns the MESS priority of the task.
func (t *TaskAssignment) priority() mess.Priority {
	for p, q := range priorities {
		if q == t.Priority && p != "" {
			return p
		}
	}
	return mess.Normal
}

// needs adds the required capabilities and the dependencies of the request. It returns the
// requirements for the sender's exchange, which has met them.
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

// flat maps the fields that metadata.mess may have at its top to their places in the request.
var flat = map[string][]string{"location": {"constraints"}, "environment": {"constraints"}, "not_before": {"constraints", "timing"}}

// carried returns the request in metadata.mess, an empty one if there is none.
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

// setIn sets a value at a path in an object.
func setIn(o mess.Object, path []string, value any) mess.Object {
	if len(path) == 1 {
		return o.Set(path[0], value)
	}
	v, _ := o.Get(path[0])
	in, _ := v.(mess.Object)
	return o.Set(path[0], setIn(in, path[1:], value))
}

// carriedIn returns the MESS part of metadata.
func carriedIn(metadata mess.Object) (mess.Object, bool) {
	v, ok := metadata.Get(messKey)
	o, isObject := v.(mess.Object)
	return o, ok && isObject
}

// Assign makes an assignment of a request. ref names its thread; expires is zero if the request
// does not expire.
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

// criteria describes the hints for the response.
func criteria(hints []mess.ResponseHint) []string {
	list := []string{"Report with task_completion what you did, and how you know it"}
	for _, h := range hints {
		list = append(list, "The answer has content of the type "+h.Type)
	}
	return list
}

// objectOf converts a MESS value to an object.
func objectOf(x any) mess.Object {
	var o mess.Object
	data, err := json.Marshal(x)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return nil // x is no object
	}
	return o
}
