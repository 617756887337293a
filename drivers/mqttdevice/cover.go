package mqttdevice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/mqttclient"
)

// Cover describes the messages of a blind, a shutter or a door.
type Cover struct {
	Open     []Message     `yaml:"open"` // without open and close, the driver sends to with 100 and 0
	Close    []Message     `yaml:"close"`
	Stop     []Message     `yaml:"stop"`
	To       []Message     `yaml:"to"` // {position} is the target; none: the cover knows only its ends
	Position *Value        `yaml:"position"`
	State    *CoverState   `yaml:"state"`
	Takes    time.Duration `yaml:"takes"` // longest time from one end to the other
	family.Scale
}

// CoverState describes the topic with the word for the movement.
type CoverState struct {
	Topic string   `yaml:"topic"`
	Value string   `yaml:"value"`
	Ask   *Message `yaml:"ask"`
	family.Report
	Optional bool `yaml:"optional"` // some devices of the family do not send this word
}

func (c *CoverState) from() *Value { return &Value{c.Topic, c.Value, c.Ask} }

// lookEvery is the poll interval during a movement.
var lookEvery = time.Second

// coverTime is the default time limit of a movement.
const coverTime = 3 * time.Minute

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
	if len(c.Open) == 0 {
		return family.NewCover(to(100), to(0), to)
	}
	return family.NewCover(d.travel(c.Open, "", 100), d.travel(c.Close, "", 0), to)
}

func (d *device) travel(list []Message, position string, to float64) family.Travel {
	values := d.values.With(family.Values{"position": position})
	return family.Travel{
		Go: func(ctx context.Context) error {
			if err := d.online(ctx); err != nil {
				return err
			}
			return d.command(ctx, list, values)
		},
		Look: d.place, To: to, Limit: d.template.Cover.limit(), Every: lookEvery, Timeout: 2 * d.timeout,
		Stop: func(ctx context.Context) error { return d.command(ctx, d.template.Cover.Stop, d.values) },
	}
}

func (c *Cover) limit() time.Duration {
	if c.Takes > 0 {
		return c.Takes
	}
	return coverTime
}

// place reads the present position from the device.
func (d *device) place(ctx context.Context) (p family.Place, err error) {
	c := d.template.Cover
	var h mqttclient.Heard
	if v := c.Position; v != nil {
		if h, err = d.told(ctx, *v); err != nil {
			return p, err
		}
		found, err := v.in(d.values, h.Payload)
		if err != nil && c.State == nil {
			return p, err
		}
		p.Percent, p.Known = c.Percent(d.values, found)
	}
	if c.State == nil {
		return p, nil
	}
	if c.Position == nil || d.values.Text(c.Position.Topic) != d.values.Text(c.State.Topic) {
		if h, err = d.told(ctx, *c.State.from()); err != nil {
			return p, err
		}
	}
	found, err := c.State.from().in(d.values, h.Payload)
	word, ok := family.Word(found)
	switch {
	case err == nil && ok:
		c.State.Add(&p, word)
	case !c.State.Optional && err == nil:
		err = errors.New("the device does not report its movement")
	case c.State.Optional:
		err = nil
	}
	return p, err
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
	errs := t.checkMessages("cover.stop", c.Stop)
	if len(c.To) == 0 || len(c.Open)+len(c.Close) > 0 {
		errs = slices.Concat(errs, t.checkMessages("cover.open", c.Open), t.checkMessages("cover.close", c.Close))
	}
	if len(c.To) > 0 {
		errs = append(errs, t.checkMessages("cover.to", c.To, "position")...)
		if c.Position == nil {
			errs = append(errs, errors.New("cover.position: is missing; a cover with positions must report its position"))
		}
	}
	if c.Position == nil && c.State == nil {
		errs = append(errs, errors.New("cover.position: is missing, and so is state; without readback the driver cannot know that the cover is closed"))
	}
	if c.Position != nil {
		errs = append(errs, t.checkValue("cover.position", c.Position))
	}
	if c.State != nil {
		errs = append(errs, t.checkValue("cover.state", c.State.from()))
		if c.Position == nil && (len(c.State.Open) == 0 || len(c.State.Closed) == 0) {
			errs = append(errs, errors.New("cover.state: needs words for open and closed, because the template has no position"))
		}
	}
	for _, g := range family.Gaps(c.Closed) {
		if _, known := t.With[g]; !known {
			errs = append(errs, fmt.Errorf("cover.closed: {%s} has no value; add the name under with", g))
		}
	}
	if len(family.Gaps(c.Closed)) == 0 && c.Closed != "" && c.Closed != "0" && c.Closed != "100" {
		errs = append(errs, fmt.Errorf("cover.closed: %q is invalid; write 0, or 100 for a reversed scale", c.Closed))
	}
	if t.Switch != nil {
		errs = append(errs, errors.New("cover: excludes switch; remove one of them"))
	}
	return errs
}
