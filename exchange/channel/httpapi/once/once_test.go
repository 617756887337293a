package once_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi/once"
)

// client sends requests to Answers, and counts those that Answers carries out.
type client struct {
	once.Answers
	done  int
	code  int
	err   error
	large bool
}

// send sends a request, and returns its answer.
func (c *client) send(actor, key, request string) (*httptest.ResponseRecorder, error) {
	w := httptest.NewRecorder()
	err := c.Serve(context.Background(), w, actor, key, []byte(request), func(w http.ResponseWriter) error {
		c.done++
		if c.err != nil {
			return c.err
		}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(c.code)
		text := fmt.Sprint(c.done)
		if c.large {
			text = strings.Repeat("x", 65<<10)
		}
		_, err := w.Write([]byte(text))
		return err
	})
	return w, err
}

func TestRepeatedRequestIsCarriedOutOnce(t *testing.T) {
	c := &client{code: http.StatusAccepted}
	for range 3 {
		w, err := c.send("alice", "k1", "drain")
		if err != nil || w.Code != http.StatusAccepted || w.Body.String() != "1" || w.Header().Get("Content-Type") != "text/plain" {
			t.Errorf("the answer is %d %q %v, %v; want that of the first request", w.Code, w.Body, w.Header(), err)
		}
	}
	if _, err := c.send("alice", "k1", "resume"); !errors.Is(err, once.ErrOther) {
		t.Errorf("the same key for another request: %v, want %v", err, once.ErrOther)
	}
	for _, other := range [][2]string{{"alice", "k2"}, {"bob", "k1"}} {
		if _, err := c.send(other[0], other[1], "drain"); err != nil {
			t.Error(err)
		}
	}
	if c.done != 3 {
		t.Errorf("%d requests were carried out, want 3", c.done)
	}
}

// Answers carries out a failed request again, and keeps no answer that is too large.
func TestFailedRequestIsCarriedOutAgain(t *testing.T) {
	for name, c := range map[string]*client{"error": {err: errors.New("full")}, "status": {code: http.StatusConflict}, "large": {code: http.StatusOK, large: true}} {
		_, _ = c.send("alice", "k", "drain")
		_, _ = c.send("alice", "k", "drain")
		if c.done != 2 {
			t.Errorf("%s: carried out %d times, want 2", name, c.done)
		}
	}
}

func TestAnswersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{code: http.StatusOK}
		send := func(key string, want int) {
			t.Helper()
			if _, err := c.send("alice", key, "drain"); err != nil || c.done != want {
				t.Errorf("%s: %d requests were carried out, want %d; %v", key, c.done, want, err)
			}
		}
		send("k", 1)
		time.Sleep(9 * time.Minute)
		send("k", 1)
		time.Sleep(2 * time.Minute)
		send("k", 2)
		for i := range 32 {
			send(fmt.Sprint("other-", i), 3+i)
		}
		send("other-0", 34)
		send("k", 35)
	})
}

// A repeated request waits for the first one, which runs, and ends with its own connection.
func TestRepeatedRequestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a once.Answers
		free, results := make(chan struct{}), make(chan string, 2)
		for range 2 {
			go func() {
				w := httptest.NewRecorder()
				err := a.Serve(t.Context(), w, "alice", "k", nil, func(w http.ResponseWriter) error {
					<-free
					_, err := w.Write([]byte("done"))
					return err
				})
				results <- fmt.Sprintf("%s %v", w.Body, err)
			}()
		}
		synctest.Wait()
		gone, end := context.WithCancel(t.Context())
		end()
		if err := a.Serve(gone, httptest.NewRecorder(), "alice", "k", nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a request whose client has gone: %v, want %v", err, context.Canceled)
		}
		close(free)
		for range 2 {
			if got := <-results; got != "done <nil>" {
				t.Errorf("the answer is %q, want done", got)
			}
		}
	})
}
