// Package all contains the list of all driver kinds. No other package knows every driver.
package all

import (
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/exec"
	"github.com/messkit/messkit/drivers/httpcam"
	"github.com/messkit/messkit/drivers/roombaoi"
	"github.com/messkit/messkit/drivers/rpicam"
	"github.com/messkit/messkit/drivers/sim"
	"github.com/messkit/messkit/drivers/v4l2cam"
)

// Kinds returns every kind of driver, with one line for each package.
func Kinds() []drivers.Kind {
	return slices.Concat(
		[]drivers.Kind{
			httpcam.Kind(),
			roombaoi.Kind(),
			rpicam.Kind(),
			v4l2cam.Kind(),
		},
		board(),
		exec.Kinds(),
		network(),
		sim.Kinds(),
		own(),
	)
}
