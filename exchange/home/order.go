package home

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Order is a request for a verb of a device.
type Order struct {
	Device  string // id
	Verb    string
	Request mess.Request
}

// The time within which an executor must begin an order.
const (
	defaultWithin = time.Minute
	minWithin     = time.Second
	maxWithin     = time.Hour
)

// decideWithin is the time that a person has to confirm an order. It does not shorten the time
// within which the executor must begin, which counts from the confirmation.
const decideWithin = "5m"

// beginWithinField is the field of a request with that time, as its order has given it. The exchange
// does not read it. needed_by cannot replace it: a repeated order has another one.
const beginWithinField = "begin_within"

// withinKey is the key of that time beside the arguments.
const withinKey = "within"

// Arguments that a request has in a form of its own.
const (
	forKey   = "for"   // a duration
	fileKey  = "file"  // one of the files that the device has reported; it is no metadata
	areasKey = "areas" // some of the places that the device or its executor has reported
)

// Order makes the request of an actor for a verb of a device. The id of the device is
// EXECUTOR:DEVICE, or its name if only one executor has it. args has the arguments, and may have within. The error is a
// *mess.Error.
func (h *Home) Order(actor exchange.Actor, id, verb string, args mess.Object) (*Order, error) {
	if !actor.Has(exchange.Requester) && !actor.IsGuest() {
		return nil, mess.Errorf(mess.Forbidden, "%q may not make requests (role requester is missing); an operator gives it", actor.ID)
	}
	d, err := h.Device(id)
	if err != nil {
		return nil, err
	}
	switch {
	case !d.seenBy(actor):
		return nil, errNoDevice(id)
	case !d.mayUse(actor, verb):
		return nil, mess.Errorf(mess.Forbidden, "a guest may not %.60s the %s; an operator allows locks and doors", verb, d.Name)
	}
	o, err := d.Order(verb, args, h.now())
	if err == nil {
		o.Request.NeededBy = endsInTime(actor, o.Request.NeededBy)
	}
	return o, err
}

func errNoDevice(id string) error {
	return mess.Errorf(mess.NotFound, "there is no device %.60q; GET home lists the devices", id)
}

// Device finds a device by its id, or by its name if only one executor has it. The error is a
// *mess.Error.
func (h *Home) Device(id string) (*Device, error) {
	var named []Device
	executors := h.x.Executors()
	for i := range executors {
		if e := &executors[i]; !strings.HasPrefix(id, e.ID+":") && !hasDevice(e, id) {
			continue
		}
		for _, d := range Devices(&executors[i]) {
			if d.ID == id {
				return &d, nil
			}
			if d.Device == id {
				named = append(named, d)
			}
		}
	}
	switch len(named) {
	case 0:
		return nil, errNoDevice(id)
	case 1:
		return &named[0], nil
	}
	ids := make([]string, len(named))
	for i := range named {
		ids[i] = named[i].ID
	}
	return nil, mess.Errorf(mess.Conflict, "several executors have a device %q; write %s", id, strings.Join(ids, " or "))
}

// Order makes a request for a verb of the device, at a time. The error is a *mess.Error.
func (d *Device) Order(verb string, args mess.Object, now time.Time) (*Order, error) {
	v := d.verb(verb)
	if i := slices.IndexFunc(d.merged, func(m Verb) bool { return m.Verb == verb }); v == nil && i >= 0 {
		v = &d.merged[i]
	}
	switch {
	case needsSentence[verb]:
		return nil, mess.Errorf(mess.NotFound, "%s needs a sentence; POST requests with it", verb)
	case v == nil && len(d.Verbs) == 0:
		return nil, mess.Errorf(mess.NotFound, "the %s has no verbs", d.Name)
	case v == nil:
		return nil, mess.Errorf(mess.NotFound, "the %s has no verb %.60q; its verbs: %s", d.Name, verb, d.verbNames())
	}
	within := defaultWithin
	meta := mess.Object{{Key: "devices", Value: []any{d.Device}}, {Key: "executor", Value: d.Executor}}
	words := map[string]string{}
	sorted := slices.SortedFunc(slices.Values(args), func(a, b mess.Field) int { return cmp.Compare(a.Key, b.Key) })
	for _, f := range sorted {
		var err error
		if p, known := v.Parameters[f.Key]; known {
			var value any
			if value, words[f.Key], err = d.argument(verb, f.Key, p, f.Value); err == nil && f.Key != fileKey {
				meta = append(meta, mess.Field{Key: f.Key, Value: value})
			}
		} else if f.Key == withinKey {
			within, err = readWithin(f.Value)
		} else {
			err = mess.Errorf(mess.Invalid, "%.60s: unknown argument of %s; known: %s", f.Key, verb, v.known())
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Parameters)) {
		if v.Parameters[name].Needed && words[name] == "" {
			return nil, mess.Errorf(mess.Invalid, "%s: missing; %s needs it", name, verb)
		}
	}
	return &Order{Device: d.ID, Verb: verb, Request: mess.Request{
		Intent: wording(verb, d.Name, words), NeededBy: mess.TimeOf(now.Add(within)),
		Requires: []mess.Capability{{ID: verb, Meta: meta}}, Extra: mess.Object{{Key: mess.DecideWithinField, Value: decideWithin}, {Key: beginWithinField, Value: string(mess.DurationOf(within))}},
	}}, nil
}

