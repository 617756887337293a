package httpdevice

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
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
	family.Scale
}

// CoverState describes the word for the movement.
type CoverState struct {
	Value string `yaml:"value"` // path in the answer
	family.Report
}

const coverTime = 3 * time.Minute // default time limit

// lookEvery is the poll interval during a movement.
var lookEvery = time.Second

// cover returns the cover of the template, or nil.
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
		Look: d.place, To: to, Limit: limit, Every: lookEvery, Timeout: drivers.StopTimeout,
	}
}

// place reads the present position.
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
		return family.Place{}, errors.New("the device does not report whether it moves; check its family, and its mode as a cover")
	}
	c.State.Add(&p, word)
	return p, nil
}

// readCover returns the readings of a cover whose template has none.
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
			errs = append(errs, errors.New("cover.position: is missing; a cover with positions must report its position"))
		}
	}
	errs = append(errs, family.CheckPlace("cover.position", c.Position, t.With), t.checkFilled("cover.closed", c.Closed))
	if c.State != nil {
		errs = append(errs, family.CheckPlace("cover.state.value", c.State.Value, t.With))
	}
	switch s := c.State; {
	case s == nil && c.Position == "":
		errs = append(errs, errors.New("cover.position: is missing, and so is state; without readback the driver cannot know that the cover is closed"))
	case s != nil && s.Value == "":
		errs = append(errs, errors.New("cover.state: needs value: the path of the word in the answer"))
	case s != nil && c.Position == "" && (len(s.Open) == 0 || len(s.Closed) == 0):
		errs = append(errs, errors.New("cover.state: needs words for open and closed, because the template has no position"))
	}
	if c.Closed != "" && c.Closed != "0" && c.Closed != "100" && len(family.Gaps(c.Closed)) == 0 {
		errs = append(errs, errors.New("cover.closed: is invalid; write 0, or 100 for a reversed scale"))
	}
	if t.Switch != nil {
		errs = append(errs, errors.New("cover: excludes switch; remove one of them"))
	}
	return errs
}
