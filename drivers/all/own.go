package all

import "github.com/messkit/messkit/drivers"

// own returns the driver kinds that you add to a build of your own: docs/how-to/own-driver.md.
func own() []drivers.Kind { return nil }
