// Package measure measures the requests of an HTTP server by route.
package measure

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/metrics"
)

// Requests has the durations of the requests, and the open event streams. It is safe for concurrent
// use.
type Requests struct {
	durations *metrics.Set[string, metrics.Histogram] // by method, route and class, with spaces between
	opened    metrics.Counter
	open      metrics.Gauge
}

// New makes an empty measurement.
func New() *Requests {
	return &Requests{durations: metrics.NewSet[string](func() *metrics.Histogram { return metrics.NewHistogram(metrics.Calls) })}
}

// methods are the methods that a label has.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// Observe records a request. route is a pattern of the server, or "" for a request that has reached
// none. code is its status. Unusual methods count as "other".
func (r *Requests) Observe(method, route string, code int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	if route == "" {
		route = "other"
	}
	r.durations.Of(method + " " + route + " " + strconv.Itoa(code/100) + "xx").Observe(took)
}

// OpenStream counts a new event stream. The caller calls close once when it ends.
func (r *Requests) OpenStream() (closed func()) {
	r.opened.Inc()
	r.open.Add(1)
	return func() { r.open.Add(-1) }
}

// Write writes the figures.
func (r *Requests) Write(t *metrics.Text) {
	t.Histograms("messkit_http_request_duration_seconds", "Duration of HTTP requests without event streams and polls, by route and class of the status.")
	r.durations.Each(func(key string, h *metrics.Histogram) {
		k := strings.Fields(key)
		t.Histogram(h, "method", k[0], "route", k[1], "code", k[2])
	})
	t.Counter("messkit_http_event_streams_opened_total", "Event streams that clients have opened over HTTP.", &r.opened)
	t.Gauge("messkit_http_event_streams", "Event streams that are open over HTTP.", float64(r.open.Value()))
}

// Response is a response whose status the server learns.
type Response struct {
	http.ResponseWriter
	Code int // 0 before the response
}

// WriteHeader notes the status.
func (w *Response) WriteHeader(code int) {
	if w.Code == 0 && code >= http.StatusOK {
		w.Code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *Response) Write(p []byte) (int, error) {
	if w.Code == 0 {
		w.Code = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom lets net/http send a file without a copy.
func (w *Response) ReadFrom(r io.Reader) (int64, error) {
	if w.Code == 0 {
		w.Code = http.StatusOK
	}
	return io.Copy(w.ResponseWriter, r)
}

// Unwrap implements the interface of http.ResponseController.
func (w *Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
