package capabilities

import (
	"github.com/messkit/messkit/mess"
)

// Definition is a capability as exchanges list it (MESS 1.0 section 8.2), and what
// else its file says of it.
type Definition struct {
	ID          string
	Description string
	Tags        []string
	Command     Command
	Classes     []string // of devices that it is for; none: all
	Risk        Risk
	Risks       map[string]Risk // where it is another for a class
	Effect      Effect
	Evidence    mess.Evidence // by which it is known, where the device can tell
	Parameters  []Parameter
}

// Parameter is one that a plan of a capability may bear.
type Parameter struct {
	Name, Type, Unit string
	Min, Max         *float64 // nil for no limit
}
