//go:build !linux

package all

import "github.com/messkit/messkit/drivers"

// board are the kinds that drive what is wired to a board.
func board() []drivers.Kind { return onLinux() }
