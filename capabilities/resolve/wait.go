package resolve

import (
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
	"github.com/messkit/messkit/mess"
)

// WaitCondition is the condition that a text waits for: an event, or a thing of which any event
// counts. It also has the form of the notification.
type WaitCondition struct {
	Event  []lexicon.Token
	Object bool   // the words are a thing, and no event
	Photo  string // the words that ask for an image, "" for none
	lasts  time.Duration
}

// phraseEnd returns the end of a phrase at word i, or behind fillers there. It is 0 if
// there is none.
func (x *Request) phraseEnd(s *lexicon.PhraseSet, i int) int {
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

// notifyEnd returns the end of a demand for a notification at word i, with the words for a
// photo.
func (x *Request) notifyEnd(i int) (end int, photo string) {
	w := &x.Resolver.Catalog.Waiting
	if end := x.phraseEnd(w.Photo, i); end > 0 {
		photo := lexicon.Join(x.Tokens[i:end])
		if of := x.phraseEnd(w.Of, end); of > 0 {
			end = of
		}
		return end, photo
	}
	return x.phraseEnd(w.Tell, i), ""
}

// WaitCondition returns the condition that a text waits for. It returns false for any other
// text.
func (x *Request) WaitCondition() (f WaitCondition, ok bool) {
	w, all := &x.Resolver.Catalog.Waiting, x.Tokens
	defer func() { x.Tokens = all }()
	x.Tokens, f.lasts = timeexpr.WithoutLimit(&x.Utterance)
	switch end, photo := x.notifyEnd(0); {
	case end > 0:
		if when := x.phraseEnd(w.When, end); when > 0 { // "tell me when the door opens"
			f.Event, f.Photo = x.Tokens[when:], photo
			x.cutPhoto(&f)
			return f, len(f.Event) > 0
		}
	case x.phraseEnd(w.When, 0) > 0: // "when the door opens, tell me"
		from := x.phraseEnd(w.When, 0)
		for i := from + 1; i < len(x.Tokens); i++ {
			if end, photo := x.notifyEnd(i); end > 0 && x.SkipArticles(end) == len(x.Tokens) {
				f.Event, f.Photo = x.Tokens[from:i], photo
				return f, true
			}
		}
	case x.phraseEnd(w.Wait, 0) > 0: // "wait until the door opens"
		f.Event = x.Tokens[x.phraseEnd(w.Wait, 0):]
		return f, len(f.Event) > 0
	case x.phraseEnd(w.Watch, 0) > 0:
		return x.watchFor(x.phraseEnd(w.Watch, 0), f)
	}
	return f, false
}

// cutPhoto removes "and send me a photo" from the end of an event.
func (x *Request) cutPhoto(f *WaitCondition) {
	all := x.Tokens
	defer func() { x.Tokens = all }()
	x.Tokens = f.Event
	for i := 1; i < len(x.Tokens); i++ {
		and := i + x.Words().Joining.Longest(x.Tokens, i)
		if and == i {
			continue
		}
		if end, photo := x.notifyEnd(and); photo != "" && x.SkipArticles(end) == len(x.Tokens) {
			f.Event, f.Photo = f.Event[:i], photo
			return
		}
	}
}

// watchFor reads what follows "watch": an object, "until" and an event, or "and tell me
// when" and an event.
func (x *Request) watchFor(from int, f WaitCondition) (WaitCondition, bool) {
	w := &x.Resolver.Catalog.Waiting
	f.Event, f.Object = x.Tokens[from:], true
	for i := from + 1; i < len(x.Tokens); i++ {
		if end := i + w.Until.Longest(x.Tokens, i); end > i {
			f.Event, f.Object = x.withObject(x.Tokens[from:i], x.Tokens[end:]), false
			return f, end < len(x.Tokens)
		}
		and := i + x.Words().Joining.Longest(x.Tokens, i)
		if and == i && !x.Tokens[i].Pause {
			continue
		}
		end, photo := x.notifyEnd(and)
		if end == 0 {
			continue
		}
		f.Photo = photo
		if any := x.phraseEnd(w.Anything, end); x.SkipArticles(end) == len(x.Tokens) || any > 0 && x.SkipArticles(any) == len(x.Tokens) {
			f.Event = x.Tokens[from:i]
			return f, true
		}
		when := x.phraseEnd(w.When, end)
		f.Event, f.Object = x.withObject(x.Tokens[from:i], x.Tokens[max(when, 0):]), false
		return f, when > 0 && when < len(x.Tokens)
	}
	return f, len(f.Event) > 0
}

// withObject returns an event with the object in the place of "it".
func (x *Request) withObject(thing, event []lexicon.Token) []lexicon.Token {
	i := slices.IndexFunc(event, func(t lexicon.Token) bool { return x.Words().Referring.Longest([]lexicon.Token{t}, 0) > 0 })
	if i < 0 {
		return event
	}
	return slices.Concat(event[:i], thing, event[i+1:])
}

// setWatchDuration sets how long a plan watches, and refuses more than the limit.
func (x *Request) setWatchDuration(p *capabilities.Plan) (capabilities.Outcome, bool) {
	switch longest := x.Resolver.Site.MaxWatchDuration(); {
	case x.Wait != nil && x.Wait.lasts > 0:
		p.For = x.Wait.lasts
	case p.For == 0 && x.Demand.duration > 0:
		p.For = x.Demand.duration
	case p.For == 0:
		p.For = x.Resolver.Site.WatchDuration()
		p.Args = p.Args.Set("limit", "default")
		p.Summary += fmt.Sprintf(", for %s at most", capabilities.DurationText(p.For))
		return capabilities.Outcome{}, true
	case p.For > longest:
		return x.rejectTooLong(p.For), false
	}
	return x.LastingFor(p, p.For)
}

// LastingFor sets the duration that the request names for a plan that watches.
func (x *Request) LastingFor(p *capabilities.Plan, d time.Duration) (capabilities.Outcome, bool) {
	if d > x.Resolver.Site.MaxWatchDuration() {
		return x.rejectTooLong(d), false
	}
	p.For = d
	p.Args = p.Args.Set("limit", "asked")
	p.Summary += fmt.Sprintf(", for %s at most", capabilities.DurationText(d))
	return capabilities.Outcome{}, true
}

// rejectTooLong refuses a duration over the limit.
func (x *Request) rejectTooLong(d time.Duration) capabilities.Outcome {
	return x.Reject(fmt.Sprintf("%s is longer than a watch may last here, which is %s (agent: watch: longest); ask for less", capabilities.DurationText(d), capabilities.DurationText(x.Resolver.Site.MaxWatchDuration())), nil)
}

// awaits returns the parameters of the condition that a hypothesis waits for.
func (rd *Hypothesis) awaits() mess.Object {
	args := rd.Capability.FixedArgs()
	for _, a := range rd.Args {
		args = args.Set(a.Key, a.Value)
	}
	return args.Set("quantity", rd.Value("quantity"))
}

// AwaitedText returns the condition of a watch in words.
func AwaitedText(args mess.Object) string {
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
