package client

import (
	"errors"
	"fmt"

	"github.com/messkit/messkit/agent/selftest"
)

// Unasked returns the remedy for a messkit that runs and does not answer.
func Unasked(err error, data string) string {
	if errors.Is(err, selftest.ErrRejected) {
		return fmt.Sprintf("%v: say it as that user, or with sudo", err)
	}
	return fmt.Sprintf("it does not answer for %s (%v): start it again if it is an older version, or end it to have them used", data, err)
}
