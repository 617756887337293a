package exchange

import (
	"time"

	"github.com/messkit/messkit/mess"
)

// Failing is a device of an executor whose last use has failed, by the executor's
// own word.
type Failing struct {
	Device string    `json:"device"`
	At     time.Time `json:"at"`
	Why    string    `json:"why"`
}

// FailingOf lists what an executor tells of in config.executor.failing (ours):
// [{device, at, why}]. What is of another shape is left out: the field is open to
// everybody.
func FailingOf(e mess.Executor) []Failing {
	told, _ := e.Extra.Get("failing")
	list, _ := told.([]any)
	var all []Failing
	for _, one := range list {
		o, _ := one.(mess.Object)
		text := func(key string) string {
			v, _ := o.Get(key)
			s, _ := v.(string)
			return s
		}
		at, err := time.Parse(time.RFC3339, text("at"))
		if f := (Failing{text("device"), at, text("why")}); err == nil && f.Device != "" && f.Why != "" {
			all = append(all, f)
		}
	}
	return all
}
