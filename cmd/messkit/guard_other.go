//go:build !unix

package main

import (
	"errors"
	"runtime"

	"github.com/messkit/messkit/agent/guard"
)

// startGuard says that there is none here, so that nothing that needs one is
// switched on.
func startGuard(string) (guard.Process, error) {
	return nil, errors.New("a guard cannot be started on " + runtime.GOOS + "; run messkit on Linux for devices that need one")
}

func beGuard() {}
