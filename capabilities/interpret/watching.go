package interpret

import (
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
	"github.com/messkit/messkit/mess"
)

// waitFor is what a text says to wait for: an event, or a thing of which anything is
// one, and how it is told.
type waitFor struct {
	event  []lexicon.Token
	object bool   // the words are a thing, and no event
	photo  string // the words that ask for a picture, "" for none
	lasts  time.Duration
}

// at is the end of a phrase at word i, or behind fillers there; 0 if there is none.
func (x *request) at(s *lexicon.PhraseSet, i int) int {
	for i < len(x.Tokens) {
		if n := s.Longest(x.Tokens, i); n > 0 {
			return i + n
		}
		n := x.Words().Fillers.Longest(x.Tokens, i)
		if n == 0 {
			return 0
		}
		i += n
	}
	return 0
}

// toTell is the end of what asks to be told, at word i, with the words for a picture.
func (x *request) toTell(i int) (end int, photo string) {
	w := &x.r.Catalog.Waiting
	if end := x.at(w.Photo, i); end > 0 {
		photo := lexicon.Join(x.Tokens[i:end])
		if of := x.at(w.Of, end); of > 0 {
			end = of
		}
		return end, photo
	}
	return x.at(w.Tell, i), ""
}

// waitsFor is what a text says to wait for; false for any other text.
func (x *request) waitsFor() (f waitFor, ok bool) {
	w, all := &x.r.Catalog.Waiting, x.Tokens
	defer func() { x.Tokens = all }()
	x.Tokens, f.lasts = timeexpr.WithoutLimit(&x.Utterance)
	switch end, photo := x.toTell(0); {
	case end > 0:
		if when := x.at(w.When, end); when > 0 { // "tell me when the door opens"
			f.event, f.photo = x.Tokens[when:], photo
			x.andShow(&f)
			return f, len(f.event) > 0
		}
	case x.at(w.When, 0) > 0: // "when the door opens, tell me"
		from := x.at(w.When, 0)
		for i := from + 1; i < len(x.Tokens); i++ {
			if end, photo := x.toTell(i); end > 0 && x.SkipArticles(end) == len(x.Tokens) {
				f.event, f.photo = x.Tokens[from:i], photo
				return f, true
			}
		}
	case x.at(w.Wait, 0) > 0: // "wait until the door opens"
		f.event = x.Tokens[x.at(w.Wait, 0):]
		return f, len(f.event) > 0
	case x.at(w.Watch, 0) > 0:
		return x.watchFor(x.at(w.Watch, 0), f)
	}
	return f, false
}

// andShow takes "and send me a photo" from the end of an event.
func (x *request) andShow(f *waitFor) {
	all := x.Tokens
	defer func() { x.Tokens = all }()
	x.Tokens = f.event
	for i := 1; i < len(x.Tokens); i++ {
		and := i + x.Words().Joining.Longest(x.Tokens, i)
		if and == i {
			continue
		}
		if end, photo := x.toTell(and); photo != "" && x.SkipArticles(end) == len(x.Tokens) {
			f.event, f.photo = f.event[:i], photo
			return
		}
	}
}

// watchFor reads what stands behind "watch": a thing, "until" and an event, or "and
// tell me when" and an event.
func (x *request) watchFor(from int, f waitFor) (waitFor, bool) {
	w := &x.r.Catalog.Waiting
	f.event, f.object = x.Tokens[from:], true
	for i := from + 1; i < len(x.Tokens); i++ {
		if end := i + w.Until.Longest(x.Tokens, i); end > i {
			f.event, f.object = x.ofIt(x.Tokens[from:i], x.Tokens[end:]), false
			return f, end < len(x.Tokens)
		}
		and := i + x.Words().Joining.Longest(x.Tokens, i)
		if and == i && !x.Tokens[i].Pause {
			continue
		}
		end, photo := x.toTell(and)
		if end == 0 {
			continue
		}
		f.photo = photo
		if any := x.at(w.Anything, end); x.SkipArticles(end) == len(x.Tokens) || any > 0 && x.SkipArticles(any) == len(x.Tokens) {
			f.event = x.Tokens[from:i]
			return f, true
		}
		when := x.at(w.When, end)
		f.event, f.object = x.ofIt(x.Tokens[from:i], x.Tokens[max(when, 0):]), false
		return f, when > 0 && when < len(x.Tokens)
	}
	return f, len(f.event) > 0
}

// ofIt is an event with the thing in the place of "it".
func (x *request) ofIt(thing, event []lexicon.Token) []lexicon.Token {
	i := slices.IndexFunc(event, func(t lexicon.Token) bool { return x.Words().Referring.Longest([]lexicon.Token{t}, 0) > 0 })
	if i < 0 {
		return event
	}
	return slices.Concat(event[:i], thing, event[i+1:])
}

