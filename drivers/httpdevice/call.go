package httpdevice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/drivers/template"
)

// holds returns the command of the device, which no second device may share: the safety
// limits of the first would not apply to it.
func (d *device) holds() []drivers.Resource {
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
	values := d.values.Same(d.template.With).With(template.Values{"username": "", "password": ""})
	same := drivers.URLIdentity(d.url)
	for _, c := range calls {
		method, path := c.method()
		body, _ := json.Marshal(values.JSON(c.JSON)) // cannot fail, because the value comes from YAML
		same += fmt.Sprintf("\n%s %s %s", method, values.URL(path), body)
	}
	return []drivers.Resource{{Key: "url", Label: "the command address at " + d.web.Host(), Identity: same}}
}

// act sends calls that change the device, and returns an error if the device never answered
// an earlier command.
func (d *device) act(ctx context.Context, calls []Call, values template.Values) error {
	if err := d.do(ctx, calls, values); err != nil {
		return err
	}
	return d.web.Unanswered(ctx)
}

// do sends calls in order until one fails.
func (d *device) do(ctx context.Context, calls []Call, values template.Values) error {
	for i, c := range calls {
		if _, err := d.call(ctx, c, values, true); err != nil {
			if i > 0 && errors.Is(err, drivers.ErrNothingDone) {
				return fmt.Errorf("after %d of %d calls: %v", i, len(calls), err) // no %w, because earlier calls have changed the device
			}
			return err
		}
	}
	return nil
}

// ask sends one call that changes nothing.
func (d *device) ask(ctx context.Context, c Call, values template.Values) ([]byte, error) {
	return d.call(ctx, c, values, false)
}

// call sends one call, and checks its answer.
func (d *device) call(ctx context.Context, c Call, values template.Values, acts bool) ([]byte, error) {
	method, path := c.method()
	call := httpclient.Call{Method: method, Path: values.URL(path), Accept: "application/json", Acts: acts}
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
		if err := checkAnswer(answer.Body, d.values.Text(d.template.Fault)); err != nil {
			return nil, err
		}
	}
	return answer.Body, expect(c.Expect, values.With(template.Values{"password": ""}), answer.Body) // an error may contain the answer
}

// checkAnswer returns an error if the answer is not JSON or contains the fault field of the
// template.
func checkAnswer(body []byte, fault string) error {
	answer, err := template.Parse(body)
	if err != nil {
		return err
	}
	if found, ok := template.Lookup(answer, fault); ok {
		return fmt.Errorf("the device reports a fault, with %s %.40v", fault, found)
	}
	return nil
}

func expect(want map[string]string, values template.Values, body []byte) error {
	if len(want) == 0 {
		return nil
	}
	answer, err := template.Parse(body)
	if err != nil {
		return err
	}
	for _, where := range slices.Sorted(maps.Keys(want)) {
		path, wanted := values.Text(where), values.Text(want[where])
		found, _ := template.Lookup(answer, path)
		word, ok := template.ScalarText(found)
		switch {
		case !ok:
			return fmt.Errorf("the answer of the device has no %s; check the family of the device, and the number", path)
		case wanted != "" && word != wanted: // "": any value
			return fmt.Errorf("the command was %s = %s, but the device answers %.40q", path, wanted, word)
		}
	}
	return nil
}
