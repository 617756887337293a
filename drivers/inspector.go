package drivers

import "context"

// Inspector is a device of which can be told, halted or not, whether it is there
// and free to be used, where asking it for its state would set something: a line
// of a board is an output as soon as it is held.
type Inspector interface {
	// Inspect holds and changes nothing. what says in words what was found.
	Inspect(ctx context.Context) (what string, err error)
}
