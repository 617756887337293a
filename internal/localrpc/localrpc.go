// Package localrpc connects two programs of one user on one host. The data folder of the answering
// program identifies the socket. The sockets need no disk space, so they work on a full disk.
//
// It does not know the questions and answers.
package localrpc

import (
	"encoding/json"
	"io"
	"net"
	"time"
)

// Ask sends a question over a connection, as one JSON object, and reads the answer into a. most
// is the largest size of the answer, in bytes. Ask fails if both take longer than within.
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

// Asked reads a question. most is its largest size, in bytes. The deadline within also covers the
// answer.
func Asked(conn net.Conn, within time.Duration, most int64) (q json.RawMessage, err error) {
	if err = conn.SetDeadline(time.Now().Add(within)); err == nil {
		err = json.NewDecoder(io.LimitReader(conn, most)).Decode(&q)
	}
	return q, err
}
