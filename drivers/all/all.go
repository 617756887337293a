// Package all is the one list of driver kinds. It knows every driver, and
// nothing else does.
package all

import "github.com/messkit/messkit/drivers"

// Kinds returns every kind of driver, one line each.
func Kinds() []drivers.Kind {
	return []drivers.Kind{}
}
