package httpdevice

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/template"
)

// Cover describes the calls of a blind, a shutter or a door.
type Cover struct {
	Open     []Call        `yaml:"open"`
	Close    []Call        `yaml:"close"`
	Stop     []Call        `yaml:"stop"`
	To       []Call        `yaml:"to"`       // {position} is the target; none: the cover knows only its ends
	Get      string        `yaml:"get"`      // path of the state
	Position string        `yaml:"position"` // path in the answer: 0 to 100; any other value is unknown
	State    *CoverState   `yaml:"state"`
	Takes    time.Duration `yaml:"takes"` // longest time from one end to the other
	template.PositionScale
}

// CoverState describes the word for the movement.
type CoverState struct {
	Value string `yaml:"value"` // path in the answer
	template.StateWords
}

// lookEvery is the poll interval during a movement.
var lookEvery = time.Second

// cover returns the cover of the template, or nil.
func (d *device) cover() *template.Cover {
	c := d.template.Cover
	if c == nil {
		return nil
	}
	return template.Motor[Call]{
		Open: c.Open, Close: c.Close, To: c.To, Stop: c.Stop, Scale: c.PositionScale, Takes: c.Takes, Values: d.values,
		Begin: d.do, End: d.do, Look: d.readPosition, Every: lookEvery, Timeout: drivers.StopTimeout,
	}.Cover()
}

// readPosition reads the present position.
func (d *device) readPosition(ctx context.Context) (p template.CoverPosition, err error) {
	c := d.template.Cover
	body, err := d.ask(ctx, Call{Get: c.Get}, d.values)
	if err != nil {
		return p, err
	}
	answer, err := template.Parse(body)
	if err != nil {
		return p, err
	}
	if found, ok := template.Lookup(answer, d.values.Text(c.Position)); ok && c.Position != "" {
		p.Percent, p.Known = c.Percent(d.values, found)
	}
	if c.State == nil {
		return p, nil
	}
	found, _ := template.Lookup(answer, d.values.Text(c.State.Value))
	word, ok := template.ScalarText(found)
	if !ok {
		return template.CoverPosition{}, errors.New("the device does not report whether it moves; check its family, and its mode as a cover")
	}
	c.State.Add(&p, word)
	return p, nil
}

func (t *Template) checkCover() []error {
	c := t.Cover
	errs := slices.Concat(t.checkCalls("cover.open", c.Open), t.checkCalls("cover.close", c.Close), t.checkCalls("cover.stop", c.Stop), t.checkCalls("cover.get", []Call{{Get: c.Get}}))
	if len(c.To) > 0 {
		errs = append(errs, t.checkCalls("cover.to", c.To, "position")...)
	}
	errs = append(errs, template.CheckPlace("cover.position", c.Position, t.With))
	var state *template.StateWords
	if s := c.State; s != nil {
		state = &s.StateWords
		errs = append(errs, template.CheckPlace("cover.state.value", s.Value, t.With))
		if s.Value == "" {
			errs = append(errs, errors.New("cover.state: needs value: the path of the word in the answer"))
		}
	}
	return append(errs, template.CheckCover(template.CoverParts{To: len(c.To) > 0, Position: c.Position != "", State: state, Scale: c.PositionScale, Switch: t.Switch != nil}, t.With)...)
}
