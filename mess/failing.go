package mess

import "time"

// FailingField is the field of config.executor that names the devices whose last use
// has failed (ours): [{device, at, why}], for those who run the place.
const FailingField = "failing"

// Failing is a device of an executor whose last use has failed, by the executor's
// own word.
type Failing struct {
	Device string    `json:"device"`
	At     time.Time `json:"at"` // to the second
	Why    string    `json:"why"`
}

// FailingItems is what an executor tells of its failing devices in FailingField.
func FailingItems(all []Failing) []any {
	list := make([]any, len(all))
	for i, f := range all {
		list[i] = Object{{Key: "device", Value: f.Device}, {Key: "at", Value: f.At.UTC().Format(time.RFC3339)}, {Key: "why", Value: f.Why}}
	}
	return list
}

// FailingDevices lists what an executor tells in FailingField. What is of another
// shape is left out: the field is open to everybody.
func (e Executor) FailingDevices() []Failing {
	told, _ := e.Extra.Get(FailingField)
	list, _ := told.([]any)
	var all []Failing
	for _, one := range list {
		o, _ := one.(Object)
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
