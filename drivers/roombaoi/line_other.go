//go:build !linux

package roombaoi

import (
	"errors"
	"os"
)

var speeds = map[int]uint32{115200: 115200, 57600: 57600, 19200: 19200}

func openLine(string, int) (*os.File, error) {
	return nil, errors.New("serial lines need Linux")
}

func wake(*os.File) {}
