package mqttdevice

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers/mqttclient"
	"github.com/messkit/messkit/drivers/template"
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
	template.PositionScale
}

// CoverState describes the topic with the word for the movement.
type CoverState struct {
	Topic string   `yaml:"topic"`
	Value string   `yaml:"value"`
	Ask   *Message `yaml:"ask"`
	template.StateWords
	Optional bool `yaml:"optional"` // some devices of the family do not send this word
}

func (c *CoverState) from() *Value { return &Value{c.Topic, c.Value, c.Ask} }

// lookEvery is the poll interval during a movement.
var lookEvery = time.Second

// cover returns the cover of the template, or nil.
func (d *device) cover() *template.Cover {
	c := d.template.Cover
	if c == nil {
		return nil
	}
	return template.Motor[Message]{
		Open: c.Open, Close: c.Close, To: c.To, Stop: c.Stop, Scale: c.PositionScale, Takes: c.Takes, Values: d.values,
		Begin: d.begin, End: d.command, Look: d.readPosition, Every: lookEvery, Timeout: 2 * d.timeout,
	}.Cover()
}

// begin sends the messages that begin a movement, unless the device is offline.
func (d *device) begin(ctx context.Context, list []Message, values template.Values) error {
	if err := d.online(ctx); err != nil {
		return err
	}
	return d.command(ctx, list, values)
}

// readPosition reads the present position from the device.
func (d *device) readPosition(ctx context.Context) (p template.CoverPosition, err error) {
	c := d.template.Cover
	var h mqttclient.Received
	if v := c.Position; v != nil {
		if h, err = d.readValue(ctx, *v); err != nil {
			return p, err
		}
		found, err := d.values.Find(v.Value, h.Payload)
		if err != nil && c.State == nil {
			return p, err
		}
		p.Percent, p.Known = c.Percent(d.values, found)
	}
	if c.State == nil {
		return p, nil
	}
	if c.Position == nil || d.values.Text(c.Position.Topic) != d.values.Text(c.State.Topic) {
		if h, err = d.readValue(ctx, *c.State.from()); err != nil {
			return p, err
		}
	}
	found, err := d.values.Find(c.State.Value, h.Payload)
	word, ok := template.ScalarText(found)
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

func (t *Template) checkCover() []error {
	c := t.Cover
	errs := t.checkMessages("cover.stop", c.Stop)
	if len(c.To) == 0 || len(c.Open)+len(c.Close) > 0 {
		errs = slices.Concat(errs, t.checkMessages("cover.open", c.Open), t.checkMessages("cover.close", c.Close))
	}
	if len(c.To) > 0 {
		errs = append(errs, t.checkMessages("cover.to", c.To, "position")...)
	}
	if c.Position != nil {
		errs = append(errs, t.checkValue("cover.position", c.Position))
	}
	var state *template.StateWords
	if c.State != nil {
		state = &c.State.StateWords
		errs = append(errs, t.checkValue("cover.state", c.State.from()))
	}
	return append(errs, template.CheckCover(template.CoverParts{To: len(c.To) > 0, Position: c.Position != nil, State: state, Scale: c.PositionScale, Switch: t.Switch != nil}, t.With)...)
}
