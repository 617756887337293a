package all

import "github.com/messkit/messkit/drivers"

// own are the kinds of drivers that you add to a build of your own:
// docs/own-driver.md.
func own() []drivers.Kind { return nil }
