package drivers

import (
	"context"
	"time"
)

// Printer prints files that lie on it: its Areas. A print goes on by itself for
// hours; no verb waits for its end, and the end of a verb's context ends no print.
type Printer interface {
	// Print starts the print of a file by its name among the Areas, and returns when
	// the printer says that it has begun.
	Print(ctx context.Context, file string) (Print, error)
	// Printing tells how a print stands. It starts nothing.
	Printing(ctx context.Context, p Print) (PrintState, error)
	// Find looks for the print of a file that was begun at since or soon after that:
	// one that runs, or has ended. It starts nothing. The error is
	// ErrNoPrint where none is known to be it; with any other one may look again.
	Find(ctx context.Context, file string, since time.Time) (Print, error)
}

// Print is one print of one file.
type Print struct {
	File  string    // as the printer has it: "toys/benchy.gcode"
	Label string    // the file as people know it, where File is only the printer's name of it: BENCHY~1.BGC; "" where it is not
	ID    string    // as the printer has it; "" where it has none
	Began time.Time // about
}

// PrintState is how a print stands.
type PrintState struct {
	Progress
	Layer, Layers int           // done, and in all; 0 where the printer does not say
	Every         time.Duration // between two looks, as its driver would have it
	Paused        bool
	// Over is its end. Err is why it has not come out whole, nil if it has.
	Over bool
	Err  error
}

// Leaver is a device that goes on with what it is at, and safely, when the program
// ends in order. Leave is called then instead of Halt.
type Leaver interface{ Leave() error }
