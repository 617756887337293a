package homeassistant

import (
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// notSentError is the error of a sensor without a state since the start of Home Assistant. It is
// drivers.ErrNoReadingYet.
type notSentError string

func (u notSentError) Error() string {
	return fmt.Sprintf("%s is \"unknown\" in Home Assistant: it has sent no state yet, and may sleep", string(u))
}

func (notSentError) Is(err error) bool {
	return err == drivers.ErrNoReadingYet || err == drivers.ErrNoReading
}
