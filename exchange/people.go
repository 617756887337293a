package exchange

import "github.com/messkit/messkit/mess"

// KindKey is the field of config.executor that says what an executor is, and
// Person its value for people. Others say nothing, and are robots.
const (
	KindKey = "kind"
	Person  = "person"
)

// IsPerson reports whether an executor is a person, who is offered what robots
// do not take, and does it at a person's pace.
func IsPerson(e mess.Executor) bool {
	kind, _ := e.Extra.Get(KindKey)
	return kind == Person
}
