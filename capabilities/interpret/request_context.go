package interpret

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// hint is one line of a request's context, or one value of it.
type hint struct {
	quote string // as the request has it, cut to maxQuote bytes
	text  string // words for the interpreter; "" for none
	data  bool   // the value of a key without a meaning here; it answers no question
	media bool   // an address, or the content of a file; the interpreter reads nothing from it
	used  bool   // it answers a question, or follows the order
	// remark is true for a remark in the text of the request, next to the order.
	remark bool
}

// maxQuote is the longest quotation of a line of context in a question, in bytes.
const maxQuote = 160

// wordlessTypes are the types of context whose text is an address or a file name.
var wordlessTypes = []string{"image", "audio", "video", "file", "url", "ref", "embedding"}

// maxHints is the largest number of lines of a context that the interpreter reads. It asks
// about more.
const maxHints = 24

// hints returns the lines and values of a context in their order.
func (r *Interpreter) hints(context []mess.Entry) (list []*hint) {
	defer func() {
		if more := len(list) - maxHints; more > 0 {
			list = append(list[:maxHints], &hint{quote: fmt.Sprintf("(%d more lines)", more)})
		}
		for _, h := range list {
			if h.quote = strings.ToValidUTF8(h.quote, "\uFFFD"); len(h.quote) > maxQuote {
				h.quote = strings.ToValidUTF8(h.quote[:maxQuote], "") + "..."
			}
			if len(h.text) > lexicon.MaxText {
				h.text = ""
			}
		}
	}()
	for _, e := range context {
		if slices.Contains(wordlessTypes, e.Type) {
			list = append(list, &hint{quote: e.Type, media: true})
			continue
		}
		values := r.hintsOf(e.Type, e.Value, e.Type == "location")
		for _, h := range values {
			h.remark = e.Type == remarkType
		}
		list = append(list, values...)
		list = append(list, r.fieldsOf(e.Extra, false)...)
	}
	return list
}

// hintsOf reads one value of a context by its key.
func (r *Interpreter) hintsOf(key string, value any, place bool) []*hint {
	switch v := value.(type) {
	case string:
		if place || phraseByKey[key] != "" {
			return []*hint{{quote: key + ": " + v, text: r.phrase(key, v)}}
		}
		var list []*hint
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); line != "" {
				list = append(list, &hint{quote: line, text: line})
			}
		}
		return list
	case mess.Object:
		return r.fieldsOf(v, place)
	case []any:
		var list []*hint
		for _, one := range v {
			list = append(list, r.hintsOf(key, one, place)...)
		}
		return list
	case nil:
		return nil
	}
	return []*hint{{quote: fmt.Sprintf("%s: %v", key, value), text: r.phrase(key, value)}}
}

// fieldsOf reads the values of a mapping. Coordinates and addresses are no words, so the
// interpreter reads nothing from them.
func (r *Interpreter) fieldsOf(o mess.Object, place bool) []*hint {
	var list []*hint
	for _, f := range o {
		_, nested := f.Value.(mess.Object)
		switch {
		case place && (f.Key == "lat" || f.Key == "lng" || f.Key == "accuracy" || f.Key == "altitude" || f.Key == "address"):
			list = append(list, &hint{quote: fmt.Sprintf("%s: %v", f.Key, f.Value), media: true})
		case place && f.Key == "name":
			list = append(list, r.hintsOf("location", f.Value, true)...)
		case nested:
			h := r.hintsOf(f.Key, f.Value, f.Key == "location")
			for _, one := range h {
				one.data = one.data || f.Key != "location"
			}
			list = append(list, h...)
		default:
			h := r.hintsOf(f.Key, f.Value, false)
			for _, one := range h {
				if !strings.HasPrefix(one.quote, f.Key+": ") {
					one.quote, one.data = f.Key+": "+one.quote, true
				}
			}
			list = append(list, h...)
		}
	}
	return list
}

