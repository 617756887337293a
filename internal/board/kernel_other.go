//go:build !linux

package board

import "errors"

// Kernel is a stub: only Linux has GPIO chips.
type Kernel struct{}

var _ Chips = Kernel{}

var errLinux = errors.New("GPIO lines need Linux")

// List returns an error.
func (Kernel) List() ([]Chip, error) { return nil, errLinux }

// Info returns an error.
func (Kernel) Info(string, int) (Info, error) { return Info{}, errLinux }

// Request returns an error.
func (Kernel) Request(string, int, Request) (RequestedLine, error) { return nil, errLinux }

// Borrow returns an error.
func (Kernel) Borrow(string, int, string) (RequestedLine, error) { return nil, errLinux }
