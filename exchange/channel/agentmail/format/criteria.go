package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// criteriaKey is the field with acceptance criteria: in the stored part of an assignment, in a
// response of an executor, and in the metadata of a completion.
const criteriaKey = "acceptance_criteria"

// unusedKey is the field that names the fields which the exchange does not use.
const unusedKey = "unused"

// unchecked is the result of an acceptance criterion that no executor has checked.
const unchecked = "not_checked"

// unused adds the names of the fields that the exchange does not use.
func (t ReportContext) unused(o mess.Object) mess.Object {
	if len(t.Unused) == 0 {
		return o
	}
	return append(mess.Object{{Key: unusedKey, Value: t.Unused}}, o...)
}

// addCriteriaResults adds a result for each acceptance criterion: that of the executor, or unchecked.
func (t ReportContext) addCriteriaResults(c *TaskCompletion, r *mess.Response) {
	if len(t.Criteria) == 0 {
		return
	}
	results := criteriaResults(r)
	var list []any
	var open []string
	for _, criterion := range t.Criteria {
		var met any = unchecked
		if v, ok := results[criterion]; ok {
			met = v
		} else {
			open = append(open, criterion)
		}
		list = append(list, mess.Object{{Key: "criterion", Value: criterion}, {Key: "met", Value: met}})
	}
	if len(open) > 0 {
		c.Warnings = append(c.Warnings, "unchecked acceptance criteria: "+strings.Join(open, "; "))
	}
	c.Metadata = append(mess.Object{{Key: criteriaKey, Value: list}}, c.Metadata...)
}

// criteriaResults returns the results of an executor for acceptance criteria.
func criteriaResults(r *mess.Response) map[string]bool {
	all := map[string]bool{}
	if r == nil {
		return all
	}
	v, _ := r.Extra.Get(criteriaKey)
	list, _ := v.([]any)
	for _, one := range list {
		o, _ := one.(mess.Object)
		text := o.Text("criterion")
		met, _ := o.Get("met")
		if is, ok := met.(bool); ok && text != "" {
			all[text] = is
		}
	}
	return all
}

// Kept returns the parts of an assignment that a request keeps: the acceptance criteria, and the
// fields that the exchange does not use.
func Kept(r mess.Request) (criteria, unused []string) {
	v, _ := r.Extra.Get(extraKey)
	o, _ := v.(mess.Object)
	list, _ := o.Get(criteriaKey)
	for _, one := range anys(list) {
		if text, ok := one.(string); ok && strings.TrimSpace(text) != "" && !slices.Contains(criteria, text) {
			criteria = append(criteria, text)
		}
	}
	for _, key := range []string{"estimated_duration_minutes", "file_patterns"} {
		if _, ok := o.Get(key); ok {
			unused = append(unused, key)
		}
	}
	return criteria, unused
}

// anys converts a parsed list, or one made by this package.
func anys(v any) []any {
	if words, ok := v.([]string); ok {
		return listOf(words)
	}
	list, _ := v.([]any)
	return list
}

// Unused returns the fields of a coordination request that the exchange does not use.
func (c *CoordinationRequest) Unused() (list []string) {
	if len(c.Protocol) > 0 {
		list = append(list, "communication_protocol")
	}
	if len(c.SuccessCriteria) > 0 {
		list = append(list, "success_criteria")
	}
	for i, r := range c.SharedResources {
		o, _ := r.(mess.Object)
		patterns, _ := o.Get("patterns")
		if len(anys(patterns)) == 0 {
			list = append(list, fmt.Sprintf("shared_resources[%d]", i))
		}
	}
	known := []string{"duration_minutes"}
	if len(c.SharedResources) > 0 {
		known = append(known, "start_time")
	} else {
		known = nil
	}
	for _, f := range c.Schedule {
		if !slices.Contains(known, f.Key) {
			list = append(list, "schedule."+f.Key)
		}
	}
	return list
}
