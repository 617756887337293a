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

// Cover is how a blind, a shutter or a door is moved, and tells where it is.
type Cover struct {
	Open     []Message     `yaml:"open"` // none, as close: to is told 100 and 0
	Close    []Message     `yaml:"close"`
	Stop     []Message     `yaml:"stop"`
	To       []Message     `yaml:"to"` // {position} is how far; none: it knows no way but to its ends
	Position *Value        `yaml:"position"`
	State    *CoverState   `yaml:"state"`
	Takes    time.Duration `yaml:"takes"` // the most that it takes from one end to the other
	family.Scale
}

// CoverState is where it tells in a word what it does.
type CoverState struct {
	Topic string   `yaml:"topic"`
	Value string   `yaml:"value"`
	Ask   *Message `yaml:"ask"`
	family.Report
	Optional bool `yaml:"optional"` // some of the family tell no such word
}

func (c *CoverState) from() *Value { return &Value{c.Topic, c.Value, c.Ask} }

// lookEvery is the time between two looks at a cover on its way.
var lookEvery = time.Second

// coverTime is how long one may take where its family does not say.
const coverTime = 3 * time.Minute

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

// place is where it is, told anew.
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
		err = errors.New("it tells no word of what it does")
	case c.State.Optional:
		err = nil
	}
	return p, err
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
	errs := t.checkMessages("cover.stop", c.Stop)
	if len(c.To) == 0 || len(c.Open)+len(c.Close) > 0 {
		errs = slices.Concat(errs, t.checkMessages("cover.open", c.Open), t.checkMessages("cover.close", c.Close))
	}
	if len(c.To) > 0 {
		errs = append(errs, t.checkMessages("cover.to", c.To, "position")...)
		if c.Position == nil {
			errs = append(errs, errors.New("cover.position: is missing; what goes part of the way has to tell how far it is"))
		}
	}
	if c.Position == nil && c.State == nil {
		errs = append(errs, errors.New("cover.position: is missing, and so is state; what cannot be read back is not known to be closed"))
	}
	if c.Position != nil {
		errs = append(errs, t.checkValue("cover.position", c.Position))
	}
	if c.State != nil {
		errs = append(errs, t.checkValue("cover.state", c.State.from()))
		if c.Position == nil && (len(c.State.Open) == 0 || len(c.State.Closed) == 0) {
			errs = append(errs, errors.New("cover.state: needs words for open and closed, where nothing tells the position"))
		}
	}
	for _, g := range family.Gaps(c.Closed) {
		if _, known := t.With[g]; !known {
			errs = append(errs, fmt.Errorf("cover.closed: nobody fills {%s}; write it under with", g))
		}
	}
	if len(family.Gaps(c.Closed)) == 0 && c.Closed != "" && c.Closed != "0" && c.Closed != "100" {
		errs = append(errs, fmt.Errorf("cover.closed: %q cannot be; write 0, or 100 where the family counts the other way", c.Closed))
	}
	if t.Switch != nil {
		errs = append(errs, errors.New("cover: stands beside switch; a device is one of the two"))
	}
	return errs
}
