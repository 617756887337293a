//go:build !unix

package watchdog

import (
	"errors"
	"runtime"

	"github.com/messkit/messkit/agent/watchdog"
)

// Start returns an error: this system has no watchdog, so messkit switches on no device that
// needs one.
func Start(string) (watchdog.Process, error) {
	return nil, errors.New("no watchdog runs on " + runtime.GOOS + "; run messkit on Linux for devices that need one")
}

// Detach does nothing: this system has no watchdog.
func Detach() {}
