package homeassistant

import (
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// untold is the entity of a sensor that has told nothing since Home Assistant
// started. It is drivers.ErrSilent.
type untold string

func (u untold) Error() string {
	return fmt.Sprintf("%s is \"unknown\" in Home Assistant: it has told nothing yet, and may sleep", string(u))
}

func (untold) Is(err error) bool { return err == drivers.ErrSilent || err == drivers.ErrNoReading }
