package capabilities

import (
	"fmt"

	"github.com/messkit/messkit/mess"
)

// Definition is a capability as exchanges list it (MESS 1.0 section 8.2), with the other
// keys of its file.
type Definition struct {
	ID          string
	Description string
	Tags        []string
	Command     Command
	Classes     []string // of devices that have it; none: all
	Risk        Risk
	Risks       map[string]Risk // of the classes with another risk
	Effect      Effect
	Evidence    mess.Evidence // of its effect, if the device can report it
	Parameters  []Parameter
}

// Parameter is a parameter of a capability that a plan may set.
type Parameter struct {
	Name string   `yaml:"name"`
	Type string   `yaml:"type"` // number or text
	Unit string   `yaml:"unit"`
	Min  *float64 `yaml:"min"` // nil for no limit
	Max  *float64 `yaml:"max"`
}

// RangeError returns why the parameter cannot have the value, or "" if it can.
func (p Parameter) RangeError(value any) string {
	n, number := value.(float64)
	_, text := value.(string)
	switch {
	case p.Type == "text" && text || p.Type == "number" && number && (p.Min == nil || n >= *p.Min) && (p.Max == nil || n <= *p.Max):
		return ""
	case p.Min != nil && p.Max != nil:
		return fmt.Sprintf("%s is %v, and may be %v to %v %s", p.Name, value, *p.Min, *p.Max, p.Unit)
	}
	return fmt.Sprintf("%s is %v, which is no %s", p.Name, value, p.Type)
}
