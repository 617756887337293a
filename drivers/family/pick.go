package family

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse reads an answer in JSON, with numbers as they are written.
func Parse(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errors.New("its answer is no JSON")
	}
	if d.More() {
		return nil, errors.New("its answer is more than one JSON value")
	}
	return v, nil
}

// Pick finds a value in JSON: keys and places in lists, with dots between them
// ("status.print_stats.state", "meters.0.power"). "" is the whole. What is not
// there, or null, is not found.
func Pick(v any, path string) (any, bool) {
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

// Word is a scalar as a template writes it: ON, true, 1. Lists and objects have
// none.
func Word(v any) (string, bool) {
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

// Number reads a number, or a truth value as 1 or 0. Some devices write numbers
// as texts.
func Number(v any) (float64, bool) {
	word, ok := Word(v)
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

// Level tells on from off by a device's word.
type Level struct {
	Value string   `yaml:"value"` // where the word is in an answer; "": it is the whole answer, as text
	On    []string `yaml:"on"`    // words for on; none: true, on, ON
	Off   []string `yaml:"off"`   // words for off; none: false, off, OFF
}

// Read reads an answer.
func (l Level) Read(v Values, data []byte) (bool, error) {
	word, err := l.word(v.Text(l.Value), data)
	if bare := strings.TrimSpace(string(data)); err != nil && (slices.Contains(l.On, bare) || slices.Contains(l.Off, bare)) {
		word, err = bare, nil // older versions of a device may say the word alone
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
	return false, fmt.Errorf("it says %.40q, which is neither on nor off", word)
}

// words are those for on and those for off.
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
	found, ok := Pick(in, path)
	word, scalar := Word(found)
	if !ok || !scalar {
		return "", fmt.Errorf("its answer has no %s", path)
	}
	return word, nil
}

// Timer is a timer that the device has itself: {for} in a template.
type Timer struct {
	Unit time.Duration `yaml:"unit"` // of {for}
	Min  time.Duration `yaml:"min"`  // the shortest; for less it is set to that
	Max  time.Duration `yaml:"max"`  // the longest; for more it is not set
	Plus int           `yaml:"plus"` // added to {for}, as Tasmota wants it
	Fine struct {
		Unit time.Duration `yaml:"unit"` // of {for}, without plus, up to max; 0: there is none
		Max  time.Duration `yaml:"max"`
	} `yaml:"fine"` // for short times, where these count otherwise
}

// Validate tells what cannot be.
func (t Timer) Validate() error {
	var errs []error
	if t.Unit <= 0 {
		errs = append(errs, errors.New("unit: is missing; write what the timer counts, like 1s"))
	}
	if t.Min < 0 {
		errs = append(errs, fmt.Errorf("min: %v is less than 0", t.Min))
	}
	if t.Max <= 0 || t.Max < t.Min {
		errs = append(errs, errors.New("max: is missing or less than min; write the longest time that the device takes"))
	}
	if f := t.Fine; f.Unit < 0 || f.Max < f.Unit || f.Unit == 0 && f.Max > 0 {
		errs = append(errs, errors.New("fine: needs unit and max: what {for} counts for short times, and the longest of them"))
	}
	return errors.Join(errs...)
}

// For is {for} for a time; ok is false where the device's timer cannot be so
// long. It is rounded up: the device's own timer is for when nobody else
// switches off.
func (t Timer) For(limit time.Duration) (value string, ok bool) {
	n, _, plus := t.count(limit)
	if n == 0 {
		return "", false
	}
	return strconv.FormatInt(n+int64(plus), 10), true
}

// Lasts is how long the timer runs for a time, 0 where it cannot be so long.
func (t Timer) Lasts(limit time.Duration) time.Duration {
	n, unit, _ := t.count(limit)
	return time.Duration(n) * unit
}

// count is how many units the timer counts for a time, 0 where it cannot be so long.
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
