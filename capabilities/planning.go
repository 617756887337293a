package capabilities

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// planFor is the plan for a reading with one device and the places to work on.
func (r *Resolver) planFor(rd *reading, d int, areas []string) Plan {
	c, dev := rd.capability, r.home.Devices[d]
	p := Plan{
		Capability: c.ID, Device: dev.Name, Command: c.command(dev), Args: c.args(),
		Risk: r.risk(c, d), Effect: r.effect(c, d), Reversible: c.Reversible,
	}
	for _, a := range rd.args {
		p.Args = p.Args.Set(a.Key, a.Value)
	}
	if q := rd.value("quantity"); q != "" {
		p.Args = append(p.Args, mess.Field{Key: "quantity", Value: q})
	}
	if p.Command == Clean {
		if areas == nil {
			areas = []string{}
		}
		p.Args = append(p.Args, mess.Field{Key: "areas", Value: areas})
	}
	if m := rd.slot("duration"); m != nil {
		p.For = m.duration
	}
	fill := r.filler(rd, d, areas)
	p.Summary, p.Consequences = tidy(fill.Replace(c.Summary)), tidy(fill.Replace(c.Consequences))
	if p.For > 0 {
		p.Summary += " for " + spoken(p.For)
	}
	return p
}

// risk is the device's own, else the catalogue's for its class. No
// configuration makes something that moves or looks less than it is when it
// says nothing.
func (r *Resolver) risk(c *capability, d int) Risk {
	if c.Effect == Query {
		return c.Risk
	}
	if own := r.home.Devices[d].Risk; own != "" {
		return own
	}
	if risk, ok := c.Risks[r.class[d]]; ok {
		return risk
	}
	return c.Risk
}

// effect is the device's own, else the catalogue's: to switch a feeder on a plug
// twice is to feed twice. What looks changes nothing on any device.
func (r *Resolver) effect(c *capability, d int) Effect {
	if own := r.home.Devices[d].Effect; own != "" && c.Effect != Query {
		return own
	}
	return c.Effect
}

// filler puts names into the texts of a capability.
func (r *Resolver) filler(rd *reading, d int, areas []string) *strings.Replacer {
	view, quantity := rd.value("view"), rd.value("quantity")
	if view == "" {
		view = "view"
	}
	if quantity == "" {
		quantity = "values"
	}
	colour := argText(rd.args, "colour")
	if colour != "" {
		colour = r.catalogue.lexicon.called(colour)
	}
	return strings.NewReplacer("{level}", argText(rd.args, "level"), "{change}", argText(rd.args, "change"), "{colour}", colour, "{device}", r.label(d), "{view}", view, "{quantity}", quantity, "{areas}", r.places(d, areas), "{rooms}", r.places(d, r.roomsOf(d, areas)))
}

// argText is a parameter in words; numbers without their sign, which the words
// around say.
func argText(args mess.Object, key string) string {
	switch v, _ := args.Get(key); v := v.(type) {
	case float64:
		return decimalText(math.Abs(v))
	case string:
		return v
	}
	return ""
}

// called is a colour by its name.
func (l *lexicon) called(hex string) string {
	for _, name := range slices.Sorted(maps.Keys(l.Colours)) {
		if l.Colours[name] == hex {
			return name
		}
	}
	return hex
}

// places says where: a room takes an article, a spot has its own word.
func (r *Resolver) places(d int, areas []string) string {
	if len(areas) == 0 {
		return "all floors"
	}
	said := make([]string, len(areas))
	for i, area := range areas {
		said[i] = "the " + area
		for _, s := range r.home.Devices[d].Spots {
			if s.Name == area && s.Name != s.Room {
				said[i] = area
			}
		}
	}
	return strings.Join(said, " and ")
}

// roomsOf are the rooms that the places are in.
func (r *Resolver) roomsOf(d int, areas []string) []string {
	list := make([]string, len(areas))
	for i, area := range areas {
		list[i] = area
		for _, s := range r.home.Devices[d].Spots {
			if s.Name == area && s.Room != "" {
				list[i] = s.Room
			}
		}
	}
	return distinct(list)
}

// tidy takes out what names that bring their own article double.
func tidy(s string) string {
	for _, article := range []string{"the", "my", "our", "a"} {
		s = strings.ReplaceAll(s, "the "+article+" ", article+" ")
	}
	return s
}
