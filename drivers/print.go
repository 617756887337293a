package drivers

import (
	"context"
	"time"
)

// Printer prints the files that it lists in Areas. A print continues without control for
// hours: no verb waits for its end, and the end of a verb's context does not end the print.
type Printer interface {
	// Print starts to print a file, by its name in Areas, and returns when the printer
	// reports that it has begun.
	Print(ctx context.Context, file string) (Print, error)
	// PrintState returns the state of a print. It starts nothing.
	PrintState(ctx context.Context, p Print) (PrintState, error)
	// FindPrint searches for the print of a file that began at since or soon after. The print
	// may still run or may have ended. FindPrint starts nothing. It returns ErrNoPrint if the
	// printer has no such print; after any other error the caller may try again.
	FindPrint(ctx context.Context, file string, since time.Time) (Print, error)
}

// Print is one print of one file.
type Print struct {
	File  string    // name on the printer: "toys/benchy.gcode"
	Label string    // name that people know, if File is only a short name of the printer such as BENCHY~1.BGC; otherwise ""
	ID    string    // identifier on the printer; "" if it has none
	Began time.Time // approximate
}

// PrintState is the state of a print.
type PrintState struct {
	Progress
	Layer, Layers int           // finished and total; 0 if the printer does not report them
	PollInterval  time.Duration // poll interval that the driver suggests
	Paused        bool
	// Finished reports that the print has ended. Err is the reason of a failure, or nil if the
	// print succeeded.
	Finished bool
	Err      error
}

// Detacher is a device that safely continues its work after a graceful shutdown of the
// program. The program then calls Detach instead of Halt.
type Detacher interface{ Detach() error }
