package resolve

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

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
