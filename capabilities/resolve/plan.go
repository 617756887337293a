package resolve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// planFor returns the plan of a hypothesis with one device and the places to work on.
func (r *Resolver) planFor(rd *Hypothesis, d int, areas []string) capabilities.Plan {
	c, dev := rd.Capability, r.Site.Devices[d]
	p := capabilities.Plan{
		Capability: c.ID, Device: dev.Name, Command: c.CommandFor(&dev), Args: c.FixedArgs(),
		Risk: r.riskOf(c, d), Effect: r.effectOf(c, d), Reversible: c.Reversible,
	}
	for _, a := range rd.Args {
		p.Args = p.Args.Set(a.Key, a.Value)
	}
	if t := rd.Value("thing"); t != "" {
		p.Args = p.Args.Set("thing", t)
	}
	if q := rd.Value("quantity"); q != "" && p.Command != capabilities.WaitUntilDone {
		p.Args = append(p.Args, mess.Field{Key: "quantity", Value: q})
	}
	if p.Command == capabilities.Clean {
		if areas == nil {
			areas = []string{}
		}
		p.Args = append(p.Args, mess.Field{Key: "areas", Value: areas})
	}
	if p.Command == capabilities.Print && len(areas) == 1 {
		p.Args = append(p.Args, mess.Field{Key: "file", Value: areas[0]})
	}
	if m := rd.Slot("duration"); m != nil {
		p.For = m.Duration
	}
	summary, consequences := c.Summary, c.Consequences
	if SwitchesTo(p, true) && slices.Contains(dev.Commands, capabilities.Press) { // it is on while the driver presses it
		p.Command, p.Args = capabilities.Press, nil
		summary, consequences = "press the {device}", "the {device} will be pressed and released, and what that sets off will be done"
	}
	p.Summary, p.Consequences = r.fillText(summary, rd, d, areas), r.fillText(consequences, rd, d, areas)
	if p.For > 0 {
		p.Summary += " for " + capabilities.DurationText(p.For)
	}
	return p
}

// riskOf returns the risk of the device, otherwise the risk of the catalog for its class. A
// configured risk does not apply to a query.
func (r *Resolver) riskOf(c *grammar.Capability, d int) capabilities.Risk {
	if c.Effect == capabilities.Query {
		return c.Risk
	}
	if own := r.Site.Devices[d].Risk; own != "" {
		return own
	}
	if risk, ok := c.Risks[r.Class[d]]; ok {
		return risk
	}
	return c.Risk
}

// effectOf returns the effect of the device, otherwise the effect of the catalog: to switch
// the plug of a feeder on twice feeds twice. A query changes nothing on any device.
func (r *Resolver) effectOf(c *grammar.Capability, d int) capabilities.Effect {
	if own := r.Site.Devices[d].Effect; own != "" && c.Effect != capabilities.Query {
		return own
	}
	return c.Effect
}

// fillText fills the slots in a text of a capability.
func (r *Resolver) fillText(text string, rd *Hypothesis, d int, areas []string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		name, after, whole := strings.Cut(rest, "}")
		if !found || !whole {
			return withoutDoubleArticles(b.String())
		}
		b.WriteString(r.slotText(name, rd, d, areas))
		text = after
	}
}

// slotText returns the text for a slot in a text of a capability.
func (r *Resolver) slotText(name string, rd *Hypothesis, d int, areas []string) string {
	switch name {
	case "device":
		return r.Label(d)
	case "areas":
		return r.placesText(d, areas)
	case "rooms":
		return r.placesText(d, r.roomsOf(d, areas))
	case "view":
		if sees := r.Site.Devices[d].FieldOfView; rd.Value("view") == "" && rd.Value("thing") != "" && len(sees) == 1 {
			return sees[0]
		}
		return cmp.Or(rd.Value("view"), "view")
	case "quantity":
		return cmp.Or(rd.Value("quantity"), "values")
	case "thing":
		return rd.Value("thing")
	case "angle":
		return rd.angleText()
	case "until":
		return AwaitedText(rd.awaits())
	case "colour":
		return r.Catalog.Frames.ColorName(argText(rd.Args, name))
	}
	if value := argText(rd.Args, name); value != "" || rd.asks != name {
		return value
	}
	return "some" // the interpreter asks for it
}

// argText returns a parameter in words. A number has no sign, because the words around it
// say it.
func argText(args mess.Object, key string) string {
	switch v, _ := args.Get(key); v := v.(type) {
	case float64:
		return lexicon.DecimalText(math.Abs(v))
	case string:
		return v
	}
	return ""
}

// placesText returns the places in words: a room has an article, a spot has its own
// preposition.
func (r *Resolver) placesText(d int, areas []string) string {
	if len(areas) == 0 && r.Site.Devices[d].Prints() {
		return "a file"
	}
	if len(areas) == 0 {
		return "all floors"
	}
	names := make([]string, len(areas))
	for i, area := range areas {
		names[i] = "the " + area
		for _, s := range r.Site.Devices[d].WorkAreas {
			if s.Name == area && s.Name != s.Room {
				names[i] = area
			}
		}
	}
	return strings.Join(names, " and ")
}

