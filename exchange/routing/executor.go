// Package routing decides which executors may take a request, and in which order the exchange
// offers it to them. It reads an immutable table of the registered executors, and stores nothing.
// It also validates what executors register.
package routing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// KindKey is the field of config.executor that marks a human executor, and Person is its value.
// Robots do not set it.
const (
	KindKey = "kind"
	Person  = "person"
)

// IsPerson reports whether an executor is a person. The exchange offers people what no robot does,
// and waits longer for them.
func IsPerson(e mess.Executor) bool {
	kind, _ := e.Extra.Get(KindKey)
	return kind == Person
}

// Executor is a registered executor, prepared for routing. It is immutable.
type Executor struct {
	mess.Executor
	Person bool
	hours  *hours
	at     *point   // nil without a position
	areas  []string // served areas, in lower case
	access []string // reachable places, in lower case
}

// NewExecutor prepares an executor. The error is about its schedule.
func NewExecutor(c mess.Executor) (*Executor, error) {
	h, err := hoursOf(c)
	if err != nil {
		return nil, err
	}
	e := &Executor{Executor: c, Person: IsPerson(c), hours: h, areas: namesIn(c.Extra, "areas"), access: namesIn(c.Extra, "access")}
	if at, ok := position(c.Extra); ok {
		e.at = &at
	}
	return e, nil
}

// notified reports whether an executor has addresses for notifications.
func (e *Executor) notified() bool {
	v, _ := e.Extra.Get("notifications")
	return v != nil
}

// HasHours reports whether an executor has a schedule.
func (e *Executor) HasHours() bool { return e.hours != nil }

func namesIn(extra mess.Object, key string) (names []string) {
	v, _ := extra.Get(key)
	list, _ := v.([]any)
	for _, a := range list {
		names = append(names, strings.ToLower(fmt.Sprint(a)))
	}
	return names
}

// serves reports whether an executor lists a place in areas or access (MESSE-AF 2.1, "Simple
// Router"). An access to home includes home/kitchen, and kitchen also means home/kitchen.
func (e *Executor) serves(place string) bool {
	return slices.Contains(e.areas, place) || slices.ContainsFunc(e.access, func(name string) bool {
		rest, inside := strings.CutPrefix(place, name)
		called, last := strings.CutSuffix(name, place)
		return name == place || inside && strings.HasPrefix(rest, "/") || last && strings.HasSuffix(called, "/")
	})
}

// has reports whether an executor has a capability: the same id, and equal values in each metadata
// field that both have (MESS 1.0 section 8.5).
func (e *Executor) has(want mess.Capability) bool {
	return slices.ContainsFunc(e.Capabilities, func(c mess.Capability) bool {
		return c.ID == want.ID && agree(c.Meta, want.Meta)
	})
}

// isMeant reports whether the metadata of a required capability allow an executor: their field
// executor may name one.
func (e *Executor) isMeant(want mess.Capability) bool {
	meta, _ := want.Meta.(mess.Object)
	id, named := meta.Get("executor")
	return !named || overlap(e.ID, id)
}

func agree(have, want any) bool {
	h, ok1 := have.(mess.Object)
	w, ok2 := want.(mess.Object)
	if !ok1 || !ok2 {
		return have == nil || want == nil || overlap(have, want)
	}
	for _, f := range w {
		if v, ok := h.Get(f.Key); ok && !overlap(v, f.Value) {
			return false
		}
	}
	return true
}

// overlap compares two metadata values. A list matches any of its entries.
func overlap(have, want any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(w any) bool { return overlap(have, w) })
	}
	if list, ok := have.([]any); ok {
		return slices.ContainsFunc(list, func(h any) bool { return overlap(h, want) })
	}
	return strings.EqualFold(fmt.Sprint(have), fmt.Sprint(want))
}

// confirms reports whether an executor has declared MESS 1.1 or later.
func (e *Executor) confirms() bool {
	return slices.ContainsFunc(e.Versions, func(v string) bool {
		return strings.HasPrefix(v, "1.") && v >= "1.1"
	})
}

type point struct{ lat, lng float64 } // degrees

// position returns the position in the fields of an executor.
func position(extra mess.Object) (point, bool) {
	v, _ := extra.Get("location")
	o, _ := v.(mess.Object)
	lat, ok1 := Number(o, "lat")
	lng, ok2 := Number(o, "lng")
	return point{lat, lng}, ok1 && ok2
}

// Number returns a number from the fields of an executor.
func Number(o mess.Object, key string) (float64, bool) {
	v, _ := o.Get(key)
	n, ok := v.(mess.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

const earthRadius = 6371 // km, mean

// within reports whether p is in a circle, by the great-circle distance.
func within(p point, a mess.TargetArea) bool {
	if a.Lat == nil || a.Lng == nil || a.RadiusKM == nil {
		return true
	}
	rad := func(d float64) float64 { return d * math.Pi / 180 }
	dLat, dLng := rad(p.lat-*a.Lat), rad(p.lng-*a.Lng)
	h := math.Pow(math.Sin(dLat/2), 2) + math.Cos(rad(p.lat))*math.Cos(rad(*a.Lat))*math.Pow(math.Sin(dLng/2), 2)
	return 2*earthRadius*math.Asin(math.Sqrt(min(1, h))) <= *a.RadiusKM
}
