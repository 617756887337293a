package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// A name with more behind the port is another name, however a parser cuts it.
func TestHostWithInvalidPortIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	for host, want := range map[string]int{
		"localhost:8420": 200, "127.0.0.1:8420": 200, "localhost": 200, "LOCALHOST.": 200, "[::1]:8420": 200, "127.0.0.1:": 200,
		"localhost:8420.evil.example": 400, "localhost:evil.example": 400, "127.0.0.1:8420:1": 400, "localhost:99999": 400, "evil.example": 403, "evil.example:8420": 403,
	} {
		if r := h.do("GET", root+"/requests", h.op, "", "Host", host); r.code != want {
			t.Errorf("%s: %d %s", host, r.code, r.body)
		}
	}
}

// A foreign page cannot register, without any of the headers.
func TestForeignPageCannotRegister(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	host := strings.TrimPrefix(h.url, "http://")
	for i, heads := range [][]string{
		{"Origin", "http://evil.example@" + host},
		{"Origin", "http://" + host + "/x"},
		{"Origin", "ftp://" + host},
		{"Origin", "http://" + host + "?"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "other"},
		{"Sec-Fetch-Site", "cross-site", "Origin", h.url},
	} {
		if r := h.do("POST", root+"/register", "", fmt.Sprintf(`{"executor_id":"a-%d"}`, i), heads...); r.code != 403 {
			t.Errorf("%q: %d %s", heads, r.code, r.body)
		}
	}
	for i, heads := range [][]string{{"Origin", h.url}, {"Sec-Fetch-Site", "same-origin", "Origin", h.url}, {"Sec-Fetch-Site", "none"}} {
		h.want(h.do("POST", root+"/register", "", fmt.Sprintf(`{"executor_id":"b-%d"}`, i), heads...), 201, "")
	}
}

// After a request with both Content-Length and chunks, the bytes after the body are no request
// (RFC 9112 section 6.1).
func TestLengthAndChunksEndConnection(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	host := strings.TrimPrefix(h.url, "http://")
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	head := "Host: " + host + "\r\nAuthorization: Bearer " + h.op + "\r\n"
	text := "POST " + root + "/requests HTTP/1.1\r\n" + head + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n{\"intent\":\"look\"}\r\n0\r\n\r\n" +
		"GET " + root + "/requests HTTP/1.1\r\n" + head + "\r\n"
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || !res.Close {
		t.Errorf("%s, close %v: %v", res.Status, res.Close, err)
	}
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		t.Errorf("what is behind the body is answered: %.60q", rest)
	}
}
