package httpclient_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

func TestAttachRetriesOnce(t *testing.T) {
	const answer = `{"file":"x y.jpg","mime":"image/jpeg","size":5,"sha256":"ab"}`
	cut := func(w http.ResponseWriter, part string) {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if part != "" {
			fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), part)
			buf.Flush()
		}
		conn.Close()
	}
	for _, c := range []struct {
		name  string
		parts []string       // of the answer, before each cut
		why   mess.ErrorCode // "" if it goes well
	}{
		{"at once", nil, ""},
		{"the upload is cut", []string{""}, ""},
		{"the answer is cut", []string{answer[:20]}, ""},
		{"twice", []string{"", answer[:1]}, mess.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			clientOver(t, func(w http.ResponseWriter, r *http.Request) {
				if n++; n <= len(c.parts) {
					cut(w, c.parts[n-1])
					return
				}
				body, err := io.ReadAll(r.Body)
				if got := fmt.Sprint(r.Method, r.URL.EscapedPath(), r.Header.Get("Content-Type"), string(body), err); got != "PUT/api/v1/exchanges/home/requests/a/attachments/x%20y.jpgimage/jpeghello<nil>" {
					t.Error(got)
				}
				fmt.Fprint(w, answer)
			}, func(t *testing.T, x *httpclient.Client, _ *pipeNetwork) {
				m, err := x.Attach(t.Context(), "a", "x y.jpg", "image/jpeg", io.MultiReader(strings.NewReader("hel"), strings.NewReader("lo")))
				want := mess.Media{File: "x y.jpg", MIME: "image/jpeg", Size: new(int64(5)), SHA256: "ab"}
				if c.why != "" {
					want = mess.Media{}
				}
				if diff := cmp.Diff(want, m); diff != "" || c.why == "" && err != nil || c.why != "" && !errors.Is(err, c.why) {
					t.Error(err, diff)
				}
				if want := min(2, len(c.parts)+1); n != want {
					t.Errorf("%d tries, want %d", n, want)
				}
			})
		})
	}
}

// Attach does not resend a file that the exchange has rejected, and returns the error of a
// failed reader.
func TestRejectedAttachIsNotRepeated(t *testing.T) {
	n := 0
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		rejectAll(413, `{"error":"too large","why":"too_large"}`)(w, r)
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		if _, err := c.Attach(t.Context(), "a", "x", "", strings.NewReader("x")); !errors.Is(err, mess.TooLarge) || n != 1 {
			t.Errorf("%v after %d tries", err, n)
		}
		broken := errors.New("broken")
		if _, err := c.Attach(t.Context(), "a", "x", "", io.MultiReader(strings.NewReader("x"), failing{broken})); !errors.Is(err, broken) || n != 1 {
			t.Errorf("%v after %d tries", err, n)
		}
	})
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

func TestInterruptedAttachment(t *testing.T) {
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Content-Length", "10")
		write(w, "12345")
		if strings.HasSuffix(r.URL.Path, "silent.png") {
			<-r.Context().Done()
		}
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		for name, want := range map[string]string{"cut.png": "unexpected EOF", "silent.png": "no answer within 30s"} {
			data, mime, err := c.Attachment(t.Context(), "a", name)
			if err != nil || mime != "image/png" {
				t.Fatal(mime, err)
			}
			got, err := io.ReadAll(data)
			if string(got) != "12345" || !errors.Is(err, mess.Unavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			if err := data.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