// phraseByKey are the phrases for values by their keys: %s stands for the value.
var phraseByKey = map[string]string{
	"device": "the %s", "area": "in the %s", "room": "in the %s", "place": "in the %s", "location": "in the %s",
	"level": "to %s percent", "brightness": "to %s percent", "opening": "to %s percent", "colour": "to %s", "color": "to %s",
	"temperature": "to %s degrees", "angle": "to %s degrees", "kelvin": "to %s kelvin", "for": "for %s", "duration": "for %s",
}

// phrase returns a value in the words that can follow an order, or "" if there are none.
func (r *Interpreter) phrase(key string, value any) string {
	text := fmt.Sprint(value)
	if key == "for" || key == "duration" {
		d, err := mess.Duration(text).Duration()
		if err != nil {
			return ""
		}
		text = capabilities.DurationText(d)
	}
	if share, ok := r.Catalog.Frames.Lists.Shares[strings.ToLower(text)]; ok {
		text = lexicon.DecimalText(share)
	}
	if n, err := strconv.ParseFloat(text, 64); key == "level" || key == "brightness" || key == "opening" {
		switch {
		case err != nil:
			return "to " + text
		case n < 1: // 0.5 may be a half, and 0 is off
			return ""
		}
	}
	if how := phraseByKey[key]; how != "" {
		return fmt.Sprintf(how, strings.TrimPrefix(text, "the "))
	}
	return ""
}

// resolveInContext resolves a request with its context. A hint that answers a question
// answers it. A hint that can follow the text of the request does so. Other hints change
// nothing: before the plan acts, the interpreter asks about them, unless they only describe
// a state.
func (r *Interpreter) resolveInContext(req mess.Request, given mess.Object) capabilities.Outcome {
	hints := r.hints(req.Context)
	bare, known := req, given
	bare.Context = nil
	out := r.resolveText(bare, known)
	var doubts, fields []string
	for i := 0; i < len(hints); i++ {
		h := hints[i]
		if h.used || h.text == "" || h.media || h.data || r.isNextTo(h.text, out) {
			continue
		}
		text := r.withoutLitter(h.text, out)
		if field, picked := r.optionOf(out, r.subjectOfHint(h, out), req); h.remark && picked != "" { // it says which, and more than that
			known, fields = append(resolve.WithoutKey(known, field), mess.Field{Key: field, Value: []string{picked}}), append(fields, field)
			out = r.resolveText(bare, known)
			continue
		}
		if field, picked := r.optionOf(out, text, req); field != "" {
			known, fields = append(resolve.WithoutKey(known, field), mess.Field{Key: field, Value: []string{picked}}), append(fields, field)
			out = r.resolveText(bare, known)
		} else if more, o, ok := r.parseWithHint(bare, known, out, text); ok {
			if out.Refusal != nil {
				doubts = append(doubts, h.quote)
			}
			bare, out = more, o
		} else if field, picked := r.optionOf(out, r.subjectOfHint(h, out), req); picked != "" { // "it is dark in the hall"
			known, fields, doubts = append(resolve.WithoutKey(known, field), mess.Field{Key: field, Value: []string{picked}}), append(fields, field), append(doubts, h.quote)
			out = r.resolveText(bare, known)
		} else {
			continue
		}
		h.used, i = true, -1 // an unused hint may be useful now
	}
	out = r.applyContext(req, given, out, hints, doubts)
	if out.Question != nil {
		for _, f := range fields {
			out.Question.Given = resolve.WithoutKey(out.Question.Given, f)
		}
	}
	return out
}

// isNextTo reports whether a hint says that something is near a place, and so does not name
// the place itself: "it is next to the hall". An order to clean may name what is near.
func (r *Interpreter) isNextTo(text string, out capabilities.Outcome) bool {
	w := r.Catalog.Words
	if c := r.Catalog.Find(out.Explain.Capability); c != nil && c.Command == capabilities.Clean {
		return false
	}
	tokens := w.Tokens(text)
	for i, t := range tokens {
		if w.Near.Longest(tokens, i) > 0 && t.Text != "at" {
			return true
		}
	}
	return false
}