// roomsOf returns the rooms of the places.
func (r *Resolver) roomsOf(d int, areas []string) []string {
	list := make([]string, len(areas))
	for i, area := range areas {
		list[i] = area
		for _, s := range r.Site.Devices[d].WorkAreas {
			if s.Name == area && s.Room != "" {
				list[i] = s.Room
			}
		}
	}
	return lexicon.Distinct(list)
}

// withoutDoubleArticles removes the article before names that have their own.
func withoutDoubleArticles(s string) string {
	for _, article := range []string{"the", "my", "our", "a"} {
		s = strings.ReplaceAll(s, "the "+article+" ", article+" ")
	}
	return s
}

// NamedThing returns the one device or place that words name, or "" if they name none or
// several.
func (r *Resolver) NamedThing(tokens []lexicon.Token) (name string) {
	x := &Request{Resolver: r, Utterance: entity.Utterance{Home: &r.Home, Tokens: tokens}}
	for i := 0; i < len(tokens); i++ {
		end := max(x.LongestSlot("device", i), x.LongestSlot("area", i), x.LongestSlot("spot", i))
		if end <= i || r.Catalog.Words.All.Longest(tokens, i) > 0 {
			continue
		}
		if name != "" {
			return ""
		}
		name = lexicon.Join(tokens[i:end])
		i = end - 1
	}
	return name
}

// ImageRequest removes "and show me" from the end of a text that orders an act. It returns
// the hypotheses of the rest: the act, and then an image of its object. It does not change
// other texts.
func (x *Request) ImageRequest() []Hypothesis {
	all := x.Tokens
	for i := 1; i < len(all); i++ {
		tail := x.Words().Bare(all[i:])
		if n := x.Resolver.Catalog.ImageEndings.Longest(tail, 0); n == 0 || n < len(tail) {
			continue
		}
		x.ReadOnly(all[:i])
		acts := slices.DeleteFunc(x.Executable(x.Hypotheses), func(rd Hypothesis) bool { return rd.Capability.Effect == capabilities.Query })
		if len(acts) > 0 {
			x.ImageWords = lexicon.Join(all[i:])
			return acts
		}
	}
	x.ReadOnly(all)
	return nil
}

// ReadOnly reads these words alone.
func (x *Request) ReadOnly(tokens []lexicon.Token) {
	x.SetTokens(tokens)
	x.Hypotheses = nil
	x.FindHypotheses()
}

// addImage adds an image after the act to a plan if the text asks for one with "and show
// me". It refuses the plan if no camera sees the device. After a cleaning the map is the
// image, which the result has in any case.
func (x *Request) addImage(p *capabilities.Plan, d int) (capabilities.Outcome, bool) {
	if x.ImageWords == "" {
		return capabilities.Outcome{}, false
	}
	if x.Resolver.cameraOf(d) == "" && p.Command == capabilities.Clean && x.Resolver.Site.Devices[d].DrawsMap {
		p.Summary += ", and show its map"
		return capabilities.Outcome{}, false
	}
	if x.Resolver.cameraOf(d) == "" {
		return x.Reject(fmt.Sprintf("%q is not possible: no camera sees the %s; leave it out, or name a camera for it (seen_by)", x.ImageWords, x.Resolver.Label(d)), nil), true
	}
	if !slices.Contains(p.Want, capabilities.Image) {
		p.Want = append(p.Want, capabilities.Image)
	}
	p.Summary += ", and take a photo of it"
	return capabilities.Outcome{}, false
}

// cameraOf returns the camera that sees a device, or "" if there is none: the configured
// one, or the device itself.
func (r *Resolver) cameraOf(d int) string {
	dev := r.Site.Devices[d]
	if dev.VerificationCamera == "" && slices.Contains(dev.Commands, capabilities.TakePhoto) {
		return dev.Name
	}
	return dev.VerificationCamera
}

// QueriedState returns the state that a yes/no question asks about: "on", "closed", Seen. It
// is "" if the text asks about none, or about several.
func (x *Request) QueriedState(p *capabilities.Plan) string {
	w := x.Words()
	y := &Request{Resolver: x.Resolver, Utterance: entity.Utterance{Home: &x.Resolver.Home, Tokens: x.Whole}, Message: x.Message}
	if p.Effect != capabilities.Query || p.Command.IsWait() {
		return ""
	}
	if from, _ := w.Openly.Find(y.Tokens); from >= 0 { // "what", "how"
		return ""
	}
	if from, to := w.Lacking.Find(y.Tokens); from >= 0 {
		return lexicon.Join(y.Tokens[from:to])
	}
	if _, looks := p.Args.Get("thing"); looks {
		return capabilities.Present
	}
	state, any := "", ""
	for i, t := range y.Tokens {
		if y.IsName(i) {
			continue
		}
		if w.AnyOne.Longest(y.Tokens, i) > 0 {
			any = capabilities.AnyOf
		}
		is := w.States[t.Text]
		if is != "" && state != "" && is != state {
			return ""
		}
		if is != "" {
			state = is
		}
	}
	if state == "" {
		return ""
	}
	return any + state
}
