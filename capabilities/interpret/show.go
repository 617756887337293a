package interpret

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// shown takes "and show me" from the end of a text that orders an act, and
// returns the readings of what stands before it: the act, and then a picture of
// what it acted on. Of anything else it takes nothing.
func (x *request) shown() []reading {
	all := x.Tokens
	for i := 1; i < len(all); i++ {
		tail := x.Words().Bare(all[i:])
		if n := x.r.Catalog.ImageEndings.Longest(tail, 0); n == 0 || n < len(tail) {
			continue
		}
		x.cut(all[:i])
		acts := slices.DeleteFunc(x.able(x.readings), func(rd reading) bool { return rd.Capability.Effect == capabilities.Query })
		if len(acts) > 0 {
			x.show = lexicon.Join(all[i:])
			return acts
		}
	}
	x.cut(all)
	return nil
}

// cut reads the text anew, as if it were these words alone.
func (x *request) cut(tokens []lexicon.Token) {
	x.SetTokens(tokens)
	x.readings = nil
	x.read()
}

// picture adds a picture after the act to a plan where the words ask for one, and
// refuses where nothing here could take it: the words were "and show me". Of what
// was cleaned the map is one, which comes in any case.
func (x *request) picture(p *capabilities.Plan, d int) (capabilities.Outcome, bool) {
	if x.show == "" {
		return capabilities.Outcome{}, false
	}
	if x.r.eye(d) == "" && p.Command == capabilities.Clean && x.r.Site.Devices[d].Maps {
		p.Summary += ", and show its map"
		return capabilities.Outcome{}, false
	}
	if x.r.eye(d) == "" {
		return x.refuse(fmt.Sprintf("%q cannot be done: no camera sees the %s; leave it out, or name a camera for it (seen_by)", x.show, x.r.Label(d)), nil), true
	}
	if !slices.Contains(p.Want, capabilities.Image) {
		p.Want = append(p.Want, capabilities.Image)
	}
	p.Summary += ", and take a photo of it"
	return capabilities.Outcome{}, false
}

// eye is the camera that takes pictures of a device, "" if there is none: the
// one that is said to see it, or itself.
func (r *Interpreter) eye(d int) string {
	dev := r.Site.Devices[d]
	if dev.SeenBy == "" && slices.Contains(dev.Commands, capabilities.TakePhoto) {
		return dev.Name
	}
	return dev.SeenBy
}
