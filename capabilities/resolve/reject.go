package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

// Reject returns a refusal with a reason, and the names of nearest that come closest to the
// words.
func (x *Request) Reject(reason string, nearest []string) capabilities.Outcome {
	return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: reason, Nearest: x.closest(nearest)}}
}

// NotUnderstood refuses a text for which there is no plan, with the first reason that applies.
func (x *Request) NotUnderstood() capabilities.Outcome {
	if len(x.Hypotheses) > 0 {
		return x.RejectUnable()
	}
	if out, bad := x.rejectPast(); bad {
		return out
	}
	if list := x.unrecognized(0, 0); len(list) > 0 && len(x.Tokens) > 0 && x.Words().Negations.Longest(x.Tokens, x.SkipArticles(0)%len(x.Tokens)) == 0 && x.Tokens[x.SkipArticles(0)%len(x.Tokens)].Text == list[0] && !x.Resolver.Catalog.TimeWords[x.Tokens[x.SkipArticles(0)%len(x.Tokens)].Folded] {
		return x.rejectUnknown(list) // "remind me at 8": the unknown verb is the reason, and not the time
	}
	if out, bad := x.Constrained(); bad {
		return out
	}
	if out, bad := x.rejectManyPictures(); bad {
		return out
	}
	for i := range x.Tokens {
		if unit := x.UnknownUnit(i); unit != "" && !x.IsName(i) {
			x.Explain.Leftover = lexicon.Texts(x.Tokens[i:])
			return x.Reject(fmt.Sprintf("%q: nothing here takes that unit; %s", unit, x.Resolver.rangesText()), nil)
		}
	}
	if leftover := x.unrecognized(0, 0); len(leftover) > 0 {
		if out, bad := x.rejectPronoun(); bad && x.Resolver.Catalog.Frames.OrderWords[x.Tokens[x.SkipArticles(0)%len(x.Tokens)].Folded] {
			return out
		}
		return x.rejectUnknown(leftover)
	}
	if name := x.OnlyNameText(); name != "" {
		return x.Reject(fmt.Sprintf("%q is a name without an order; say what, like \"turn on\" or \"look at\"", name), x.Resolver.NearestNames([]string{name}))
	}
	if x.JoinsNames() {
		if x.IsQuestion {
			return x.Reject("this asks more than one question; ask each in a request of its own", nil)
		}
		return x.Reject("the order for each of these is not clear; say one for each, like \"turn on the lamp and open the blind\"", nil)
	}
	x.Explain.Leftover = lexicon.Texts(x.Tokens)
	if out, bad := x.rejectPronoun(); bad {
		return out
	}
	return x.Reject(fmt.Sprintf("no known order or question is like %q; %s", lexicon.Join(x.Tokens), x.Resolver.abilities()), x.related(x.Resolver.offeredIDs()))
}

// rejectManyPictures refuses "two photos of the fridge".
func (x *Request) rejectManyPictures() (capabilities.Outcome, bool) {
	w := x.Words()
	for i := range x.Tokens {
		if end := w.CardinalEnd(x.Tokens, i); end > i && w.Pictures.Longest(x.Tokens, end) > 0 {
			x.Explain.Leftover = lexicon.Texts(x.Tokens[i:end])
			return x.Reject(fmt.Sprintf("%q: a request takes one picture; make a request for each", lexicon.Join(x.Tokens[i:end+1])), nil), true
		}
	}
	return capabilities.Outcome{}, false
}

// rejectPronoun refuses a text that names its device only by "it" or "that".
func (x *Request) rejectPronoun() (capabilities.Outcome, bool) {
	at := slices.IndexFunc(x.Tokens, func(t lexicon.Token) bool { return x.Words().Referring.Longest([]lexicon.Token{t}, 0) > 0 })
	if at <= 0 || x.Resolver.NamedThing(x.Tokens[1:]) != "" {
		return capabilities.Outcome{}, false
	}
	return x.Reject(fmt.Sprintf("%q: no earlier request says what that is; say its name", x.Tokens[at].Text), nil), true
}

// RejectBareWord refuses a word that means nothing by itself: to wait, to repeat, and to
// undo.
func (x *Request) RejectBareWord() (capabilities.Outcome, bool) {
	w := x.Words()
	switch {
	case w.Whole(w.Again, x.Tokens):
		return x.Reject(fmt.Sprintf("%q: a request does not know the one before it; say the whole order", lexicon.Join(x.Tokens)), nil), true
	case w.Whole(w.Withdrawing, x.Tokens):
		return x.Reject(fmt.Sprintf("%q: a request does not know the one before it; \"messkit cancel REF\", or \"Take it back\" on its page, withdraws an open request; to undo a finished one, give the opposite order, like \"turn off\" with its name", lexicon.Join(x.Tokens)), nil), true
	case w.Whole(w.Pausing, x.Tokens), w.ReadPause(x.Tokens) > 0:
		return x.Reject(fmt.Sprintf("%q: no order follows it; say one, like \"wait ten minutes and turn off the light\"", lexicon.Join(x.Tokens)), nil), true
	}
	return capabilities.Outcome{}, false
}

