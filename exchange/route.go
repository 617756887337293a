package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

const routingKind = "routing"

func (x *Exchange) readRouting(ctx context.Context) error {
	docs, err := x.store.Docs(ctx, routingKind)
	if err != nil || docs["rules"] == nil {
		return err
	}
	if err := json.Unmarshal(docs["rules"], &x.routing); err != nil {
		return fmt.Errorf("stored routing rules: %w; set them again", err)
	}
	return nil
}

// setRouting replaces the rules that were set at run time (MESS 1.0 section
// 7.4).
func (x *Exchange) setRouting(ctx context.Context, who Actor, r mess.Routing) error {
	if !who.Has(Operator) {
		return mess.Refuse(mess.Forbidden, "config.routing: %q is not an operator, and only operators set routing rules", who.ID)
	}
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := x.store.Put(ctx, routingKind, "rules", doc); err != nil {
		return x.broken(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.routing = r
	x.reofferAll(x.now())
	return nil
}

// able returns nil if an executor may take a request, and why not otherwise.
// x.mu is held.
func (x *Exchange) able(e *executor, env Envelope, now time.Time) error {
	for _, c := range env.Needs.Requires {
		if !has(e.Capabilities, c) {
			return fmt.Errorf("it has no capability %s", c.ID)
		}
		if !meant(e, c) {
			return fmt.Errorf("another executor is asked for %s", c.ID)
		}
	}
	switch {
	case (env.Stopped || x.all.covers(env)) && !IsPerson(e.Executor):
		return fmt.Errorf("everything was stopped while it waited, and what waited begins by itself no more; ask anew")
	case env.Needs.ConfirmBefore && !confirms(e.Versions):
		return fmt.Errorf("it does not speak MESS 1.1, which confirm_before needs")
	case !e.hours.open(now):
		return fmt.Errorf("it is not available at this time")
	case !x.reaches(e, env.Needs.Location):
		return fmt.Errorf("the location is out of its reach")
	}
	return nil
}

// has reports whether the capabilities include want: the id, and each
// metadata field that both name must agree (MESS 1.0 section 8.5: what one
// side does not know is no obstacle).
func has(caps []mess.Capability, want mess.Capability) bool {
	return slices.ContainsFunc(caps, func(c mess.Capability) bool {
		return c.ID == want.ID && agree(c.Meta, want.Meta)
	})
}

// meant reports whether what is wanted of a capability leaves an executor in: its
// metadata may name one, as executor.
func meant(e *executor, want mess.Capability) bool {
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

// overlap compares two metadata values; a list stands for any of its entries.
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
func confirms(versions []string) bool {
	return slices.ContainsFunc(versions, func(v string) bool {
		return strings.HasPrefix(v, "1.") && v >= "1.1"
	})
}

// reaches reports whether a constraint on the location leaves an executor in.
// A circle leaves out those who say that they are outside it. A name leaves
// out those who list areas without it, if some executor lists it; free text
// that nobody lists cannot be judged here.
func (x *Exchange) reaches(e *executor, a *mess.Area) bool {
	if a == nil {
		return true
	}
	if a.Name == "" {
		at, ok := position(e.Extra)
		return !ok || within(at, *a)
	}
	if serves(e.Extra, a.Name) {
		return true
	}
	for _, other := range x.executors {
		if !other.forgotten && serves(other.Extra, a.Name) {
			return false
		}
	}
	return true
}

// serves reports whether an executor says that it serves a place: in areas, or in access
// (MESSE-AF 2.1, "Simple Router"), where home has home/kitchen in it, and home/kitchen is
// called kitchen, too.
func serves(extra mess.Object, place string) bool {
	place = strings.ToLower(place)
	for _, key := range []string{"areas", "access"} {
		v, _ := extra.Get(key)
		list, _ := v.([]any)
		for _, a := range list {
			name := strings.ToLower(fmt.Sprint(a))
			if name == place || key == "access" && (strings.HasPrefix(place, name+"/") || strings.HasSuffix(name, "/"+place)) {
				return true
			}
		}
	}
	return false
}

type point struct{ lat, lng float64 } // degrees

// position reads where an executor says it is.
func position(extra mess.Object) (point, bool) {
	v, _ := extra.Get("location")
	o, _ := v.(mess.Object)
	lat, ok1 := number(o, "lat")
	lng, ok2 := number(o, "lng")
	return point{lat, lng}, ok1 && ok2
}

func number(o mess.Object, key string) (float64, bool) {
	v, _ := o.Get(key)
	n, ok := v.(mess.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

const earthRadius = 6371 // km, mean

// within reports whether p lies in a circle, by the great-circle distance.
func within(p point, a mess.Area) bool {
	if a.Lat == nil || a.Lng == nil || a.RadiusKM == nil {
		return true
	}
	rad := func(d float64) float64 { return d * math.Pi / 180 }
	dLat, dLng := rad(p.lat-*a.Lat), rad(p.lng-*a.Lng)
	h := math.Pow(math.Sin(dLat/2), 2) + math.Cos(rad(p.lat))*math.Cos(rad(*a.Lat))*math.Pow(math.Sin(dLng/2), 2)
	return 2*earthRadius*math.Asin(math.Sqrt(min(1, h))) <= *a.RadiusKM
}

// preference is the rank of each executor for a request by the first rule that
// matches it: lower is asked earlier, and the same rank at the same time. Robots
// come before people whom no rule names, and before all comes whom it was handed
// to. x.mu is held.
func (x *Exchange) preference(env Envelope) func(*executor) int {
	rank, handedTo := x.ruled(env), env.HandedTo
	return func(e *executor) int {
		if e.ID == handedTo {
			return -1
		}
		return rank(e)
	}
}

// ruled is preference but for what was handed over. x.mu is held.
func (x *Exchange) ruled(env Envelope) func(*executor) int {
	rules := slices.Concat(x.routing.Rules, x.cfg.Routing.Rules)
	byDefault := func(r mess.Rule) bool { return r.Default != nil }
	for _, r := range rules[:len(rules):len(rules)] {
		if byDefault(r) { // after all others
			rules = append(rules, mess.Rule{Prefer: r.Default.Prefer})
		}
	}
	for _, r := range slices.DeleteFunc(rules, byDefault) {
		if !matches(r.Match, env.Needs) {
			continue
		}
		if len(r.Prefer) == 1 && (r.Prefer[0] == mess.LowerLatency || r.Prefer[0] == mess.HigherPrecision) {
			return x.byMeasure(strings.TrimPrefix(strings.TrimPrefix(r.Prefer[0], "lower_"), "higher_"), r.Prefer[0] == "higher_precision")
		}
		return func(e *executor) int {
			if i := slices.Index(r.Prefer, e.ID); i >= 0 {
				return i
			}
			return len(r.Prefer) + e.last()
		}
	}
	return (*executor).last
}

// byMeasure ranks by a number that executors declare about themselves; those
// who declare none come last.
func (x *Exchange) byMeasure(name string, descending bool) func(*executor) int {
	var values []float64
	for _, e := range x.executors {
		if v, ok := number(e.Extra, name); ok && !e.forgotten {
			values = append(values, v)
		}
	}
	slices.SortFunc(values, cmp.Compare)
	if descending {
		slices.Reverse(values)
	}
	return func(e *executor) int {
		if v, ok := number(e.Extra, name); ok {
			return slices.Index(values, v)
		}
		return len(values) + e.last()
	}
}

func matches(m mess.Match, n Needs) bool {
	return (m.Capability == "" || slices.ContainsFunc(n.Requires, func(c mess.Capability) bool { return c.ID == m.Capability })) &&
		(m.Urgency == "" || m.Urgency == n.Urgency) &&
		(m.Precision == "" || m.Precision == n.Precision)
}
