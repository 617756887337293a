package httpdevice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/web"
)

// holds is what the device is told to do something, which no second device can be told:
// its limits would not be those of the first.
func (d *device) holds() []drivers.Hold {
	var calls []Call
	switch t := d.template; {
	case t.Switch != nil:
		calls = t.Switch.On
	case t.Cover != nil && len(t.Cover.Open) > 0:
		calls = t.Cover.Open
	case t.Cover != nil:
		calls = t.Cover.To
	default:
		return nil
	}
	values := d.values.Same(d.template.With).With(family.Values{"username": "", "password": ""})
	same := drivers.SameURL(d.url)
	for _, c := range calls {
		method, path := c.method()
		body, _ := json.Marshal(values.JSON(c.JSON)) // it has been read from YAML
		same += fmt.Sprintf("\n%s %s %s", method, values.URL(path), body)
	}
	return []drivers.Hold{{Key: "url", What: "what is switched or moved at " + d.web.Host(), Same: same}}
}

// act makes calls that switch it, and says so where it never answered what it was told
// before.
func (d *device) act(ctx context.Context, calls []Call, values family.Values) error {
	if err := d.do(ctx, calls, values); err != nil {
		return err
	}
	return d.web.Unanswered(ctx)
}

// do makes calls, one after the other, until one fails.
func (d *device) do(ctx context.Context, calls []Call, values family.Values) error {
	for i, c := range calls {
		if _, err := d.call(ctx, c, values, true); err != nil {
			if i > 0 && errors.Is(err, drivers.ErrNothingDone) {
				return fmt.Errorf("after %d of %d calls: %v", i, len(calls), err) // not wrapped: something was done
			}
			return err
		}
	}
	return nil
}

// ask makes one call that changes nothing.
func (d *device) ask(ctx context.Context, c Call, values family.Values) ([]byte, error) {
	return d.call(ctx, c, values, false)
}

// call makes one call, and holds its answer to what is expected of it.
func (d *device) call(ctx context.Context, c Call, values family.Values, acts bool) ([]byte, error) {
	method, path := c.method()
	call := web.Call{Method: method, Path: values.URL(path), Accept: "application/json", Acts: acts}
	if c.JSON != nil {
		body, err := json.Marshal(values.JSON(c.JSON))
		if err != nil {
			return nil, err
		}
		call.Body, call.Type = body, "application/json"
	}
	answer, err := d.web.Do(ctx, call)
	if err != nil {
		return nil, err
	}
	if acts && d.template.Fault != "" {
		if err := obeys(answer.Body, d.values.Text(d.template.Fault)); err != nil {
			return nil, err
		}
	}
	return answer.Body, expect(c.Expect, values.With(family.Values{"password": ""}), answer.Body) // what it says may be told
}

// obeys reports an answer that is none of the family's, or tells of a fault.
func obeys(body []byte, fault string) error {
	answer, err := family.Parse(body)
	if err != nil {
		return err
	}
	if found, ok := family.Pick(answer, fault); ok {
		return fmt.Errorf("it answers that it did not, with %s %.40v", fault, found)
	}
	return nil
}

func expect(want map[string]string, values family.Values, body []byte) error {
	if len(want) == 0 {
		return nil
	}
	answer, err := family.Parse(body)
	if err != nil {
		return err
	}
	for _, where := range slices.Sorted(maps.Keys(want)) {
		place, wanted := values.Text(where), values.Text(want[where])
		found, _ := family.Pick(answer, place)
		word, ok := family.Word(found)
		switch {
		case !ok:
			return fmt.Errorf("its answer has no %s; is the device of this family, and the number right?", place)
		case wanted != "" && word != wanted: // "": whatever it is
			return fmt.Errorf("it was told %s = %s, and answers %.40q", place, wanted, word)
		}
	}
	return nil
}
