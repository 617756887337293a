package gpiorelay

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/board"
)

// shownLines are as many of a chip's free lines as are told.
const shownLines = 40

// Find tells the chips of a machine and which of their lines nobody holds. What
// hangs on a line nobody can tell, so that there is nothing to configure.
func Find(k board.Chips) []drivers.Found {
	chips, err := k.List()
	if err != nil {
		return nil // there are none, or they are not for us
	}
	var list []drivers.Found
	for _, c := range chips {
		where := fmt.Sprintf("%s (%s): %d lines", c.Name, c.Label, c.Lines)
		if free := free(k, c); len(free) > 0 {
			where += "; free, to be written as line: with driver gpiorelay or gpioinput: " + strings.Join(free, " ")
		}
		list = append(list, drivers.Found{Name: c.Name, Where: where})
	}
	return list
}

// free are the lines of a chip that have a name and no holder.
func free(k board.Chips, c board.Chip) []string {
	var names []string
	for n := 0; n < c.Lines && len(names) < shownLines; n++ {
		if i, err := k.Info(c.Name, n); err == nil && !i.Used && i.Name != "" && i.Name != "-" {
			names = append(names, i.Name)
		}
	}
	return names
}
