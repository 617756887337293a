// Package logformat is the format of the log of an exchange on the disk: its records, and the blocks of
// the log of ended threads. It reads and writes no file.
package logformat

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Format is the format of the log. A release writes its number into each log, so that an earlier
// release does not change a log that it cannot read in full:
//
//	1, or none: the first format
//	2: changes have numbers, and threads can have keys of their own
//	3: threads that have ended are in a log of their own
const Format = 3

// formatText is the text in the error of a release that knows the first format only: the text is
// in place of a time.
const formatText = "this folder was last used by a newer messkit; install that one again, or give this one another folder"

// EncodeFormat returns the record with the format.
func EncodeFormat(n int) []byte {
	return fmt.Appendf(nil, `{"format":%d,"thread":{"updated":%s}}`, n, strconv.Quote(formatText))
}

// FormatOf reads the format from a record. It returns false for any other record.
func FormatOf(data []byte) (int, bool) {
	var r struct {
		Format int `json:"format"`
	}
	if len(data) < 10 || string(data[:10]) != `{"format":` || json.Unmarshal(data, &r) != nil {
		return 0, false
	}
	return r.Format, true
}

// TooNew returns an error for a log of a later format.
func TooNew(n int) error {
	if n <= Format {
		return nil
	}
	return fmt.Errorf("the exchange's log has format %d, and this messkit knows %d; install the newer messkit that has written it, or use another folder", n, Format)
}
