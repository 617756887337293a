package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/test/freeport"
)

// span is what a collector gets of a span over OTLP/HTTP in JSON.
type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []struct{ Key string }
	service                             string
}

// newCollector starts a collector, and returns its address and the spans that it gets.
func newCollector(t *testing.T) (url string, spans <-chan span) {
	t.Helper()
	got := make(chan span, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
				ScopeSpans []struct{ Spans []span }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		for _, of := range body.ResourceSpans {
			for _, one := range of.ScopeSpans[0].Spans {
				one.service = of.Resource.Attributes[0].Value.StringValue
				got <- one
			}
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// runHome runs an exchange with an executor and a simulated lamp until the test ends, and returns its
// address and the operator's key.
func runHome(t *testing.T, collector string) (url, key string) {
	t.Helper()
	dir, listen := t.TempDir(), freeport.Address(t)
	file := filepath.Join(dir, "messkit.yaml")
	text := fmt.Sprintf("exchange: {id: home, listen: '%s', data: '%s/data', mqtt: {listen: off}, otlp: '%s'}\nagent: {id: pi, data: '%[2]s/data', otlp: '%[3]s'}\ndevices: {porch-light: {driver: sim-lamp}}\n", listen, dir, collector)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := daemon.LoadConfig(file, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- daemon.Run(ctx, &output.Env{Out: io.Discard, Err: io.Discard}, cfg, output.NoLog) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	for end := time.Now().Add(time.Minute); key == ""; <-time.After(20 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(dir, "data", "operator.key"))
		if res, wrong := http.Get("http://" + listen + "/readyz"); err == nil && wrong == nil {
			_ = res.Body.Close() // the test reads only whether it answers
			key = strings.TrimSpace(string(data))
		}
		if time.Now().After(end) {
			t.Fatal("the exchange does not start")
		}
	}
	return "http://" + listen, key
}

var hexID = regexp.MustCompile(`^[0-9a-f]+$`)

// The collector gets the spans of a request through exchange and executor: all in the trace of the
// client, with the request as their parent, in the order of the work.
func TestSpansOfRequest(t *testing.T) {
	t.Parallel()
	const trace, client = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	collector, spans := newCollector(t)
	url, key := runHome(t, collector)
	ask := func(id, traceparent string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/exchanges/home/requests", strings.NewReader(`{"id": "`+id+`", "intent": "turn on the porch light"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		if traceparent != "" {
			req.Header.Set("traceparent", traceparent)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if data, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusCreated {
			t.Fatalf("%s %s, %v", res.Status, data, err)
		}
	}
	ask("silent", "00-11111111111111111111111111111111-00f067aa0ba902b7-00") // the client records nothing
	ask("traced", "00-"+trace+"-"+client+"-01")
	got := gather(t, spans)
	root := got["request"]
	if root.ParentSpanID != client {
		t.Errorf("the parent of the request is %q", root.ParentSpanID)
	}
	before := ""
	for _, name := range []string{"request", "create", "offer", "claim", "act", "end", "device"} {
		s := got[name]
		service := "messkit-exchange"
		if name == "device" {
			service = "messkit-executor"
		}
		if s.TraceID != trace || len(s.SpanID) != 16 || !hexID.MatchString(s.SpanID) || s.service != service {
			t.Errorf("%s: %+v", name, s)
		}
		if name != "request" && s.ParentSpanID != root.SpanID {
			t.Errorf("the parent of %s is %q, want the request %q", name, s.ParentSpanID, root.SpanID)
		}
		begin, wrong := strconv.ParseInt(s.StartTimeUnixNano, 10, 64)
		end, bad := strconv.ParseInt(s.EndTimeUnixNano, 10, 64)
		if wrong != nil || bad != nil || end < begin || time.Since(time.Unix(0, begin)) > time.Hour {
			t.Errorf("%s is from %q to %q", name, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
		if name != "device" && s.StartTimeUnixNano < before {
			t.Errorf("%s begins before the one before it", name)
		}
		before = s.StartTimeUnixNano
	}
	ask("own", "")
	if own := gather(t, spans); own["request"].ParentSpanID != "" || own["device"].TraceID != own["request"].TraceID || own["device"].ParentSpanID != own["request"].SpanID {
		t.Errorf("a request without a trace: %+v", own)
	}
}

// gather returns the spans of one request, by name.
func gather(t *testing.T, spans <-chan span) map[string]span {
	t.Helper()
	got := map[string]span{}
	for len(got) < 7 {
		select {
		case s := <-spans:
			if other, twice := got[s.Name]; twice || strings.HasPrefix(s.TraceID, "1111") {
				t.Errorf("%+v after %+v", s, other)
			}
			got[s.Name] = s
		case <-time.After(30 * time.Second):
			t.Fatalf("the collector has %+v", got)
		}
	}
	return got
}
