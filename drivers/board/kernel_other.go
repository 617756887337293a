//go:build !linux

package board

import "errors"

// Kernel has GPIO chips on Linux alone.
type Kernel struct{}

var _ Chips = Kernel{}

var errLinux = errors.New("GPIO lines need Linux")

// List fails.
func (Kernel) List() ([]Chip, error) { return nil, errLinux }

// Info fails.
func (Kernel) Info(string, int) (Info, error) { return Info{}, errLinux }

// Request fails.
func (Kernel) Request(string, int, Request) (Held, error) { return nil, errLinux }

// Borrow fails.
func (Kernel) Borrow(string, int, string) (Held, error) { return nil, errLinux }