// rejectUnknown refuses unknown words.
func (x *Request) rejectUnknown(leftover []string) capabilities.Outcome {
	x.Explain.Leftover = leftover
	if d := x.printerOf(); d >= 0 {
		return x.rejectUnknownFile(d, leftover)
	}
	reason, near := "not understood: "+lexicon.QuoteList(leftover), x.Resolver.NearestNames(leftover)
	if d := x.OrderedCleaner(); d >= 0 {
		reason += "; " + x.roomsText(d)
	} else if len(near) == 0 {
		reason += "; " + x.Resolver.abilities()
	}
	if len(near) > 0 {
		return x.Reject(reason, lexicon.Distinct(append(near, x.Resolver.devicesSharingWord(x.Tokens)...)))
	}
	return x.Reject(reason, x.related(x.Resolver.offeredIDs()))
}

// unrecognized returns the words that no sentence and no name has, without those from word
// from to word to.
func (x *Request) unrecognized(from, to int) []string {
	cover := x.MarkNames()
	var list []string
	for i, t := range x.Tokens {
		if i >= from && i < to {
			continue
		}
		known := x.Resolver.Catalog.Vocabulary[t.Folded] || x.Words().Joining.Longest(x.Tokens, i) > 0
		if !cover[i] && !known {
			list = append(list, t.Text)
		}
	}
	return list
}

