package family

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Warmth is how a family counts its whites.
type Warmth struct {
	Mired   bool     `yaml:"mired"`   // it tells mireds, and not kelvin
	Warmest string   `yaml:"warmest"` // kelvin; may hold {names}, as coldest
	Coldest string   `yaml:"coldest"`
	Mode    string   `yaml:"mode"`  // where it tells in a word what it shines in; "": nowhere
	Modes   []string `yaml:"modes"` // the words for whites
}

// mired is a million by kelvin.
const mired = 1e6

// Limits are the warmest and the coldest white, in kelvin.
func (w Warmth) Limits(v Values) (warmest, coldest float64, err error) {
	warmest, errWarm := strconv.ParseFloat(v.Text(w.Warmest), 64)
	coldest, errCold := strconv.ParseFloat(v.Text(w.Coldest), 64)
	if errors.Join(errWarm, errCold) != nil || !(warmest >= 1000 && warmest < coldest && coldest <= 20000) {
		return 0, 0, fmt.Errorf("with: whites from %q to %q K cannot be; write kelvin, the warmest below the coldest", v.Text(w.Warmest), v.Text(w.Coldest))
	}
	return warmest, coldest, nil
}

// Words are {kelvin} and {mireds}.
func (w Warmth) Words(kelvin float64) Values {
	word := func(f float64) string { return strconv.FormatFloat(math.Round(f), 'f', -1, 64) }
	return Values{"kelvin": word(kelvin), "mireds": word(mired / kelvin)}
}

// Kelvin reads a white, in an answer that holds the word for what the lamp shines in.
func (w Warmth) Kelvin(v Values, answer, found any) (float64, error) {
	if mode, ok := Pick(answer, v.Text(w.Mode)); ok && w.Mode != "" {
		if word, _ := Word(mode); !slices.Contains(w.Modes, word) {
			return 0, errors.New("it shines in a colour")
		}
	}
	n, number := Number(found)
	if !number || n <= 0 {
		return 0, errors.New("it tells no white")
	}
	if w.Mired {
		n = mired / n
	}
	return n, nil
}

// Near reports whether two whites are the same to a device that counts in mireds and
// rounds.
func Near(a, b float64) bool { return math.Abs(mired/a-mired/b) <= 3 }
