package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/mess"
)

// httpError is an error with an HTTP status.
type httpError struct {
	code int
	text string
}

func (e *httpError) Error() string { return e.text }

var errNoPath = &httpError{http.StatusNotFound, "there is nothing at this path"}

// codes maps reasons to HTTP statuses.
var codes = map[mess.ErrorCode]int{
	mess.Invalid: http.StatusBadRequest, mess.Unauthorized: http.StatusUnauthorized, mess.Forbidden: http.StatusForbidden,
	mess.NotFound: http.StatusNotFound, mess.MissingReference: http.StatusUnprocessableEntity, mess.AlreadyClaimed: http.StatusConflict, mess.StaleToken: http.StatusConflict,
	mess.IllegalTransition: http.StatusConflict, mess.Unconfirmed: http.StatusConflict, mess.Conflict: http.StatusConflict,
	mess.NotYet: http.StatusConflict, mess.TooLarge: http.StatusRequestEntityTooLarge,
	mess.Unavailable: http.StatusServiceUnavailable,
}

// retryUnavailable is the Retry-After of what the exchange cannot do now, in seconds.
const retryUnavailable = "1"

// errorBody is the body of an error.
type errorBody struct {
	Error    string         `json:"error"`
	Code     mess.ErrorCode `json:"why,omitempty"`
	Ref      string         `json:"ref,omitempty"`
	Status   mess.Code      `json:"status,omitempty"`
	Executor string         `json:"executor_id,omitempty"`
	Legal    []mess.Code    `json:"legal,omitempty"`
}

// writeError answers with an error in JSON.
func (c *call) writeError(err error) {
	if r, ok := errors.AsType[*mess.Error](err); ok {
		code, ok := codes[r.Code]
		if !ok {
			code = http.StatusBadRequest
		}
		switch code {
		case http.StatusUnauthorized:
			c.w.Header().Set("WWW-Authenticate", "Bearer")
		case http.StatusServiceUnavailable:
			c.w.Header().Set("Retry-After", retryUnavailable)
		}
		c.logDenied(code, r.Text)
		c.writeJSON(code, errorBody{r.Text, r.Code, r.Ref, r.Status, r.Holder, r.Allowed})
		return
	}
	if h, ok := errors.AsType[*httpError](err); ok {
		c.logDenied(h.code, h.text)
		c.writeJSON(h.code, errorBody{Error: h.text})
		return
	}
	if _, ok := errors.AsType[mess.Problems](err); ok {
		c.writeJSON(http.StatusBadRequest, errorBody{Error: err.Error(), Code: mess.Invalid})
		return
	}
	if c.r.Context().Err() == nil { // the client is still connected
		c.log().Warn("request failed", "path", c.r.URL.Path, "err", err)
	}
	c.writeJSON(http.StatusServiceUnavailable, errorBody{Error: "the exchange cannot do this now; try again", Code: mess.Unavailable})
}

// writeJSON answers with a value.
func (c *transport) writeJSON(code int, v any) {
	p := newJSONWriter()
	if err := p.Encode(v); err != nil {
		c.log().Error("encoding a response failed", "path", c.r.URL.Path, "err", err)
		code = http.StatusInternalServerError
		p.Reset()
		p.WriteString(`{"error":"internal error of the exchange; see its log"}`)
	}
	c.writeBody(code, jsonType, p.Bytes())
}

// gzipFrom is the least size to compress, in bytes.
const gzipFrom = 1 << 10

// writeBody answers with bytes. A client that has them gets 304, and one that accepts gzip gets
// them compressed.
func (c *transport) writeBody(code int, mimeType string, data []byte) {
	h := c.w.Header()
	h["Content-Type"] = []string{mimeType}
	if code == http.StatusOK && (c.r.Method == http.MethodGet || c.r.Method == http.MethodHead) {
		sum := sha256.Sum256(data)
		tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
		h.Set("ETag", tag)
		if matchesETag(c.r.Header.Get("If-None-Match"), tag) {
			c.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if len(data) >= gzipFrom && acceptsGzip(c.r.Header.Get("Accept-Encoding")) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(data)
		if errors.Join(err, z.Close()) == nil {
			h.Set("Content-Encoding", "gzip")
			data = b.Bytes()
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(data))} // a long body would go out in chunks otherwise
	c.w.WriteHeader(code)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(data) // the client has disconnected if it fails
	}
}

