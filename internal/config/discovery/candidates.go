package discovery

import (
	"strings"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Candidate is a found device that a person may add to a configuration.
type Candidate struct {
	Name    string            // proposed name in the configuration; no other device has it
	Label   string            // name that the owner gave the device; "" if unknown
	Class   string            // light, plug, ...; "" if unknown
	Driver  string            // the driver's name
	Where   string            // for people: where the device is, and what its maker says about it
	Note    string            // why it has a more careful class than it announces; "" if it has not
	Same    string            // the configured device that is the same thing; "" if none is
	Problem string            // why it cannot be added as it is; "" if it can
	Acts    bool              // it can change something
	Block   *strictyaml.Value // its configuration, which may contain a password; nil: it cannot be added
}

// Candidates returns the found devices in the order of list, at most mostFound. home has the
// devices of the configuration.
func Candidates(list []Discovered, home *config.DeviceSet) []Candidate {
	all := []Candidate{}
	var held []foundHold
	taken := map[string]bool{}
	for _, d := range home.Devices {
		taken[d.Name] = true
		for _, one := range config.HeldBy(d) {
			held = append(held, foundHold{one, d.Name})
		}
	}
	for _, d := range list[:min(len(list), mostFound)] {
		d.Name = freeName(d.Name, taken)
		all = append(all, d.candidate(&held, home))
	}
	return all
}

func (d Discovered) candidate(held *[]foundHold, home *config.DeviceSet) Candidate {
	c := Candidate{Name: d.Name, Driver: d.Kind.Name, Where: line(d.about()), Acts: true}
	switch {
	case d.Config == nil:
		c.Problem, c.Acts = "messkit has no template for it", false
		return c
	case !plain(d.Config):
		c.Problem = "it announces a name that no person can read or write; give it another name"
		return c
	case isLabel(d.Label):
		c.Label = d.Label
	}
	dev, err := d.Open()
	if err != nil {
		c.Problem = d.needs(err)
		return c
	}
	c.Acts, c.Note = acts(dev), strings.TrimPrefix(d.cautious(dev), "; ")
	c.Class = config.Device{DeviceConfig: config.DeviceConfig{Class: d.Config["class"]}, Dev: dev, Kind: d.Kind}.EffectiveClass()
	if c.Same = d.hold(dev, held); c.Same != "" && home.Device(c.Same) == nil {
		c.Problem = "it is the same thing as " + c.Same
	}
	c.Block = d.Block()
	return c
}
