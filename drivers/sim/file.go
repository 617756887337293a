package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers/sim/scene"
	"github.com/messkit/messkit/internal/durable"
)

// file is the name of a file that is a line of the home: what a wire is to a
// relay. Whoever switches it appends when, on or off, its process and its name;
// the last of these is how the line is. So it is on or off whatever becomes of
// a program, and its own witness of who has switched it:
//
//	2026-11-21T09:44:50.123456789Z on 4711 porch-light
type file string

// longestNote is the size limit for one entry in bytes.
const longestNote = 256

// set switches the line.
func (f file) set(by string, on bool, at time.Time) (err error) {
	w, err := durable.Open(string(f), os.O_APPEND|os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	_, err = fmt.Fprintf(w, "%s %s %d %.128q\n", at.UTC().Format(time.RFC3339Nano), scene.OnOff(on), os.Getpid(), by)
	return err
}

// on reads the line. A line without an entry is off.
func (f file) on() (_ bool, err error) {
	r, err := durable.Open(string(f), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	end, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	tail := make([]byte, min(end, 2*longestNote))
	if _, err := r.ReadAt(tail, end-int64(len(tail))); err != nil {
		return false, err
	}
	return lastLevel(string(tail)), nil
}

// lastLevel returns the state after the last complete entry of a file.
func lastLevel(notes string) bool {
	notes = notes[:strings.LastIndexByte(notes, '\n')+1]
	all := strings.Split(notes, "\n")
	for i := len(all) - 1; i >= 0; i-- {
		if words := strings.Fields(all[i]); len(words) > 2 {
			return words[1] == "on"
		}
	}
	return false
}
