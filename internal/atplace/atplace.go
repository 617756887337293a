// Package atplace is how one program on a machine asks another of the same user
// something, by the data folder that the other works in. Its sockets are on no
// disk, so that they work where none can be written.
//
// It knows neither what is asked nor what is answered.
package atplace

import (
	"encoding/json"
	"io"
	"net"
	"time"
)

// Ask sends a question over a connection, as one JSON object, and reads the answer,
// of most bytes, into a. Both are to be over within a time.
func Ask(conn net.Conn, q, a any, within time.Duration, most int64) error {
	data, err := json.Marshal(q)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(within))
	}
	if err == nil {
		_, err = conn.Write(append(data, '\n'))
	}
	if err == nil {
		err = json.NewDecoder(io.LimitReader(conn, most)).Decode(a)
	}
	return err
}

// Asked reads a question of most bytes, as it was sent. It, and the answer, are to be
// over within a time.
func Asked(conn net.Conn, within time.Duration, most int64) (q json.RawMessage, err error) {
	if err = conn.SetDeadline(time.Now().Add(within)); err == nil {
		err = json.NewDecoder(io.LimitReader(conn, most)).Decode(&q)
	}
	return q, err
}
