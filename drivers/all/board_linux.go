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

// board are the kinds that drive what is wired to a board.
func board() []drivers.Kind {
	return slices.Concat([]drivers.Kind{gpiocover.Kind(), gpioinput.Kind(), gpiorelay.Kind(), onewire.Kind()}, i2cdev.Kinds())
}
