package otlp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/otlp"
)

// span has the fields that the JSON encoding of OTLP prescribes for a span.
type span struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
	Parent  string `json:"parentSpanId"`
	Name    string `json:"name"`
	Kind    int    `json:"kind"`
	Begin   string `json:"startTimeUnixNano"`
	End     string `json:"endTimeUnixNano"`
	Status  struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"status"`
	Attributes []attribute `json:"attributes"`
}

type attribute struct {
	Key   string `json:"key"`
	Value struct {
		Text string `json:"stringValue"`
	} `json:"value"`
}

type export struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Scope struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"scope"`
			Spans []span `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

// collector answers each request with the next of some answers, and then takes all.
type collector struct {
	*httptest.Server
	bodies  chan string
	answers chan func(w http.ResponseWriter)
}

func newCollector(t *testing.T, answers ...func(http.ResponseWriter)) *collector {
	t.Helper()
	c := &collector{bodies: make(chan string, 100), answers: make(chan func(http.ResponseWriter), len(answers))}
	for _, one := range answers {
		c.answers <- one
	}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Key") != "a b" {
			t.Errorf("%s %s, %v, %v", r.Method, r.URL, r.Header, err)
		}
		select {
		case answer := <-c.answers:
			answer(w)
		default:
			_, _ = w.Write([]byte("{}"))
		}
		c.bodies <- string(body)
	}))
	t.Cleanup(c.Close)
	return c
}

// next returns the next request.
func (c *collector) next(t *testing.T) (e export) {
	t.Helper()
	select {
	case body := <-c.bodies:
		d := json.NewDecoder(strings.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing comes")
	}
	return e
}

// start runs an exporter until the function that it returns is called.
func start(t *testing.T, url string) (e *otlp.Exporter, stop func()) {
	t.Helper()
	env := func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b, =none,x"}[name]
	}
	at, err := otlp.Endpoint("", env)
	if err != nil {
		t.Fatal(err)
	}
	e = otlp.New(otlp.Config{URL: at, Headers: otlp.Headers(env), Service: "messkit-exchange", ID: "home", Version: "1.2.3", Delay: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return e, stop
}

func wantCounts(t *testing.T, e *otlp.Exporter, sent, dropped uint64) {
	t.Helper()
	if s, d := e.Counts(); s != sent || d != dropped {
		t.Errorf("%d sent and %d dropped, want %d and %d", s, d, sent, dropped)
	}
}

// A span has the fields of the JSON encoding: ids in hex, times as decimal strings of nanoseconds,
// enumerations as numbers.
func TestSpanAsJSON(t *testing.T) {
	c := newCollector(t)
	e, stop := start(t, c.URL)
	begin := time.Date(2026, 11, 29, 12, 0, 0, 123456789, time.UTC)
	e.Record(otlp.Span{
		Trace: [16]byte{0x4b, 15: 0x36}, ID: [8]byte{1, 7: 0xab}, Parent: [8]byte{2}, Name: "act", Begin: begin, End: begin.Add(time.Second),
		Attributes: []otlp.Attribute{{Key: "messkit.ref", Value: "2026-11-29-001"}}, Failed: "failed",
	})
	got := c.next(t)
	stop()
	if len(got.ResourceSpans) != 1 || len(got.ResourceSpans[0].ScopeSpans) != 1 || len(got.ResourceSpans[0].ScopeSpans[0].Spans) != 1 {
		t.Fatalf("%+v", got)
	}
	if r := fmt.Sprint(got.ResourceSpans[0].Resource.Attributes); r != "[{service.name {messkit-exchange}} {service.version {1.2.3}} {service.instance.id {home}}]" {
		t.Error(r)
	}
	s := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
	if s.TraceID != "4b000000000000000000000000000036" || s.SpanID != "01000000000000ab" || s.Parent != "0200000000000000" {
		t.Errorf("ids: %+v", s)
	}
	if s.Name != "act" || s.Kind != 1 || s.Begin != "1795953600123456789" || s.End != "1795953601123456789" || s.Status.Code != 2 || s.Status.Message != "failed" {
		t.Errorf("%+v", s)
	}
	if a := fmt.Sprint(s.Attributes); a != "[{messkit.ref {2026-11-29-001}}]" {
		t.Error(a)
	}
	wantCounts(t, e, 1, 0)
}

// The exporter sends again what the collector cannot take now, drops what it refuses, and counts both.
func TestAnswersOfCollector(t *testing.T) {
	busy := func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	bad := func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest) }
	part := func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"partialSuccess":{"rejectedSpans":"1"}}`)) }
	c := newCollector(t, busy, part, bad)
	e, stop := start(t, c.URL)
	e.Record(otlp.Span{Name: "a"})
	e.Record(otlp.Span{Name: "b"})
	for range 2 {
		if n := len(c.next(t).ResourceSpans[0].ScopeSpans[0].Spans); n != 2 {
			t.Errorf("%d spans", n)
		}
	}
	e.Record(otlp.Span{Name: "c"})
	c.next(t)
	e.Record(otlp.Span{Name: "d"}) // it waits for the end of the delay, or of the exporter
	stop()
	if got := c.next(t).ResourceSpans[0].ScopeSpans[0].Spans; len(got) != 1 || got[0].Name != "d" {
		t.Errorf("at the end: %+v", got)
	}
	wantCounts(t, e, 2, 2)
}

// Record does not wait while the collector stands still. It drops what has no place.
func TestRecordNeverWaits(t *testing.T) {
	release := make(chan bool)
	var stuck atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		stuck.Store(true)
		<-release
	}))
	defer server.Close()
	defer close(release)
	e, _ := start(t, server.URL)
	const n = 10000
	begin := time.Now()
	for range n {
		e.Record(otlp.Span{Name: "x"})
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("%d spans take %v", n, took)
	}
	if sent, dropped := e.Counts(); sent != 0 || dropped < n-2048-2*512 || dropped >= n {
		t.Errorf("%d sent, %d dropped", sent, dropped)
	}
}

// A nil exporter does nothing.
func TestNoExporter(t *testing.T) {
	var e *otlp.Exporter
	e.Record(otlp.Span{})
	wantCounts(t, e, 0, 0)
	if err := e.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEndpoint(t *testing.T) {
	for _, test := range []struct{ configured, general, traces, want, fault string }{
		{},
		{configured: "http://c:4318", general: "http://other", want: "http://c:4318/v1/traces"},
		{general: "https://c/otlp/", want: "https://c/otlp/v1/traces"},
		{general: "http://c", traces: "http://t/x", want: "http://t/x"},
		{configured: "c:4317", fault: "otlp: it is no address"},
		{configured: "ftp://c", fault: "otlp: it is no address"},
		{general: "grpc://c", fault: "OTEL_EXPORTER_OTLP_ENDPOINT: it is no address"},
		{traces: "http://me:word@c", fault: "c has a secret in it"},
	} {
		got, err := otlp.Endpoint(test.configured, func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": test.general, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": test.traces}[name]
		})
		if test.fault == "" && (err != nil || got != test.want) || test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault) || regexp.MustCompile("word").MatchString(err.Error())) {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}
