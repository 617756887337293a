package gpiorelay

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/board"
)

// shownLines is the largest number of free lines that Find lists for a chip.
const shownLines = 40

// Find returns the GPIO chips of a host with their free lines. It returns no configuration,
// because it cannot know the devices on the lines.
func Find(k board.Chips) []drivers.FoundDevice {
	chips, err := k.List()
	if err != nil {
		return nil // the host has no chips, or messkit has no permission
	}
	var list []drivers.FoundDevice
	for _, c := range chips {
		where := fmt.Sprintf("%s (%s): %d lines", c.Name, c.Label, c.Lines)
		if free := free(k, c); len(free) > 0 {
			where += "; free, for the key line: of the drivers gpiorelay and gpioinput: " + strings.Join(free, " ")
		}
		list = append(list, drivers.FoundDevice{Name: c.Name, Where: where})
	}
	return list
}

// free returns the names of the lines of a chip that have no consumer.
func free(k board.Chips, c board.Chip) []string {
	var names []string
	for n := 0; n < c.Lines && len(names) < shownLines; n++ {
		if i, err := k.Info(c.Name, n); err == nil && !i.Used && i.Name != "" && i.Name != "-" {
			names = append(names, i.Name)
		}
	}
	return names
}
