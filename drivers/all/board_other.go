//go:build !linux

package all

import "github.com/messkit/messkit/drivers"

// board returns the kinds for devices on the lines and buses of a board.
func board() []drivers.Kind { return onLinux() }
