package template

import "context"

// Setting is a value of a device that the driver can set and read back.
type Setting struct {
	// Set sends the command, filled with values. It returns when the device has confirmed
	// the value, as far as the transport knows.
	Set  func(ctx context.Context, values Values, want Want) error
	Read func(context.Context) ([]byte, error) // requests the present answer
	Path string                                // path of the value in the answer; "": the whole answer
}

// Want is the value that the device must report after a command.
type Want struct {
	Text string // the value for people
	// Is compares an answer with the value. It returns the reported value for people.
	Is func(answer []byte) (is bool, found string, err error)
}
