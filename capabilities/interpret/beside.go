package interpret

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// place is what stands beside the words about where: a known place, or all of
// this home. What is neither is no place to act in.
func (x *request) place(a *mess.Area) (capabilities.Outcome, bool) {
	w := x.Words()
	switch {
	case a == nil:
		return capabilities.Outcome{}, false
	case a.Name == "" && len(a.Extra) > 0:
		return x.refuse(fmt.Sprintf("constraints.location: %s is unknown; write the name of a place, like %s", a.Extra[0].Key, oneOfMany(x.r.PlaceNames())), nil), true
	case a.Name == "":
		return x.refuse(fmt.Sprintf("constraints.location: nothing here knows where it is on a map; name a place, like %s, or leave it out", oneOfMany(x.r.PlaceNames())), nil), true
	}
	if x.demand.location = x.area(a.Name); x.demand.location == "" && !w.Whole(w.Home, w.Tokens(a.Name)) {
		return x.refuse(fmt.Sprintf("constraints.location: there is no place %q here; there are %s", a.Name, oneOfMany(x.r.PlaceNames())), x.r.near(lexicon.Split(a.Name))), true
	}
	return capabilities.Outcome{}, false
}

// tooLate refuses what is to begin when nobody needs it any more: needed_by wins over
// constraints.timing.expires (MESS 1.1 section 1.1).
func (x *request) tooLate(p *capabilities.Plan) (capabilities.Outcome, bool) {
	if p.NotBefore.IsZero() {
		return capabilities.Outcome{}, false
	}
	key, until, err := "needed_by", time.Time{}, error(nil)
	switch c := x.req.Constraints; {
	case x.req.NeededBy != "":
		until, err = x.req.NeededBy.Time()
	case c != nil && c.Timing != nil && c.Timing.Expires != "":
		key = "constraints.timing.expires"
		until, err = c.Timing.Expires.Time(x.r.Site.Now)
	default:
		return capabilities.Outcome{}, false
	}
	if err != nil || p.NotBefore.Before(until) {
		return capabilities.Outcome{}, false
	}
	return x.refuse(fmt.Sprintf("it is asked for %s, and %s is before that, on %s; make them agree",
		onDay(p.NotBefore), key, onDay(until.In(p.NotBefore.Location()))), nil), true
}

func onDay(t time.Time) string { return t.Format("Monday 2 January at 15:04:05") }

func oneOfMany(list []string) string {
	if len(list) == 0 {
		return "home"
	}
	return strings.Join(list, ", ")
}

// constraints refuses what nobody here can hold to.
func (x *request) constraints() (capabilities.Outcome, bool) {
	c := x.req.Constraints
	if c == nil {
		return capabilities.Outcome{}, false
	}
	list, within := c.Extra, "constraints."
	if len(list) == 0 && c.Timing != nil {
		list, within = c.Timing.Extra, "constraints.timing."
	}
	if len(list) > 0 {
		return x.misplaced(within, list[0].Key), true
	}
	return x.place(c.Location)
}

func (x *request) misplaced(within, key string) capabilities.Outcome {
	if meant := keyLike(key); meant != "" {
		return x.refuse(fmt.Sprintf("%s%s is unknown; did you mean %s?", within, key, meant), nil)
	}
	return x.refuse(fmt.Sprintf("%s%s is unknown, and so cannot be kept; leave it out", within, key), nil)
}

// limiting are the keys of a request that limit what is done, by the last part
// of their names.
var limiting = []string{
	"precision", "needed_by", "confirm_before", "requires", "context", "constraints",
	"constraints.location", "constraints.timing", "constraints.environment", "constraints.depends_on",
	"constraints.timing.not_before", "constraints.timing.expires",
}

// unheeded are keys that others may mean to limit an act with, and that nobody here
// knows.
var unheeded = []string{
	"dry_run", "dryrun", "simulate", "simulation", "simulated", "preview", "test", "condition", "conditions", "if", "only_if", "unless", "when", "while", "schedule", "at", "after", "before", "until",
	"delay", "duration", "for", "approval", "approve", "require_confirmation", "confirm", "cancelled", "enabled", "disabled", "limit", "limits", "max", "device", "area", "room", "parameters", "args",
}

// keyLike is the key that was meant by one in the wrong place or in other
// letters, "" if none.
func keyLike(key string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s[strings.LastIndexByte(s, '.')+1:]))
	}
	for _, known := range limiting {
		if lexicon.Distance(plain(key), plain(known)) <= 1 {
			return known
		}
	}
	return ""
}

// limited refuses an act that something beside its words may limit.
func (x *request) limited(rd *reading) (capabilities.Outcome, bool) {
	for _, f := range x.req.Extra {
		if keyLike(f.Key) != "" || slices.Contains(unheeded, strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(f.Key))) {
			return x.misplaced("", f.Key), true
		}
	}
	return capabilities.Outcome{}, false
}

// limits reports whether a line of context is more than a fact: it forbids, sets
// a condition or a time, calls off, or has signs.
func (r *Interpreter) limits(line string) bool {
	w := r.Catalog.Words
	y := &request{r: r, Utterance: entity.Utterance{Home: &r.Home, Tokens: w.Tokens(line)}, req: mess.Request{Intent: line}}
	if char, _ := r.UnknownSign(line); char != "" {
		return true
	}
	if from, _ := w.Stop.Find(y.Tokens); from >= 0 {
		return true
	}
	for i := 0; i < len(y.Tokens); i++ {
		if n := max(w.Facts.Longest(y.Tokens, i), w.Fillers.Longest(y.Tokens, i)); n > 1 { // "I am", "good evening"
			i += n - 1
			continue
		}
		limits := w.Negations.Longest(y.Tokens, i) > 0 || w.Conditionals.Longest(y.Tokens, i) > 0 || y.BeginsTime(i)
		if limits && !y.IsName(i) {
			return true
		}
	}
	return false
}

// HasLimit reports whether what is said beside a yes is more than a fact: see the
// context of a request.
func HasLimit(text string) bool { return nowhere().limitsAny(text) }

var nowhere = sync.OnceValue(func() *Interpreter { return New(catalog.Default(), capabilities.Home{}) })

func (r *Interpreter) limitsAny(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, orders := r.orders(line, capabilities.Outcome{}); orders || r.limits(line) || !r.describes(line, &capabilities.Plan{Risk: capabilities.RiskComfort}) {
			return true
		}
	}
	return false
}

// elsewhere refuses to clean in another place than the constraints name.
func (x *request) elsewhere(d int, areas []string) (capabilities.Outcome, bool) {
	place := x.demand.location
	for _, area := range areas {
		in := strings.EqualFold(area, place) || slices.ContainsFunc(x.r.Site.Devices[d].Spots, func(s capabilities.Spot) bool {
			return s.Name == area && strings.EqualFold(s.Room, place)
		})
		if place != "" && !in {
			return x.refuse(fmt.Sprintf("the request is for %q, but constraints.location says %q; make them agree", area, place), nil), true
		}
	}
	return capabilities.Outcome{}, false
}
