package template

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Warmth describes the color temperature scale of a template.
type Warmth struct {
	Mired   bool     `yaml:"mired"`   // the device uses mireds, not kelvin
	Warmest string   `yaml:"warmest"` // kelvin; may contain {names}, like coldest
	Coldest string   `yaml:"coldest"`
	Mode    string   `yaml:"mode"`  // path of the word for the color mode in an answer; "": none
	Modes   []string `yaml:"modes"` // words for the white modes
}

// mired converts: kelvin = mired / mireds.
const mired = 1e6

// Limits returns the warmest and the coldest white in kelvin.
func (w Warmth) Limits(v Values) (warmest, coldest float64, err error) {
	warmest, errWarm := strconv.ParseFloat(v.Text(w.Warmest), 64)
	coldest, errCold := strconv.ParseFloat(v.Text(w.Coldest), 64)
	if errors.Join(errWarm, errCold) != nil || !(warmest >= 1000 && warmest < coldest && coldest <= 20000) {
		return 0, 0, fmt.Errorf("with: the range from %q to %q K is invalid; write kelvin, the warmest below the coldest", v.Text(w.Warmest), v.Text(w.Coldest))
	}
	return warmest, coldest, nil
}

// Words returns the values of {kelvin} and {mireds}.
func (w Warmth) Words(kelvin float64) Values {
	word := func(f float64) string { return strconv.FormatFloat(math.Round(f), 'f', -1, 64) }
	return Values{"kelvin": word(kelvin), "mireds": word(mired / kelvin)}
}

// Kelvin returns the color temperature of an answer. It returns an error if the color mode
// of the answer is not white.
func (w Warmth) Kelvin(v Values, answer, found any) (float64, error) {
	if mode, ok := Lookup(answer, v.Text(w.Mode)); ok && w.Mode != "" {
		if word, _ := ScalarText(mode); !slices.Contains(w.Modes, word) {
			return 0, errors.New("the lamp shows a color")
		}
	}
	n, number := Number(found)
	if !number || n <= 0 {
		return 0, errors.New("the lamp does not report a color temperature")
	}
	if w.Mired {
		n = mired / n
	}
	return n, nil
}

// IsNearKelvin reports whether two color temperatures are equal for a device that rounds to
// mireds.
func IsNearKelvin(a, b float64) bool { return math.Abs(mired/a-mired/b) <= 3 }
