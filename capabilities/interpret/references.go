package interpret

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// understoodOrders returns the orders that name device d alone, or its queries if asks is
// true. The interpreter understands each of them as an order for this device only.
func (r *Interpreter) understoodOrders(d int, asks bool) (list []string) {
	for _, c := range r.Catalog.Capabilities {
		if asks && c.Effect != capabilities.Query || c.Effect == capabilities.Once || !r.CanOffer(c, d) {
			continue // an act that is not idempotent is no option
		}
		say := r.Example(c, d, r.Site.Devices[d])
		if o := r.Resolve(mess.Request{Intent: say}); o.Plan != nil && o.Plan.Device == r.Site.Devices[d].Name && o.Plan.Capability == c.ID {
			list = append(list, say)
		}
	}
	return lexicon.Distinct(list)
}

// resolveReferences replaces the pronouns of a request by their meaning in the other request that
// its context names. "The same again" is that request, "there" is its place, and "it" is its
// device. The exchange writes the intent of the other request next to its ref. With two such
// requests the reference is ambiguous and stays. A name in the text itself wins.
func (r *Interpreter) resolveReferences(req mess.Request) mess.Request {
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
	if r.wantsEarlierPicture(req) {
		return req
	}
	before, _ := req.Context[at].Extra.Get("intent")
	earlier, _ := before.(string)
	if earlier == "" || len(earlier) > lexicon.MaxText {
		return req
	}
	intent := r.withReferences(req.Intent, earlier)
	if intent == req.Intent {
		return req
	}
	req.Intent = intent
	req.Context = slices.Delete(slices.Clone(req.Context), at, at+1)
	return req
}

// withReferences returns an intent with the words of an earlier intent in the place of the
// pronouns.
func (r *Interpreter) withReferences(intent, before string) string {
	w := r.Catalog.Words
	tokens := w.Tokens(intent)
	if w.Whole(w.Again, tokens) {
		return before
	}
	there := slices.IndexFunc(tokens, func(t lexicon.Token) bool { return t.Text == "there" })
	exists := there > 0 && slices.Contains([]string{"is", "are", "was", "were"}, tokens[there-1].Text) && len(tokens) > there+1 // "is there milk"
	points := slices.IndexFunc(tokens, func(t lexicon.Token) bool { return w.Referring.Longest([]lexicon.Token{t}, 0) > 0 })
	if (there < 0 || exists) && (points < 0 || r.NamedThing(tokens) != "") {
		return intent
	}
	p := r.resolveText(mess.Request{Intent: before}, nil).Plan
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
	return replaceWord(withoutAgain(w, intent, tokens), tokens[points].Text, "the "+r.subjectOf(p, d, before))
}

// subjectOf returns the subject of a plan: the view of the camera, otherwise the device.
func (r *Interpreter) subjectOf(p *capabilities.Plan, d int, before string) string {
	sees := r.Site.Devices[d].FieldOfView
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

// withoutAgain returns an order without the word for a repetition, because the other request
// names the act to repeat.
func withoutAgain(w *lexicon.Lexicon, intent string, tokens []lexicon.Token) string {
	for k := 1; k < len(tokens); k++ {
		if n := w.Again.Longest(tokens, k); n > 0 && k+n == len(tokens) {
			return lexicon.Join(tokens[:k])
		}
	}
	return intent
}

// placeOf returns where a plan acts, or "" if that is not one place.
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

// replaceWord replaces the first occurrence of a word.
func replaceWord(text, word, with string) string {
	found := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word) + `\b`).FindStringIndex(text)
	if found == nil {
		return text
	}
	return strings.TrimSpace(text[:found[0]] + with + text[found[1]:])
}

// wantsEarlierPicture reports whether a request asks for the image of the request that its
// context names, and for no new image: "send me the picture of that again".
func (r *Interpreter) wantsEarlierPicture(req mess.Request) bool {
	w := r.Catalog.Words
	if len(req.Intent) > lexicon.MaxText || len(req.Requires) > 0 {
		return false
	}
	tokens := w.Tokens(req.Intent)
	picture, earlier := false, false
	for i := 0; i < len(tokens); {
		n := w.Pictures.Longest(tokens, i)
		picture = picture || n > 0
		if n == 0 {
			n = w.Earlier.Longest(tokens, i)
			earlier = earlier || n > 0
		}
		n = max(n, w.Fetching.Longest(tokens, i), w.Articles.Longest(tokens, i), w.Fillers.Longest(tokens, i))
		if n == 0 {
			return false
		}
		i += n
	}
	return picture && earlier
}

// parseEarlierPicture returns the plan that sends the pictures of an earlier request again.
// The exchange lists the pictures with the ref in the context. A device of this home must
// have taken them.
func (r *Interpreter) parseEarlierPicture(req mess.Request) (out capabilities.Outcome, ok bool) {
	var at *mess.Entry
	for i, e := range req.Context {
		if e.Type != "ref" {
			continue
		}
		if at != nil {
			return capabilities.Outcome{}, false
		}
		at = &req.Context[i]
	}
	if at == nil || !r.wantsEarlierPicture(req) {
		return capabilities.Outcome{}, false
	}
	thread, before := textOf(at.Extra, "thread"), textOf(at.Extra, "intent")
	if thread == "" || before == "" || len(before) > lexicon.MaxText {
		return capabilities.Outcome{}, false
	}
	p := r.Resolve(mess.Request{Intent: before}).Plan
	if p == nil {
		return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: fmt.Sprintf("no device here did %s", thread)}}, true
	}
	pictures, _ := at.Extra.Get("pictures")
	if list, _ := pictures.([]any); len(list) == 0 {
		return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: thread + " has no picture; for a new one say \"take a photo\" and of what"}}, true
	}
	return capabilities.Outcome{Plan: &capabilities.Plan{
		Capability: lastStep(p).Capability, Device: lastStep(p).Device, Command: capabilities.EarlierImages, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Reversible: true,
		Args:    mess.Object{{Key: "thread", Value: thread}, {Key: "pictures", Value: pictures}},
		Summary: "send the picture of " + thread + " again",
	}, Explain: capabilities.Trace{Capability: lastStep(p).Capability, Score: 1}}, true
}

// lastStep returns the last step of a plan, or the plan itself if it has no steps.
func lastStep(p *capabilities.Plan) capabilities.Plan {
	each := p.Each()
	return each[len(each)-1]
}

// textOf returns the text of a key, or "".
func textOf(o mess.Object, key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return s
}
