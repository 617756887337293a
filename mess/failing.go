package mess

import "time"

// FailingField is the field of config.executor that lists the devices whose last use
// failed, for operators: [{device, at, why}] (messkit extension).
const FailingField = "failing"

// Failing is a device whose last use failed, as its executor reports.
type Failing struct {
	Device string    `json:"device"`
	At     time.Time `json:"at"` // with a resolution of one second
	Reason string    `json:"why"`
}

// FailingItems returns the value of FailingField for failing devices.
func FailingItems(all []Failing) []any {
	list := make([]any, len(all))
	for i, f := range all {
		list[i] = Object{{Key: "device", Value: f.Device}, {Key: "at", Value: f.At.UTC().Format(time.RFC3339)}, {Key: "why", Value: f.Reason}}
	}
	return list
}

// FailingDevices returns the devices in FailingField. It ignores entries with another
// structure, because any executor may write the field.
func (e Executor) FailingDevices() []Failing {
	value, _ := e.Extra.Get(FailingField)
	list, _ := value.([]any)
	var all []Failing
	for _, one := range list {
		o, _ := one.(Object)
		text := func(key string) string {
			v, _ := o.Get(key)
			s, _ := v.(string)
			return s
		}
		at, err := time.Parse(time.RFC3339, text("at"))
		if f := (Failing{text("device"), at, text("why")}); err == nil && f.Device != "" && f.Reason != "" {
			all = append(all, f)
		}
	}
	return all
}
