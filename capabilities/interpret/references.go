package interpret

import (
	"regexp"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// sayable are the orders that a device takes by its name alone, or with asks the questions.
// The resolver understands each of them as one for just this device.
func (r *Interpreter) sayable(d int, asks bool) (list []string) {
	for _, c := range r.Catalog.Capabilities {
		if asks && c.Effect != capabilities.Query || c.Effect == capabilities.Once || !r.CanOffer(c, d) {
			continue // what is done once more with every order is not offered
		}
		say := r.Example(c, d, r.Site.Devices[d])
		if o := r.Resolve(mess.Request{Intent: say}); o.Plan != nil && o.Plan.Device == r.Site.Devices[d].Name && o.Plan.Capability == c.ID {
			list = append(list, say)
		}
	}
	return lexicon.Distinct(list)
}

// referred is the request with what another request says that its context names: "the same
// again" is the other request, "there" is its place, and "it" is its device. The exchange
// writes the other request's intent beside its ref. Of two such requests nobody knows which
// is meant, and a name that the words have themselves wins.
func (r *Interpreter) referred(req mess.Request) mess.Request {
	at := -1
	for i, e := range req.Context {
		if e.Type != "ref" {
			continue
		}
		if at >= 0 {
			return req
		}
		at = i
	}
	if at < 0 || len(req.Intent) > lexicon.MaxText {
		return req
	}
	if r.earlierPicture(req) {
		return req
	}
	before, _ := req.Context[at].Extra.Get("intent")
	said, _ := before.(string)
	if said == "" || len(said) > lexicon.MaxText {
		return req
	}
	intent := r.inPlaceOf(req.Intent, said)
	if intent == req.Intent {
		return req
	}
	req.Intent = intent
	req.Context = slices.Delete(slices.Clone(req.Context), at, at+1)
	return req
}

// inPlaceOf is an intent with the words of an earlier one for those that point to it.
func (r *Interpreter) inPlaceOf(intent, before string) string {
	w := r.Catalog.Words
	tokens := w.Tokens(intent)
	if w.Whole(w.Again, tokens) {
		return before
	}
	there := slices.IndexFunc(tokens, func(t lexicon.Token) bool { return t.Text == "there" })
	exists := there > 0 && slices.Contains([]string{"is", "are", "was", "were"}, tokens[there-1].Text) && len(tokens) > there+1 // "is there milk"
	points := slices.IndexFunc(tokens, func(t lexicon.Token) bool { return w.Referring.Longest([]lexicon.Token{t}, 0) > 0 })
	if (there < 0 || exists) && (points < 0 || r.ThingOf(tokens) != "") {
		return intent
	}
	p := r.said(mess.Request{Intent: before}, nil).Plan
	if p == nil || len(p.Steps) > 0 {
		return intent
	}
	d := r.Index.Device(p.Device)
	if d < 0 {
		return intent
	}
	if there >= 0 && !exists {
		if place := r.placeOf(p, d); place != "" {
			return replaceWord(intent, "there", "in the "+place)
		}
		return intent
	}
	return replaceWord(onceMore(w, intent, tokens), tokens[points].Text, "the "+r.lookedAt(p, d, before))
}

// lookedAt is what a plan was about: what the camera saw, else the device.
func (r *Interpreter) lookedAt(p *capabilities.Plan, d int, before string) string {
	sees := r.Site.Devices[d].Sees
	if p.Effect != capabilities.Query || len(sees) == 0 {
		return r.Label(d)
	}
	for _, view := range sees {
		if strings.Contains(strings.ToLower(before), strings.ToLower(view)) {
			return view
		}
	}
	return sees[0]
}

// onceMore is an order without the word that says that it is done once more: the request
// that it points to says what that was.
func onceMore(w *lexicon.Lexicon, intent string, tokens []lexicon.Token) string {
	for k := 1; k < len(tokens); k++ {
		if n := w.Again.Longest(tokens, k); n > 0 && k+n == len(tokens) {
			return lexicon.Join(tokens[:k])
		}
	}
	return intent
}

// placeOf is where a plan is carried out, "" where that is not one place.
func (r *Interpreter) placeOf(p *capabilities.Plan, d int) string {
	areas, _ := p.Args.Get("areas")
	switch list, _ := lexicon.TextList(areas); len(list) {
	case 0:
		return r.Site.Devices[d].Area
	case 1:
		return list[0]
	}
	return ""
}

// replaceWord puts other words in the place of the first of one word.
func replaceWord(text, word, with string) string {
	found := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word) + `\b`).FindStringIndex(text)
	if found == nil {
		return text
	}
	return strings.TrimSpace(text[:found[0]] + with + text[found[1]:])
}