// RejectUnable refuses a text that the interpreter understands and that no device can carry out.
// Of several hypotheses it takes the one that says most about the device.
func (x *Request) RejectUnable() capabilities.Outcome {
	rd := slices.MaxFunc(x.Hypotheses, func(a, b Hypothesis) int { return cmp.Or(x.ClassScore(&a)-x.ClassScore(&b), int(a.How-b.How)) })
	x.Explain.Template, x.Explain.Capability = rd.Text, rd.Capability.ID
	m, doing := rd.Slot("device"), x.Resolver.labelsThatCan(rd.Capability, rd.Value("quantity"))
	switch {
	case x.Demand.location != "":
		return x.Reject(fmt.Sprintf("nothing in %s can %s", x.Demand.location, rd.Capability.Description), doing)
	case rd.Slot("view") != nil:
		return x.Reject(fmt.Sprintf("no camera here sees the %s", rd.Value("view")), doing)
	case m == nil && len(rd.Classes) > 0 && !x.Resolver.HasClass(rd.Classes):
		return x.Reject(fmt.Sprintf("there is no %s here", lexicon.SpaceHyphens(strings.Join(rd.Classes, " or "))), doing)
	case m == nil && rd.Value("area") != "" && len(doing) > 0:
		return x.Reject(fmt.Sprintf("nothing in the %s can %s; these can: %s", rd.Value("area"), rd.Capability.Description, strings.Join(doing, ", ")), doing)
	case m == nil || m.All && m.Class == "":
		return x.Reject(fmt.Sprintf("nothing here can %s as this asks; %s", rd.Capability.Description, x.Resolver.abilities()), doing)
	case len(m.Devices) == 0 && m.Value != "":
		return x.Reject(fmt.Sprintf("there is no %s in the %s", lexicon.SpaceHyphens(m.Class), m.Value), doing)
	case len(m.Devices) == 0:
		if d := x.Resolver.deviceOfName(lexicon.SpaceHyphens(m.Class)); d >= 0 {
			return x.Reject(fmt.Sprintf("%s cannot %s; the %s can %s", withArticle(x.Resolver.Class[d]), rd.Capability.Description, x.Resolver.Label(d), x.Resolver.abilitiesOf(d)), doing)
		}
		return x.Reject(fmt.Sprintf("there is no %s here", lexicon.SpaceHyphens(m.Class)), doing)
	case rd.Slot("area") != nil && !x.Resolver.IsIn(m.Devices[0], rd.Value("area")):
		if m.Specificity == lexicon.ByClass && len(m.Devices) > 1 {
			return x.Reject(fmt.Sprintf("there is no %s in the %s; there is the %s", lexicon.SpaceHyphens(m.Class), rd.Value("area"), strings.Join(x.Resolver.Labels(m.Devices), ", the ")), doing)
		}
		return x.Reject(fmt.Sprintf("%s is not in the %s", x.Resolver.someLabels(m.Devices), rd.Value("area")), doing)
	}
	if q := rd.Value("quantity"); q != "" && !slices.ContainsFunc(m.Devices, func(d int) bool { return x.Resolver.Site.Devices[d].Reports(q) }) {
		text := fmt.Sprintf("the %s does not tell %s", strings.Join(x.Resolver.Labels(m.Devices), ", the "), quantityText(q))
		if len(doing) > 0 {
			text += "; these may: " + strings.Join(doing, ", ")
		}
		return x.Reject(text, doing)
	}
	if d := m.Devices[0]; rd.Capability.MeasuresQuantity() && rd.Value("quantity") == "" && x.Resolver.Site.Devices[d].Quantities != nil {
		return x.Reject(fmt.Sprintf("the %s measures nothing; it can %s", x.Resolver.Label(d), x.Resolver.abilitiesOf(d)), doing)
	}
	if dev := x.Resolver.Site.Devices[m.Devices[0]]; stops(rd) && slices.Contains(dev.Commands, capabilities.Move) && !slices.Contains(dev.Commands, capabilities.Stop) {
		return x.Reject(fmt.Sprintf("the %s stops by itself when its time ends; a request waits for its turn and cannot stop it before, but \"messkit stop\" on the host and the stop button of the console act at once", x.Resolver.Label(m.Devices[0])), nil)
	}
	if q := rd.Value("quantity"); q != "" && rd.Capability.CommandFor(&x.Resolver.Site.Devices[m.Devices[0]]) != "" {
		return x.Reject(fmt.Sprintf("the %s does not tell %s; it can %s", x.Resolver.Label(m.Devices[0]), quantityText(q), x.Resolver.abilitiesOf(m.Devices[0])), doing)
	}
	if set := x.Resolver.firstThermostat(m.Devices); set >= 0 && rd.Capability.Command != capabilities.SetTemperature {
		return x.Reject(fmt.Sprintf("the %s takes a temperature, and not \"warmer\" or \"colder\"; say how many degrees, like \"set the %s to 21 degrees\"", x.Resolver.Label(set), x.Resolver.Label(set)), x.Resolver.Labels([]int{set}))
	}
	if !rd.Capability.Suits(x.Resolver.Class[m.Devices[0]]) {
		return x.Reject(fmt.Sprintf("%q is no request for %s; %s can %s", lexicon.Join(x.Whole), withArticle(x.Resolver.Class[m.Devices[0]]), x.Resolver.someLabels(m.Devices), x.Resolver.abilitiesOf(m.Devices[0])), doing)
	}
	return x.Reject(fmt.Sprintf("%s cannot do that (%s) here; it can %s", x.Resolver.someLabels(m.Devices), rd.Capability.Description, x.Resolver.abilitiesOf(m.Devices[0])), doing)
}

// deviceOfName returns the device with a name, or -1 if there is none: the button of a gate
// may have the name "gate".
func (r *Resolver) deviceOfName(name string) int {
	if list := r.Index.Called[lexicon.FoldKey(name)]; len(list) > 0 {
		return list[0]
	}
	return -1
}

// firstThermostat returns the first of the devices that has a target temperature, or -1 if
// none has.
func (r *Resolver) firstThermostat(devices []int) int {
	i := slices.IndexFunc(devices, func(d int) bool { return slices.Contains(r.Site.Devices[d].Commands, capabilities.SetTemperature) })
	if i < 0 {
		return -1
	}
	return devices[i]
}

// stops reports whether a hypothesis ends what a device is doing.
func stops(rd Hypothesis) bool {
	on, switches := rd.Capability.Args["on"].(bool)
	return rd.Capability.Command == capabilities.Stop || switches && !on
}

// HasClass reports whether a device has one of the classes.
func (r *Resolver) HasClass(classes []string) bool {
	return slices.ContainsFunc(classes, func(class string) bool { return len(r.Index.ByClass[class]) > 0 })
}

// ClassScore returns 1 if the capability is for the class of the named device, or for all
// classes.
func (x *Request) ClassScore(rd *Hypothesis) int {
	m := rd.Slot("device")
	if m == nil {
		return 0
	}
	class := m.Class
	if class == "" && len(m.Devices) > 0 {
		class = x.Resolver.Class[m.Devices[0]]
	}
	if !rd.Capability.Suits(class) {
		return 0
	}
	return 1
}