// IsRepeatOf reports whether an order asks for the same as the request of an earlier order, in the same
// time. A request of an earlier release does not have that time, which then does not count.
func (o *Order) IsRepeatOf(r mess.Request) bool {
	was, err1 := json.Marshal(r.Requires)
	is, err2 := json.Marshal(o.Request.Requires)
	within, given := r.Extra.Get(beginWithinField)
	now, _ := o.Request.Extra.Get(beginWithinField)
	return errors.Join(err1, err2) == nil && r.Intent == o.Request.Intent && bytes.Equal(was, is) && (!given || within == now)
}

func (d *Device) verbNames() string {
	names := make([]string, len(d.Verbs))
	for i, v := range d.Verbs {
		names[i] = v.Verb
	}
	return strings.Join(names, ", ")
}

// known lists the arguments of a verb.
func (v *Verb) known() string {
	return strings.Join(append(slices.Sorted(maps.Keys(v.Parameters)), withinKey), ", ")
}

func readWithin(value any) (time.Duration, error) {
	text, _ := value.(string)
	d, err := mess.Duration(text).Duration()
	if err != nil || d < minWithin || d > maxWithin {
		return 0, mess.Errorf(mess.Invalid, "within: not a duration from 1s to 1h; write it like 30s")
	}
	return d, nil
}

// argument checks an argument. It returns its value for requires, and its words for the text.
func (d *Device) argument(verb, name string, p Parameter, value any) (any, string, error) {
	if (name == areasKey || name == fileKey) && len(p.Values) == 0 {
		return nil, "", mess.Errorf(mess.Invalid, "%s: the %s has not said which it knows, so no value is possible; POST a request in words", name, d.Name)
	}
	switch p.Type {
	case numberType:
		return d.number(name, p, value)
	case durationType:
		return durationArgument(name, value)
	case listType:
		return listArgument(name, p, value)
	}
	text, err := textArgument(name, p, value)
	if err == nil && p.Values == nil {
		text, err = d.checkKnown(verb, name, text)
	}
	return text, text, err
}

func (d *Device) number(name string, p Parameter, value any) (any, string, error) {
	var text string
	switch v := value.(type) {
	case mess.Number:
		text = v.String()
	case string: // as a command line has it
		text = v
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, "", mess.Errorf(mess.Invalid, "%s: not a number", name)
	}
	own, _ := d.Limits.Get(name)
	limits, _ := own.(mess.Object)
	for _, low := range []*float64{p.Min, number(limits, "min")} {
		if low != nil && n < *low {
			return nil, "", mess.Errorf(mess.Invalid, "%s: %v is too little; write %v%s or more", name, n, *low, unitText(p.Unit))
		}
	}
	for _, high := range []*float64{p.Max, number(limits, "max")} {
		if high != nil && n > *high {
			return nil, "", mess.Errorf(mess.Invalid, "%s: %v is too much; write %v%s or less", name, n, *high, unitText(p.Unit))
		}
	}
	text = strconv.FormatFloat(n, 'f', -1, 64)
	return mess.Number(text), text, nil
}

func unitText(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}

func durationArgument(name string, value any) (any, string, error) {
	text, _ := value.(string)
	d, err := mess.Duration(text).Duration()
	if err != nil || d < time.Millisecond || d%time.Millisecond != 0 {
		return nil, "", mess.Errorf(mess.Invalid, "%s: not a duration; write it like 90s or 10m", name)
	}
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := d / unit.of; d%unit.of == 0 {
			return d.String(), plural(strconv.FormatInt(int64(n), 10), unit.name), nil
		}
	}
	return d.String(), plural(strconv.FormatFloat(d.Seconds(), 'f', -1, 64), "second"), nil
}

func plural(n, unit string) string {
	if n == "1" {
		return n + " " + unit
	}
	return n + " " + unit + "s"
}

// maxList limits the entries of a list.
const maxList = 16

func listArgument(name string, p Parameter, value any) (any, string, error) {
	list, ok := value.([]any)
	if text, is := value.(string); is { // as a command line has it
		for one := range strings.SplitSeq(text, ",") {
			list, ok = append(list, strings.TrimSpace(one)), true
		}
	}
	if !ok || len(list) == 0 || len(list) > maxList {
		return nil, "", mess.Errorf(mess.Invalid, "%s: not a list of 1 to %d texts", name, maxList)
	}
	all := make([]any, len(list))
	words := make([]string, len(list))
	for i, one := range list {
		text, err := textArgument(name, p, one)
		if err != nil {
			return nil, "", err
		}
		all[i], words[i] = text, text
	}
	return all, strings.Join(words, " and "), nil
}

// maxText limits a text, in bytes.
const maxText = 60

// textArgument checks a text. The text becomes a part of a sentence, so it has no signs that a
// sentence could need.
func textArgument(name string, p Parameter, value any) (string, error) {
	text, ok := value.(string)
	if !ok || text == "" || len(text) > maxText && !slices.Contains(p.Values, text) {
		return "", mess.Errorf(mess.Invalid, "%s: not a text of 1 to %d bytes", name, maxText)
	}
	if p.Values != nil {
		i := slices.IndexFunc(p.Values, func(v string) bool { return strings.EqualFold(v, text) })
		if i < 0 {
			return "", mess.Errorf(mess.Invalid, "%s: unknown value %q; known: %s", name, text, strings.Join(p.Values, ", "))
		}
		return p.Values[i], nil
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !plainRune(r) }) || strings.TrimSpace(text) != text {
		return "", mess.Errorf(mess.Invalid, "%s: %q has signs that are no letters, digits, spaces or # . _ -", name, text)
	}
	return text, nil
}

func plainRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune(" #._-", r)
}