// acceptsGzip reports whether Accept-Encoding asks for gzip (RFC 9110 section
// 12.5.3).
func acceptsGzip(header string) bool {
	for one := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

// matchesETag reports whether If-None-Match names the tag (weakly, RFC 9110 section
// 13.1.2).
func matchesETag(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// formType is the content type that curl -d sends for everything. No path takes a form.
const formType = "application/x-www-form-urlencoded"

// readBody reads a body in JSON, which is the default, or YAML.
func (c *requestBody) readBody() (data []byte, yaml bool, err error) {
	defer func() { c.yaml = yaml }()
	if header := c.r.Header.Get("Content-Type"); header != "" {
		t, _, err := mime.ParseMediaType(header)
		switch {
		case err != nil:
			return nil, false, &httpError{http.StatusUnsupportedMediaType, "the content type is invalid; send application/json or application/yaml"}
		case t == "application/yaml" || t == "application/x-yaml" || t == "text/yaml" || t == "text/x-yaml":
			yaml = true
		case t != "application/json" && t != "text/json" && t != formType:
			return nil, false, &httpError{http.StatusUnsupportedMediaType, "the content type " + t + " is unknown; send application/json or application/yaml"}
		}
	}
	if err := c.checkEncoding(); err != nil {
		return nil, false, err
	}
	if err := c.checkLength(c.cfg.MaxBody); err != nil {
		return nil, false, err
	}
	data, err = io.ReadAll(c.r.Body)
	if err != nil {
		return nil, false, c.bodyError(err)
	}
	return data, yaml, nil
}

// checkEncoding rejects a compressed body.
func (c *requestBody) checkEncoding() error {
	packed := strings.TrimSpace(c.r.Header.Get("Content-Encoding"))
	if packed == "" || strings.EqualFold(packed, "identity") {
		return nil
	}
	return &httpError{http.StatusUnsupportedMediaType, "the content encoding " + packed + " is unknown; send the body uncompressed"}
}

// bodyError returns the error for a body that the server cannot read.
func (c *requestBody) bodyError(err error) error {
	if m, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return c.tooLarge(m.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &httpError{http.StatusRequestTimeout, "the body does not come; send it without long pauses"}
	}
	return &httpError{http.StatusBadRequest, "the body ends too early"}
}

// checkLength rejects a body with a Content-Length above limit. The server does not read it, so
// the connection ends with the response.
func (c *requestBody) checkLength(limit int64) error {
	if c.r.ContentLength <= limit {
		return nil
	}
	c.w.Header().Set("Connection", "close")
	return c.tooLarge(limit)
}

func (c *requestBody) tooLarge(limit int64) error {
	c.large = true
	return mess.Errorf(mess.TooLarge, "the body is larger than %d bytes; send less", limit)
}

// readObject reads the body as one mapping. An empty body is {}, as at the MESS reference
// servers.
func (c *requestBody) readObject() (mess.Object, error) {
	data, yaml, err := c.readBody()
	switch {
	case err != nil || len(bytes.TrimSpace(data)) == 0:
		return mess.Object{}, err
	case yaml:
		return mess.ParseObject(data)
	}
	o, err := mess.ParseObjectJSON(data)
	return o, hintYAML(err)
}

// hintYAML adds a hint about YAML to an error of the JSON parser.
func hintYAML(err error) error {
	if err == nil || !strings.Contains(err.Error(), "not JSON") {
		return err
	}
	return mess.Errorf(mess.Invalid, "%v (the exchange read the body as JSON; if it is YAML, send Content-Type: application/yaml)", err)
}

// textField returns a text field, or "".
func textField(o mess.Object, key string) (string, error) {
	v, _ := o.Get(key)
	s, ok := v.(string)
	if v != nil && !ok {
		return "", mess.Errorf(mess.Invalid, "%s: is %s; write text", key, mess.What(v))
	}
	return s, nil
}

// checkKnown rejects a body with unknown fields. One of them may be a typing error, and without
// it the order might do too much.
func checkKnown(o mess.Object, known ...string) error {
	for _, f := range o {
		if !slices.Contains(known, f.Key) {
			return mess.Errorf(mess.Invalid, "%s: unknown key; known keys: %s", truncate(f.Key), strings.Join(known, ", "))
		}
	}
	return nil
}

// jsonType is the content type of JSON responses.
const jsonType = "application/json; charset=utf-8"

// jsonWriter writes JSON as a whole or in pieces, where pieces are cheaper.
type jsonWriter struct {
	bytes.Buffer
	*json.Encoder
}

func newJSONWriter() *jsonWriter {
	p := &jsonWriter{}
	p.Encoder = json.NewEncoder(&p.Buffer)
	p.SetEscapeHTML(false)
	return p
}

// value writes a value that always encodes.
func (p *jsonWriter) value(v any) {
	_ = p.Encode(v)
	p.Truncate(p.Len() - 1) // its newline
}

// begin writes a struct with fields, without its closing brace.
func (p *jsonWriter) begin(v any) {
	p.value(v)
	p.Truncate(p.Len() - 1)
}