// watched reads a text that waits for something. It is a plan that only looks: what is
// to be done when it happens is none of it.
func (x *request) watched() (capabilities.Outcome, bool) {
	if x.req.Precision == mess.Loose {
		return capabilities.Outcome{}, false
	}
	f, ok := x.waitsFor()
	if !ok {
		return capabilities.Outcome{}, false
	}
	all := x.Tokens
	x.read()
	if able := x.able(x.readings); len(able) > 0 { // "let me know if the door is open" asks how it is now
		return x.choose(able), true
	}
	x.SetTokens(f.event)
	x.readings = nil
	x.wait = &f
	x.readWaits(f.object)
	able := x.able(x.readings)
	switch {
	case len(able) > 0:
		x.show = f.photo
		return x.choose(able), true
	case len(x.readings) > 0:
		return x.cannot(), true
	case x.joins():
		x.explain.Leftover = lexicon.Texts(x.Tokens)
		return x.refuse(fmt.Sprintf("%q: one request waits for one thing, and nothing is done by itself when it happens; make a request for each", lexicon.Join(x.Tokens)), nil), true
	}
	x.SetTokens(all)
	x.readings, x.wait = nil, nil
	return capabilities.Outcome{}, false
}

// readWaits finds the readings of an event, or of a thing to watch.
func (x *request) readWaits(object bool) {
	g := x.r.Catalog.Events
	if object {
		g = x.r.Catalog.Objects
	}
	walk := grammar.Walker{Words: x.Words(), Tokens: x.Tokens, Fill: x.SlotValues}
	walk.Found = func(s *grammar.Pattern, slots []grammar.BoundSlot) {
		rd := reading{Pattern: s, slots: slots, args: slices.Clone(s.Args)}
		for _, b := range slots {
			if b.Kind == "device" {
				rd.how = max(rd.how, b.Match.Specificity)
				rd.all = rd.all || b.Match.All
			}
			if b.Kind == "number" {
				n, ok := x.r.Catalog.ConvertTo(rd.value("quantity"), b.Match)
				if !ok {
					return
				}
				rd.args = rd.args.Set("value", n)
			}
		}
		x.readings = append(x.readings, rd)
	}
	walk.Walk(g, 0)
	if object && len(x.readings) == 0 { // "watch for somebody at the door"
		x.readWaits(false)
	}
}

// watchable settles what a plan that waits may be: one thing, for no longer than a
// watch may last.
func (x *request) watchable(p *capabilities.Plan) (capabilities.Outcome, bool) {
	switch longest := x.r.Site.MaxWatchDuration(); {
	case x.wait != nil && x.wait.lasts > 0:
		p.For = x.wait.lasts
	case p.For == 0 && x.demand.duration > 0:
		p.For = x.demand.duration
	case p.For == 0:
		p.For = x.r.Site.WatchDuration()
		p.Args = p.Args.Set("limit", "default")
		p.Summary += fmt.Sprintf(", for %s at most", capabilities.DurationText(p.For))
		return capabilities.Outcome{}, true
	case p.For > longest:
		return x.tooLong(p.For), false
	}
	return x.lastingFor(p, p.For)
}

// lastingFor has a watch last as long as was said.
func (x *request) lastingFor(p *capabilities.Plan, d time.Duration) (capabilities.Outcome, bool) {
	if d > x.r.Site.MaxWatchDuration() {
		return x.tooLong(d), false
	}
	p.For = d
	p.Args = p.Args.Set("limit", "asked")
	p.Summary += fmt.Sprintf(", for %s at most", capabilities.DurationText(d))
	return capabilities.Outcome{}, true
}

func (x *request) tooLong(d time.Duration) capabilities.Outcome {
	return x.refuse(fmt.Sprintf("%s is longer than a watch may last here, which is %s (agent: watch: longest); ask for less", capabilities.DurationText(d), capabilities.DurationText(x.r.Site.MaxWatchDuration())), nil)
}

// awaits are the parameters of what is waited for.
func (rd *reading) awaits() mess.Object {
	args := rd.Capability.FixedArgs()
	for _, a := range rd.args {
		args = args.Set(a.Key, a.Value)
	}
	return args.Set("quantity", rd.value("quantity"))
}

// awaited is what a watch waits for, in words.
func awaited(args mess.Object) string {
	until, value := argText(args, "until"), argText(args, "value")
	quantity := argText(args, "quantity")
	switch until {
	case "above", "below":
		return fmt.Sprintf("its %s is %s %s", quantity, until, value)
	case "reaches":
		return fmt.Sprintf("its %s is %s", quantity, value)
	case "change":
		return "something changes"
	case "motion":
		return "something moves"
	case "done":
		return "it is done"
	}
	return "it is " + until
}
