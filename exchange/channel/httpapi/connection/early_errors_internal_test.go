package connection

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// A translated error is a complete response in JSON with the same status. All other bytes stay
// unchanged.
func FuzzErrorFor(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 400 Bad Request" + serverMark + "400 Bad Request", "HTTP/1.1 431 x" + serverMark, "HTTP/1.1 200 OK" + serverMark, "HTTP/1.1 400 \r\nX: y" + serverMark,
		"HTTP/1.1 4", "HTTP/1.1 999 \x00" + serverMark + "\xff\"<", "HTTP/1.0 400 Bad Request\r\n\r\n", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		ours, ok := errorFor(p)
		if !ok {
			if ours != nil {
				t.Errorf("%q for nothing", ours)
			}
			return
		}
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(ours)), nil)
		if err != nil {
			t.Skip() // a status line that no server writes
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || !json.Valid(body) || res.StatusCode < 400 || !bytes.HasPrefix(p[9:], []byte(res.Status[:3])) {
			t.Errorf("%q: %q, %v", p, ours, err)
		}
	})
}