// withoutLitter returns a hint of an order to clean without the name of the litter: "rice
// spill near the sink" says where.
func (r *Interpreter) withoutLitter(text string, out capabilities.Outcome) string {
	c, w := r.Catalog.Find(out.Explain.Capability), r.Catalog.Words
	if c == nil || c.Command != capabilities.Clean {
		return text
	}
	tokens := w.Tokens(text)
	rest := slices.DeleteFunc(slices.Clone(tokens), func(t lexicon.Token) bool { return r.Catalog.Context.Litter.Longest([]lexicon.Token{t}, 0) > 0 })
	if len(rest) == len(tokens) || len(rest) == 0 {
		return text
	}
	return lexicon.Join(rest)
}

// subjectOfHint returns the device or place that a remark is about. A line of context
// counts as a remark if it describes a state and the order is for a light.
func (r *Interpreter) subjectOfHint(h *hint, out capabilities.Outcome) string {
	c := r.Catalog.Find(out.Explain.Capability)
	if out.Question == nil || !h.remark && (c == nil || !c.SetsLight() || !r.isRemark(h.text) || r.isLimit(h.text)) {
		return ""
	}
	return r.NamedThing(r.Catalog.Words.Tokens(h.text))
}

// optionOf returns the option of a question that a hint picks. A hint never confirms a
// plan: only a person does.
func (r *Interpreter) optionOf(out capabilities.Outcome, text string, req mess.Request) (field, picked string) {
	q := out.Question
	if q == nil || strings.HasPrefix(q.Field, "meaning") || slices.Equal(q.Options, []string{"yes", "no"}) {
		return "", ""
	}
	p := reply.NewMatcher(&r.Home, *q, req)
	list := p.Pick(text)
	if len(list) != 1 || !slices.Contains(p.SingleOptions(), list[0]) {
		return "", ""
	}
	return q.Field, list[0]
}

// parseWithHint reads a hint as the last words of the request. It holds if the order stays
// the same and gets more exact: which device, where, how much, how long.
func (r *Interpreter) parseWithHint(req mess.Request, given mess.Object, before capabilities.Outcome, text string) (more mess.Request, out capabilities.Outcome, ok bool) {
	if text = r.fragment(text); text == "" {
		return req, out, false
	}
	more = req
	more.Intent = strings.TrimRight(req.Intent, " .!,;:") + " " + text
	out = r.resolveText(more, given)
	return more, out, out.Refusal == nil && len(out.Explain.Leftover) == 0 && r.refines(before, out)
}

// fragment returns the part of a hint that can follow an order, or "" if there is none. A
// fragment orders, forbids, and states nothing, and the interpreter knows every word of it.
func (r *Interpreter) fragment(text string) string {
	w, c := r.Catalog.Words, &r.Catalog.Context
	tokens := w.Tokens(text)
	if char, _ := r.UnknownSign(text); char != "" || len(tokens) > maxRecovered || w.IsQuestion(text, tokens) || w.Joining.Longest(tokens, 0) > 0 {
		return ""
	}
	for n := 1; n > 0 && len(tokens) > 0; tokens = tokens[n:] { // "it is in the hall", "I meant the lamp"
		n = 0
		if !w.BeginsPlace(tokens) {
			n = w.Picking.Longest(tokens, 0)
		}
	}
	x := r.withTokens(tokens)
	for i, t := range tokens {
		switch {
		case !r.KnowsWord(t) && !r.Catalog.Vocabulary[t.Folded] && !r.Catalog.TimeWords[t.Folded],
			c.Binding.Longest(tokens, i) > 0, c.Being.Longest(tokens, i) > 0, w.Negations.Longest(tokens, i) > 0,
			x.BeginsOrder(i) && !x.IsName(i), tokens[i].Pause && i > 0:
			return ""
		}
	}
	return lexicon.Join(tokens)
}