// labelsThatCan returns the names of the devices that can do a capability.
func (r *Resolver) labelsThatCan(c *grammar.Capability, quantity string) []string {
	var list []string
	for _, d := range r.Index.Fitting(func(d int) bool { return r.CanDo(c, quantity, d) }) {
		list = append(list, r.Label(d))
	}
	return list
}

// JoinsNames reports whether the text joins several names, so that it may be several
// orders.
func (x *Request) JoinsNames() bool {
	from, _ := x.Words().Joining.Find(x.Tokens)
	return from > 0
}

// Constrained refuses a text that limits or delays its order: the interpreter never drops
// such words.
func (x *Request) Constrained() (capabilities.Outcome, bool) {
	w := x.Words()
	for i := range x.Tokens {
		if timeexpr.Recurs(&x.Utterance, i) && !x.IsName(i) {
			return x.Reject(x.recurringText(i), nil), true
		}
	}
	lasts := entity.NameSpan{}
	for i := 0; i < len(x.Tokens); i++ {
		if x.IsName(i) {
			continue
		}
		if n := w.Fillers.Longest(x.Tokens, i); n > 1 { // "good morning", "if you please"
			i += n - 1
			continue
		}
		reason := ""
		switch s := x.DurationSpan(i); {
		case s.End > 0:
			lasts = s
			i = s.End - 1
			continue
		case w.Negations.Longest(x.Tokens, i) > 0:
			reason = "excludes something, and the interpreter only understands plain orders; say the order and its device"
		case x.RangeEnd(i) > i:
			reason = "is a range; say one number of it"
		case timeexpr.BeginsTimes(&x.Utterance, i):
			reason = "is a number of times, and this home cannot repeat the order; leave it out, or make a request for each"
		case w.Conditionals.Longest(x.Tokens, i) > 0:
			reason = "is a condition, and nothing here waits for one; ask again when it holds, or give a time in constraints.timing.not_before"
		case len(x.SlotValues("duration", i)) > 0:
			end := x.LongestSlot("duration", i)
			reason = fmt.Sprintf("is a length of time; write \"for %s\" for how long, or put the begin into constraints.timing.not_before", lexicon.Join(x.Tokens[i:end]))
		case x.BeginsTime(i+1) && x.Resolver.Catalog.Frames.By.Longest(x.Tokens, i) > 0:
			reason = "is a deadline; put it into needed_by, or say \"at\" for the time of the begin"
		case x.IsPartOfName(i):
			return x.rejectUnknown([]string{lexicon.Join(x.Tokens[i : i+2])}), true
		case x.BeginsTime(i) || x.BeginsTime(i+1) && w.Clock.Longest(x.Tokens, i) > 0:
			end := i + 1
			for end < len(x.Tokens) && x.LooksLikeTime(end) {
				end++
			}
			x.Explain.Leftover = lexicon.Texts(x.Tokens[i:])
			return x.Reject(fmt.Sprintf("%q is a time that the interpreter does not understand; say it like \"at 7 pm\", \"tomorrow at 7 am\" or \"in ten minutes\"; one that is more than a day ahead is for constraints.timing.not_before", lexicon.Join(x.Tokens[i:end])), nil), true
		default:
			continue
		}
		x.Explain.Leftover = lexicon.Texts(x.Tokens[i:])
		return x.Reject(fmt.Sprintf("%q %s", lexicon.Join(x.Tokens[i:]), reason), nil), true
	}
	if lasts.End == 0 {
		return capabilities.Outcome{}, false
	}
	if leftover := x.unrecognized(lasts.From, lasts.End); len(leftover) > 0 {
		return x.rejectUnknown(leftover), true
	}
	x.Explain.Leftover = lexicon.Texts(x.Tokens[lasts.From:lasts.End])
	phrase := lexicon.Join(x.Tokens[lasts.From:lasts.End])
	if !lasts.Known {
		return x.Reject(fmt.Sprintf("%q is no possible length of time; write one of more than 0 and up to a year, like \"for 10 minutes\" or \"for 1.5 hours\"", phrase), nil), true
	}
	return x.Reject(fmt.Sprintf("%q is a length of time; only an order that turns something on can have one", phrase), nil), true
}

// rejectPast refuses a question about the past, because the home keeps no history of
// states.
func (x *Request) rejectPast() (capabilities.Outcome, bool) {
	if !x.IsQuestion || !x.NamesAny(0) || x.Words().History.Longest(x.Tokens, x.SkipArticles(0)%max(1, len(x.Tokens))) == 0 {
		return capabilities.Outcome{}, false
	}
	return x.Reject("this home knows only the present state, and no history; ask like \"is it on?\" with its name", nil), true
}
