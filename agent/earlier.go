package agent

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/mess"
)

// earlier sends the images of an earlier thread again. They are no evidence of the current
// state; their time and their ref show their origin.
func (v verbs) earlier() result {
	thread, _ := v.plan.Args.Get("thread")
	pictures, _ := v.plan.Args.Get("pictures")
	list, _ := pictures.([]any)
	r := result{evidence: mess.EvidenceUnknown}
	var taken []string
	for _, one := range list {
		about, ok := one.(mess.Object)
		if !ok {
			continue
		}
		r.earlier = append(r.earlier, mess.Entry{Type: "image", Value: about.Clone()})
		if at, ok := about.Get("captured_at"); ok && at != "" {
			taken = append(taken, fmt.Sprint(at))
		}
	}
	when := ""
	if len(taken) > 0 {
		when = ", taken at " + strings.Join(taken, " and ")
	}
	r.text = fmt.Sprintf("The picture of %v again%s. It is not new, and shows how it was then.", thread, when)
	return r
}
