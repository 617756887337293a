package httpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/messkit/messkit/mess"
)

// maxRefusal is the maximum length of an error response that the client reads, in bytes.
const maxRefusal = 64 << 10

// refusal decodes an error response.
func (c *Client) refusal(res *http.Response) error {
	var v struct {
		Error    string         `json:"error"`
		Code     mess.ErrorCode `json:"why"`
		Ref      string         `json:"ref"`
		Status   mess.Code      `json:"status"`
		Executor string         `json:"executor_id"`
		Legal    []mess.Code    `json:"legal"`
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	if err != nil {
		return err
	}
	unread := json.Unmarshal(data, &v) != nil || v.Error == ""
	if res.StatusCode == http.StatusBadRequest && (unread && bytes.Contains(data, []byte("HTTPS")) || // Go's server and nginx say so
		strings.Contains(v.Error, "this port speaks HTTPS")) { // and messkit
		return mess.Errorf(mess.Unavailable, "the server at %s speaks TLS; write https:// in its address", c.name)
	}
	if unread {
		return c.unexpectedResponse(res)
	}
	if v.Code == "" {
		v.Code = errorCodeOf(res.StatusCode)
	}
	e := &mess.Error{Code: v.Code, Text: v.Error, Ref: v.Ref, Status: v.Status, Holder: v.Executor, Allowed: v.Legal}
	if res.StatusCode >= http.StatusInternalServerError {
		e.Code = mess.Unavailable
		return classified{e, ErrUnable}
	}
	return e
}

// ErrUnable means that an exchange answered, and that it cannot do this now. The error that wraps
// it has the reason of the exchange, and the code mess.Unavailable.
var ErrUnable = errors.New("the exchange cannot do this now")

// classified is an error that also wraps a class of errors.
type classified struct {
	error
	class error
}

func (c classified) Unwrap() []error { return []error{c.error, c.class} }

// unexpectedResponse returns an error for a response that no exchange gives: from a proxy while
// the exchange starts, or from the login page of a network. Such a response does not judge the
// message, so the executor must keep its report. The error is temporary except for statuses that
// a retry cannot change.
func (c *Client) unexpectedResponse(res *http.Response) error {
	code := mess.Unavailable
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusRequestEntityTooLarge:
		code = errorCodeOf(res.StatusCode)
	}
	if to := res.Header.Get("Location"); to != "" {
		return mess.Errorf(code, "the server at %s answers %.60s and points to %.200q; if the exchange is there, give that address", c.name, res.Status, to)
	}
	return mess.Errorf(code, "the server at %s answers %.60s, which no exchange does; is this the right address?", c.name, res.Status)
}

// errorCodeOf returns the error code for an HTTP status without further details.
func errorCodeOf(code int) mess.ErrorCode {
	switch code {
	case http.StatusUnauthorized:
		return mess.Unauthorized
	case http.StatusForbidden:
		return mess.Forbidden
	case http.StatusNotFound, http.StatusGone:
		return mess.NotFound
	case http.StatusConflict:
		return mess.Conflict
	case http.StatusUnprocessableEntity:
		return mess.MissingReference
	case http.StatusRequestEntityTooLarge:
		return mess.TooLarge
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return mess.Unavailable
	}
	return mess.Invalid
}

// Unavailable reports whether a retry may succeed.
func Unavailable(err error) bool {
	r, refused := errors.AsType[*mess.Error](err)
	return !refused || r.Code == mess.Unavailable
}
