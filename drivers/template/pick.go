package template

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Parse decodes a JSON answer and keeps numbers as text.
func Parse(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errors.New("the answer of the device is not JSON")
	}
	if d.More() {
		return nil, errors.New("the answer of the device is more than one JSON value")
	}
	return v, nil
}

// Lookup finds a value in JSON by its path: keys and list indexes with dots between them
// ("status.print_stats.state", "meters.0.power"). "" is the whole answer. It does not find
// null.
func Lookup(v any, path string) (any, bool) {
	for path != "" && v != nil {
		var key string
		key, path, _ = strings.Cut(path, ".")
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, v != nil
}

// Find returns the value at a path of an answer. "" is the whole answer, as text.
func (v Values) Find(path string, answer []byte) (any, error) {
	path = v.Text(path)
	answer = bytes.TrimSpace(answer)
	if path == "" {
		return string(answer), nil
	}
	parsed, err := Parse(answer)
	if err != nil {
		return nil, err
	}
	found, ok := Lookup(parsed, path)
	if !ok {
		return nil, &missingError{path}
	}
	return found, nil
}

// missingError reports that an answer has no value at a path.
type missingError struct{ path string }

func (e *missingError) Error() string { return "the device reports no " + e.path }

// ScalarText returns a scalar in the notation of templates: ON, true, 1. It returns false for
// lists and objects.
func ScalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// Number returns a number, or 1 or 0 for a truth value. It accepts numbers in strings,
// because some devices send them.
func Number(v any) (float64, bool) {
	word, ok := ScalarText(v)
	switch {
	case !ok:
		return 0, false
	case word == "true":
		return 1, true
	case word == "false":
		return 0, true
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// Level describes the words for on and off of a device.
type Level struct {
	Value string   `yaml:"value"` // path of the word in an answer; "": the whole answer is the word
	On    []string `yaml:"on"`    // words for on; default: true, on, ON
	Off   []string `yaml:"off"`   // words for off; default: false, off, OFF
}

// Read returns the level in an answer.
func (l Level) Read(v Values, data []byte) (bool, error) {
	word, err := l.word(v.Text(l.Value), data)
	if bare := strings.TrimSpace(string(data)); err != nil && (slices.Contains(l.On, bare) || slices.Contains(l.Off, bare)) {
		word, err = bare, nil // older firmware may answer with only the word
	}
	if err != nil {
		return false, err
	}
	on, off := l.words()
	switch {
	case slices.Contains(on, word):
		return true, nil
	case slices.Contains(off, word):
		return false, nil
	}
	return false, fmt.Errorf("the device reports %.40q, which is neither on nor off", word)
}

// words returns the words for on and for off.
func (l Level) words() (on, off []string) {
	on, off = l.On, l.Off
	if len(on) == 0 {
		on = []string{"true", "on", "ON"}
	}
	if len(off) == 0 {
		off = []string{"false", "off", "OFF"}
	}
	return on, off
}

func (l Level) word(path string, data []byte) (string, error) {
	if path == "" {
		return strings.TrimSpace(string(data)), nil
	}
	in, err := Parse(data)
	if err != nil {
		return "", err
	}
	found, ok := Lookup(in, path)
	word, scalar := ScalarText(found)
	if !ok || !scalar {
		return "", fmt.Errorf("the answer of the device has no %s", path)
	}
	return word, nil
}

// Timer describes the timer of a device: {for} in a template.
type Timer struct {
	Unit time.Duration `yaml:"unit"` // unit of {for}
	Min  time.Duration `yaml:"min"`  // shortest time; the driver sets it instead of a shorter one
	Max  time.Duration `yaml:"max"`  // longest time; the driver does not set the timer for a longer one
	Plus int           `yaml:"plus"` // offset added to {for}, as Tasmota needs it
	Fine struct {
		Unit time.Duration `yaml:"unit"` // unit of {for} without plus, up to max; 0: none
		Max  time.Duration `yaml:"max"`
	} `yaml:"fine"` // scale for short times, if it differs
}

// Validate returns all errors in the description.
func (t Timer) Validate() error {
	var errs []error
	if t.Unit <= 0 {
		errs = append(errs, errors.New("unit: is missing; write the unit of the timer, like 1s"))
	}
	if t.Min < 0 {
		errs = append(errs, fmt.Errorf("min: %v is less than 0", t.Min))
	}
	if t.Max <= 0 || t.Max < t.Min {
		errs = append(errs, errors.New("max: is missing or less than min; write the longest time of the timer"))
	}
	if f := t.Fine; f.Unit < 0 || f.Max < f.Unit || f.Unit == 0 && f.Max > 0 {
		errs = append(errs, errors.New("fine: needs unit and max: the unit of {for} for short times, and the longest of them"))
	}
	return errors.Join(errs...)
}

// For returns {for} for a time, rounded up, because the timer of the device is only a
// fallback. ok is false if the timer cannot run that long.
func (t Timer) For(limit time.Duration) (value string, ok bool) {
	n, _, plus := t.count(limit)
	if n == 0 {
		return "", false
	}
	return strconv.FormatInt(n+int64(plus), 10), true
}

// Lasts returns how long the timer runs for a time, or 0 if it cannot run that long.
func (t Timer) Lasts(limit time.Duration) time.Duration {
	n, unit, _ := t.count(limit)
	return time.Duration(n) * unit
}

// count returns the number of timer units for a time, or 0 if the timer cannot run that
// long.
func (t Timer) count(limit time.Duration) (n int64, unit time.Duration, plus int) {
	up := func(d, unit time.Duration) int64 { return int64(max(1, (d+unit-1)/unit)) }
	switch {
	case limit > t.Max:
		return 0, t.Unit, 0
	case t.Fine.Unit > 0 && limit <= t.Fine.Max:
		return up(limit, t.Fine.Unit), t.Fine.Unit, 0
	}
	return up(max(limit, t.Min), t.Unit), t.Unit, t.Plus
}

// TimedOn turns a device on with its own timer. A nil TimedOn is a device without a timer.
type TimedOn struct {
	Timer  Timer
	Stays  bool                                           // the device keeps the setting of the timer until the driver removes it
	Set    func(ctx context.Context, values Values) error // turns the device on with the timer {for}
	Switch func(ctx context.Context, on bool) error       // turns the device on without the timer
	Log    *slog.Logger
	isSet  atomic.Bool
}

// SwitchFor turns the device on, with its timer if the timer can run for limit.
func (t *TimedOn) SwitchFor(ctx context.Context, limit time.Duration) error {
	value, ok := t.Timer.For(limit)
	if !ok {
		t.Log.Debug("limit exceeds the longest time of the device's timer", "limit", limit)
		return t.Switch(ctx, true)
	}
	err := t.Set(ctx, Values{"for": value})
	if !errors.Is(err, drivers.ErrNothingDone) {
		t.MarkSet()
	}
	return err
}

// MarkSet records that the timer is set, if the device keeps the setting.
func (t *TimedOn) MarkSet() {
	if t.Stays {
		t.isSet.Store(true)
	}
}

// IsSet reports whether the device still has the setting of the timer.
func (t *TimedOn) IsSet() bool { return t != nil && t.isSet.Load() }

// MarkRemoved records that the device no longer has the setting of the timer.
func (t *TimedOn) MarkRemoved() {
	if t != nil {
		t.isSet.Store(false)
	}
}
