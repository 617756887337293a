package httpdevice

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
)

// Cover is how a blind, a shutter or a door is moved, and tells where it is.
type Cover struct {
	Open     []Call        `yaml:"open"`
	Close    []Call        `yaml:"close"`
	Stop     []Call        `yaml:"stop"`
	To       []Call        `yaml:"to"`       // {position} is how far; none: it knows no way but to its ends
	Get      string        `yaml:"get"`      // what tells where it is
	Position string        `yaml:"position"` // where in the answer: 0 to 100; all else is not known
	State    *CoverState   `yaml:"state"`
	Takes    time.Duration `yaml:"takes"` // the most that it takes from one end to the other
	family.Scale
}

// CoverState is the word for what it does.
type CoverState struct {
	Value string `yaml:"value"` // where in the answer
	family.Report
}

const coverTime = 3 * time.Minute // where the family does not say

// lookEvery is the time between two looks at a cover on its way.
var lookEvery = time.Second

// cover is what the template says of one; nil for what is none.
func (d *device) cover() *family.Cover {
	c := d.template.Cover
	if c == nil {
		return nil
	}
	var to func(float64) family.Travel
	if len(c.To) > 0 {
		to = func(percent float64) family.Travel { return d.travel(c.To, c.Word(d.values, percent), percent) }
	}
	return family.NewCover(d.travel(c.Open, "", 100), d.travel(c.Close, "", 0), to)
}

func (d *device) travel(calls []Call, position string, to float64) family.Travel {
	c := d.template.Cover
	limit := c.Takes
	if limit == 0 {
		limit = coverTime
	}
	return family.Travel{
		Go: func(ctx context.Context) error {
			return d.do(ctx, calls, d.values.With(family.Values{"position": position}))
		},
		Stop: func(ctx context.Context) error { return d.do(ctx, c.Stop, d.values) },
		Look: d.place, To: to, Limit: limit, Every: lookEvery, Timeout: drivers.StopTime,
	}
}

// place is where it is.
func (d *device) place(ctx context.Context) (p family.Place, err error) {
	c := d.template.Cover
	body, err := d.ask(ctx, Call{Get: c.Get}, d.values)
	if err != nil {
		return p, err
	}
	answer, err := family.Parse(body)
	if err != nil {
		return p, err
	}
	if found, ok := family.Pick(answer, d.values.Text(c.Position)); ok && c.Position != "" {
		p.Percent, p.Known = c.Percent(d.values, found)
	}
	if c.State == nil {
		return p, nil
	}
	found, _ := family.Pick(answer, d.values.Text(c.State.Value))
	word, ok := family.Word(found)
	if !ok {
		return family.Place{}, errors.New("its answer does not say whether it moves; is it of this family, and set up as a cover?")
	}
	c.State.Add(&p, word)
	return p, nil
}

// readCover measures what a cover is about, where its template says nothing else.
func (d *device) readCover(ctx context.Context) ([]drivers.Reading, error) {
	p, err := d.place(ctx)
	if err != nil {
		return nil, err
	}
	return family.Openings(p, d.now())
}

func (t *Template) checkCover() []error {
	c := t.Cover
	errs := slices.Concat(t.checkCalls("cover.open", c.Open), t.checkCalls("cover.close", c.Close), t.checkCalls("cover.stop", c.Stop), t.checkCalls("cover.get", []Call{{Get: c.Get}}))
	if len(c.To) > 0 {
		errs = append(errs, t.checkCalls("cover.to", c.To, "position")...)
		if c.Position == "" {
			errs = append(errs, errors.New("cover.position: is missing; what goes part of the way has to tell how far it is"))
		}
	}
	errs = append(errs, family.CheckPlace("cover.position", c.Position, t.With), t.checkFilled("cover.closed", c.Closed))
	if c.State != nil {
		errs = append(errs, family.CheckPlace("cover.state.value", c.State.Value, t.With))
	}
	switch s := c.State; {
	case s == nil && c.Position == "":
		errs = append(errs, errors.New("cover.position: is missing, and so is state; what cannot be read back is not known to be closed"))
	case s != nil && s.Value == "":
		errs = append(errs, errors.New("cover.state: needs value: where the answer has the word"))
	case s != nil && c.Position == "" && (len(s.Open) == 0 || len(s.Closed) == 0):
		errs = append(errs, errors.New("cover.state: needs words for open and closed, where nothing tells the position"))
	}
	if c.Closed != "" && c.Closed != "0" && c.Closed != "100" && len(family.Gaps(c.Closed)) == 0 {
		errs = append(errs, errors.New("cover.closed: write 0, or 100 where the family counts the other way"))
	}
	if t.Switch != nil {
		errs = append(errs, errors.New("cover: stands beside switch; a device is one of the two"))
	}
	return errs
}
