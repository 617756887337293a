package all

import (
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/gpiocover"
	"github.com/messkit/messkit/drivers/gpioinput"
	"github.com/messkit/messkit/drivers/gpiorelay"
	"github.com/messkit/messkit/drivers/i2cdev"
	"github.com/messkit/messkit/drivers/onewire"
)

// board returns the kinds for devices on the lines and buses of a board.
func board() []drivers.Kind {
	return slices.Concat([]drivers.Kind{gpiocover.Kind(), gpioinput.Kind(), gpiorelay.Kind(), onewire.Kind()}, i2cdev.Kinds())
}
