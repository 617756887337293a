package httpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

var hello = mess.Message{ID: "m1", Re: mess.Refs{"a"}, Epoch: 3, Items: []mess.Item{&mess.Status{Code: mess.Claimed}}}

func TestSend(t *testing.T) {
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got := fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", r.Header.Get("Authorization"), " ", string(body))
		want := `POST /api/v1/exchanges/home/mess application/json Bearer mess_home_secret {"id":"m1","re":"a","epoch":3,"MESS":[{"v":"1.1.0"},{"status":{"code":"claimed"}}]}`
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		fmt.Fprint(w, `{"MESS":[{"ack":{"re":"m1","ref":"a/claim-001","status":"claimed","epoch":3,"lease":"30s"}}]}`)
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		got, err := c.Send(t.Context(), hello)
		want := mess.Message{Items: []mess.Item{&mess.Ack{Re: mess.Refs{"m1"}, Ref: "a/claim-001", Status: mess.Claimed, Epoch: 3, Lease: "30s"}}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}

// The client decodes all fields of an exchange's error. The response of a proxy gives a
// temporary error, except for 401 and 413.
func TestErrorsAreDecoded(t *testing.T) {
	html := func(code int) http.HandlerFunc { return rejectAll(code, "<html>secret</html>") }
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		want mess.Error // of the text, a part
	}{
		{
			"all of it", rejectAll(409, `{"error":"somebody was first","why":"taken","ref":"a","status":"claimed","executor_id":"pi","legal":["cancelled","declined"],"new":1}`),
			mess.Error{Code: mess.AlreadyClaimed, Text: "somebody was first", Ref: "a", Status: mess.Claimed, Holder: "pi", Allowed: []mess.Code{mess.Cancelled, mess.Declined}},
		},
		{"a newer kind", rejectAll(409, `{"error":"no","why":"tired"}`), mess.Error{Code: "tired", Text: "no"}},
		{"400", rejectAll(400, `{"error":"intent required"}`), mess.Error{Code: mess.Invalid, Text: "intent required"}},
		{"401", rejectAll(401, `{"error":"Invalid API key"}`), mess.Error{Code: mess.Unauthorized, Text: "Invalid API key"}},
		{"403", rejectAll(403, `{"error":"Forbidden"}`), mess.Error{Code: mess.Forbidden, Text: "Forbidden"}},
		{"404", rejectAll(404, `{"error":"Thread not found"}`), mess.Error{Code: mess.NotFound, Text: "Thread not found"}},
		{"422", rejectAll(422, `{"error":"no such upload"}`), mess.Error{Code: mess.MissingReference, Text: "no such upload"}},
		{"429", rejectAll(429, `{"error":"slowly"}`), mess.Error{Code: mess.Unavailable, Text: "slowly"}},
		{"503", rejectAll(503, `{"error":"no space","why":"unavailable"}`), mess.Error{Code: mess.Unavailable, Text: "no space"}},
		{"500 is never final", rejectAll(500, `{"error":"oh","why":"invalid"}`), mess.Error{Code: mess.Unavailable, Text: "oh"}},
		{"a proxy's 404", html(404), mess.Error{Code: mess.Unavailable, Text: "answers 404 Not Found, which no exchange does"}},
		{"a proxy's 403", html(403), mess.Error{Code: mess.Unavailable, Text: "403"}},
		{"a proxy's 502", html(502), mess.Error{Code: mess.Unavailable, Text: "502"}},
		{"a proxy's 401", html(401), mess.Error{Code: mess.Unauthorized, Text: "401"}},
		{"a proxy's limit", html(413), mess.Error{Code: mess.TooLarge, Text: "413"}},
		{"a login page", html(200), mess.Error{Code: mess.Unavailable, Text: "is this the right address?"}},
		{"a list", rejectAll(200, `[1]`), mess.Error{Code: mess.Unavailable, Text: "is this the right address?"}},
		{"nothing", rejectAll(200, ``), mess.Error{Code: mess.Unavailable, Text: "is this the right address?"}},
		{
			"a redirect", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://elsewhere.example/", http.StatusTemporaryRedirect)
			},
			mess.Error{Code: mess.Unavailable, Text: `points to "https://elsewhere.example/"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			clientOver(t, c.h, func(t *testing.T, x *httpclient.Client, _ *pipeNetwork) {
				_, err := x.Send(t.Context(), hello)
				got, ok := errors.AsType[*mess.Error](err)
				if !ok || !strings.Contains(got.Text, c.want.Text) || strings.Contains(got.Text, "secret") {
					t.Fatalf("got %v, want %q", err, c.want.Text)
				}
				c.want.Text = got.Text
				if diff := cmp.Diff(c.want, *got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A call ends after the timeout without progress; the error states the reason.
func TestSilentCallTimesOut(t *testing.T) {
	started := make(chan bool, 10)
	clientOver(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server sees the client leave
		started <- true
		<-r.Context().Done()
	}, func(t *testing.T, c *httpclient.Client, l *pipeNetwork) {
		began := time.Now()
		_, err := c.Send(t.Context(), hello)
		if took := time.Since(began); !errors.Is(err, mess.Unavailable) || !strings.Contains(err.Error(), "no answer within 30s") || took != 30*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		if _, err := c.Send(ctx, hello); !errors.Is(err, mess.Unavailable) {
			t.Errorf("at the caller's deadline: %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(why) })
		if _, err := c.Send(ctx, hello); !errors.Is(err, why) || errors.Is(err, mess.Unavailable) {
			t.Errorf("cancelled: %v", err)
		}
		l.breakConnections(true)
		httpclient.CloseIdle(c)
		if _, err := c.Send(t.Context(), hello); !errors.Is(err, mess.Unavailable) || !strings.Contains(err.Error(), "cannot be reached: connection refused") {
			t.Errorf("torn: %v", err)
		}
	})
}

// A slow connection does not time out, even if an upload and a download take minutes.
func TestSlowConnectionDoesNotTimeOut(t *testing.T) {
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		var got []byte
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Body.Read(buf)
			got = append(got, buf[:n]...)
			if err != nil {
				break
			}
			time.Sleep(10 * time.Second)
		}
		if len(got) != 1<<20 {
			t.Errorf("%d bytes came", len(got))
		}
		for _, b := range `{"file":"x.jpg","mime":"image/jpeg"}` {
			time.Sleep(10 * time.Second)
			write(w, "%c", b)
		}
	}, func(t *testing.T, c *httpclient.Client, l *pipeNetwork) {
		began := time.Now()
		m, err := c.Attach(t.Context(), "a", "x.jpg", "image/jpeg", bytes.NewReader(make([]byte, 1<<20)))
		if err != nil || m.File != "x.jpg" || time.Since(began) < 5*time.Minute || len(l.tries()) != 1 {
			t.Errorf("%+v, %v after %v", m, err, time.Since(began))
		}
	})
}

// Names come from messages of other actors. No name leads to another path.
func TestNamesStayInPath(t *testing.T) {
	var paths []string
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.EscapedPath())
		fmt.Fprint(w, `{}`)
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		for _, name := range []string{"", ".", ".."} {
			if _, err := c.Thread(t.Context(), name); !errors.Is(err, mess.NotFound) {
				t.Errorf("thread %q: %v", name, err)
			}
			if _, _, err := c.Attachment(t.Context(), "a", name); !errors.Is(err, mess.NotFound) {
				t.Errorf("file %q: %v", name, err)
			}
		}
		if _, err := c.Thread(t.Context(), "../../x?y#z"); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"/api/v1/exchanges/home/requests/..%2F..%2Fx%3Fy%23z"}, paths); diff != "" {
			t.Error(diff)
		}
	})
}

func TestListPages(t *testing.T) {
	var asked []string
	clientOver(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q.Encode())
		n := 50
		_, _ = fmt.Sscan(q.Get("limit"), &n) // without one it stays
		threads := make([]map[string]string, n)
		for i := range threads {
			threads[i] = map[string]string{"ref": fmt.Sprint("r", i), "status": "needs-input"}
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"threads": threads, "cursor": "c1"}); err != nil {
			t.Error(err)
		}
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		list, err := c.List(t.Context(), httpclient.Filter{Status: "pending", Executor: "e", Requester: "r", Capability: "c", Device: "e:d", Since: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), Limit: 1500})
		if err != nil || len(list) != 1500 || list[0].Ref != "r0" || list[0].Status != mess.NeedsInput {
			t.Errorf("%d, %v", len(list), err)
		}
		if list, err := c.List(t.Context(), httpclient.Filter{}); err != nil || len(list) != 50 {
			t.Errorf("%d, %v", len(list), err)
		}
		const filter = "capability=c&device=e%%3Ad&executor=e&limit=%s&requestor=r&since=2026-01-02T03%%3A04%%3A05.006Z&status=pending"
		want := []string{fmt.Sprintf(filter, "1000"), strings.Replace(fmt.Sprintf(filter, "500"), "&", "&cursor=c1&", 1), ""}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Error(diff)
		}
	})
}

// The client stops an endless response at its limit.
func TestEndlessResponseIsStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 128 MB")
	}
	clientOver(t, func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
				return
			}
		}
	}, func(t *testing.T, c *httpclient.Client, _ *pipeNetwork) {
		if _, err := c.Thread(t.Context(), "a"); !errors.Is(err, mess.TooLarge) {
			t.Error(err)
		}
	})
}

// The client asks for the exchange's id once, and rejects an invalid one.
func TestExchangeIDIsRequestedOnce(t *testing.T) {
	id, health, key := "", 0, "mess_home_secret"
	serve := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mess/health" {
			health++
			fmt.Fprintf(w, `{"status":"ok","exchange_id":%q}`, id)
			return
		}
		fmt.Fprintf(w, `{"thread":{"ref":%q}}`, r.URL.Path)
	}
	clientOver(t, serve, func(t *testing.T, _ *httpclient.Client, l *pipeNetwork) {
		c, err := httpclient.New(httpclient.Config{URL: "http://127.0.0.1:8420/mess/", Key: httpclient.Secret(key)}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		httpclient.DialBy(c, l.dial)
		defer httpclient.CloseIdle(c)
		for _, id = range []string{"", "..", "a/b"} {
			if _, err := c.Thread(t.Context(), "a"); !errors.Is(err, mess.Invalid) {
				t.Errorf("%q: %v", id, err)
			}
		}
		id, health = "my_home", 0
		for range 3 {
			if th, err := c.Thread(t.Context(), "a"); err != nil || th.Ref != "/mess/api/v1/exchanges/my_home/requests/a" {
				t.Errorf("%+v, %v", th, err)
			}
		}
		if health != 1 {
			t.Errorf("asked %d times", health)
		}
	})
}

func TestValidate(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"url: https://home.example/mess\nexchange: home_2\nkey: mess_home_1\ntimeout: 90s", ""},
		{"url: \"\"", "c.yaml:1: url: is missing; write it like"},
		{"url: 'http://me:hunter2@host'", "c.yaml:1: url: contains a password"},
		{"url: 'http://me:hunter2@ho st'", "c.yaml:1: url: is not the address"},
		{"url: 'http://host?x=1'", "leave out what follows"},
		{"url: ftp://host", "is not the address"},
		{"url: 'http://:8420'", "is not the address"},
		{"url: http://host\nexchange: a/b", "c.yaml:2: exchange:"},
		{"url: http://host\nkey: 'hunter2 hunter2'", "c.yaml:2: key: has a space"},
		{"url: http://host\ntimeout: 1ms", "c.yaml:2: timeout: 1ms is too short"},
		{"url: http://host\ntimeout: -5s", "c.yaml:2: timeout: -5s"},
	} {
		var cfg httpclient.Config
		err := strictyaml.Decode("c.yaml", []byte(c.text), &cfg)
		if c.want == "" {
			if err != nil || cfg.Key != "mess_home_1" || cfg.Timeout != 90*time.Second {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s\ngot %v, want %s", c.text, err, c.want)
		}
		if _, err := httpclient.New(cfg, quiet); err == nil {
			t.Errorf("%s: New takes it", c.text)
		}
	}
}

// No verb of fmt prints the key.
func TestKeyIsNotPrinted(t *testing.T) {
	cfg := httpclient.Config{URL: "http://127.0.0.1:1", Exchange: "home", Key: "hunter2"}
	c, err := httpclient.New(cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		for _, v := range []any{cfg.Key, cfg, &cfg, c, struct{ K httpclient.Secret }{cfg.Key}} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, "hunter2") || strings.Contains(s, "68756e74657232") {
				t.Errorf("%s: %s", verb, s)
			}
		}
	}
	if text, err := json.Marshal(cfg); err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%s, %v", text, err)
	}
	_, err = c.Send(t.Context(), hello)
	if _, ok := errors.AsType[*net.OpError](err); ok || !errors.Is(err, mess.Unavailable) || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
