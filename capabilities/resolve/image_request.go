package resolve

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// ImageRequest takes "and show me" from the end of a text that orders an act, and
// returns the readings of what stands before it: the act, and then a picture of
// what it acted on. Of anything else it takes nothing.
func (x *Request) ImageRequest() []Hypothesis {
	all := x.Tokens
	for i := 1; i < len(all); i++ {
		tail := x.Words().Bare(all[i:])
		if n := x.Resolver.Catalog.ImageEndings.Longest(tail, 0); n == 0 || n < len(tail) {
			continue
		}
		x.Cut(all[:i])
		acts := slices.DeleteFunc(x.Able(x.Readings), func(rd Hypothesis) bool { return rd.Capability.Effect == capabilities.Query })
		if len(acts) > 0 {
			x.ImageWords = lexicon.Join(all[i:])
			return acts
		}
	}
	x.Cut(all)
	return nil
}

// Cut reads the text anew, as if it were these words alone.
func (x *Request) Cut(tokens []lexicon.Token) {
	x.SetTokens(tokens)
	x.Readings = nil
	x.Read()
}

// picture adds a picture after the act to a plan where the words ask for one, and
// refuses where nothing here could take it: the words were "and show me". Of what
// was cleaned the map is one, which comes in any case.
func (x *Request) picture(p *capabilities.Plan, d int) (capabilities.Outcome, bool) {
	if x.ImageWords == "" {
		return capabilities.Outcome{}, false
	}
	if x.Resolver.eye(d) == "" && p.Command == capabilities.Clean && x.Resolver.Site.Devices[d].Maps {
		p.Summary += ", and show its map"
		return capabilities.Outcome{}, false
	}
	if x.Resolver.eye(d) == "" {
		return x.Reject(fmt.Sprintf("%q cannot be done: no camera sees the %s; leave it out, or name a camera for it (seen_by)", x.ImageWords, x.Resolver.Label(d)), nil), true
	}
	if !slices.Contains(p.Want, capabilities.Image) {
		p.Want = append(p.Want, capabilities.Image)
	}
	p.Summary += ", and take a photo of it"
	return capabilities.Outcome{}, false
}

// eye is the camera that takes pictures of a device, "" if there is none: the
// one that is said to see it, or itself.
func (r *Resolver) eye(d int) string {
	dev := r.Site.Devices[d]
	if dev.SeenBy == "" && slices.Contains(dev.Commands, capabilities.TakePhoto) {
		return dev.Name
	}
	return dev.SeenBy
}
