// Package otlp sends spans to a collector over OTLP/HTTP in its JSON encoding (OpenTelemetry Protocol
// 1.x). It waits for nobody: a full queue drops spans, and counts them.
package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// Config of an Exporter.
type Config struct {
	URL     string            // for traces: http://collector:4318/v1/traces
	Headers map[string]string // of each request; they may have secrets
	Service string            // name of the service
	ID      string            // of the instance
	Version string

	Delay time.Duration // for which a span waits for others; 0: 2 s
	Log   *slog.Logger
}

// The environment variables of OpenTelemetry that Endpoint and Headers read.
const (
	endpointEnv = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEnv   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	headersEnv  = "OTEL_EXPORTER_OTLP_HEADERS"
	pathTraces  = "/v1/traces"
)

// Endpoint returns the address for traces: that of a collector in the configuration, else that of the
// environment; "" for none.
func Endpoint(configured string, env func(string) string) (string, error) {
	name, text := "otlp", configured
	if text == "" {
		name, text = tracesEnv, env(tracesEnv)
		if text != "" {
			return text, Check(name, text)
		}
		name, text = endpointEnv, env(endpointEnv)
	}
	if text == "" {
		return "", nil
	}
	if err := Check(name, text); err != nil {
		return "", err
	}
	return strings.TrimRight(text, "/") + pathTraces, nil
}

// FromEnvironment makes an exporter for the collector of the configuration or of the environment; nil if
// there is none. service and id name the program that makes the spans.
func FromEnvironment(configured, service, id, version string, log *slog.Logger) (*Exporter, error) {
	at, err := Endpoint(configured, os.Getenv)
	if err != nil || at == "" {
		return nil, err
	}
	return New(Config{URL: at, Headers: Headers(os.Getenv), Service: service, ID: id, Version: version, Log: log}), nil
}

// Check returns an error for an address that is none of a collector. The error has no secret.
func Check(name, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s: it is no address of a collector; write it like http://127.0.0.1:4318", name)
	}
	if u.User != nil {
		return fmt.Errorf("%s: %s has a secret in it; write a header into %s", name, u.Host, headersEnv)
	}
	return nil
}

// Headers reads the headers of the environment: name=value, with commas between, values in percent
// encoding. It skips what is none.
func Headers(env func(string) string) map[string]string {
	all := map[string]string{}
	for one := range strings.SplitSeq(env(headersEnv), ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(one), "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); ok && err == nil && name != "" {
			all[name] = value
		}
	}
	return all
}

const (
	queueLength = 2048             // spans that wait
	batchLength = 512              // spans of one request
	sendTimeout = 10 * time.Second // of one request
	lastTimeout = 3 * time.Second  // for what waits at the end
	maxAnswer   = 64 << 10         // bytes
)

// Exporter sends spans. All methods are safe for concurrent use, and do nothing for a nil Exporter.
type Exporter struct {
	cfg           Config
	queue         chan Span
	sent, dropped atomic.Uint64
	failing       bool // the last request has failed; only for Run
}

// New makes an exporter. Run sends what Record gets.
func New(cfg Config) *Exporter {
	if cfg.Delay == 0 {
		cfg.Delay = 2 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Exporter{cfg: cfg, queue: make(chan Span, queueLength)}
}

// Record takes a span. It never waits: it drops the span if the queue is full. A span that ends before it
// begins, because somebody has set the clock back, ends when it begins.
func (e *Exporter) Record(s Span) {
	if e == nil {
		return
	}
	if s.End.Before(s.Begin) {
		s.End = s.Begin
	}
	select {
	case e.queue <- s:
	default:
		e.dropped.Add(1)
	}
}

// Counts returns how many spans the collector has taken, and how many are lost.
func (e *Exporter) Counts() (sent, dropped uint64) {
	if e == nil {
		return 0, 0
	}
	return e.sent.Load(), e.dropped.Load()
}

// Run sends spans until ctx ends, and then what waits, for a few seconds at most.
func (e *Exporter) Run(ctx context.Context) error {
	if e == nil {
		return nil
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastTimeout, cancel) })()
	for {
		batch := e.gather(ctx)
		if len(batch) == 0 {
			return nil // ctx has ended
		}
		e.deliver(sending, batch)
	}
}

// gather waits for a span, and for those that come soon after it.
func (e *Exporter) gather(ctx context.Context) (batch []Span) {
	select {
	case <-ctx.Done():
		return e.waiting(nil)
	case s := <-e.queue:
		batch = append(batch, s)
	}
	enough := time.NewTimer(e.cfg.Delay)
	defer enough.Stop()
	for len(batch) < batchLength {
		select {
		case s := <-e.queue:
			batch = append(batch, s)
		case <-enough.C:
			return batch
		case <-ctx.Done():
			return e.waiting(batch)
		}
	}
	return batch
}

// waiting adds spans of the queue to a batch.
func (e *Exporter) waiting(batch []Span) []Span {
	for len(batch) < batchLength {
		select {
		case s := <-e.queue:
			batch = append(batch, s)
		default:
			return batch
		}
	}
	return batch
}

// deliver sends a batch until the collector takes or refuses it, or ctx ends.
func (e *Exporter) deliver(ctx context.Context, batch []Span) {
	body := encode(e.cfg, batch)
	pause := wait.Backoff{First: time.Second, Last: 30 * time.Second}
	for {
		refused, after, err := e.post(ctx, body)
		if err != nil && !e.failing {
			e.cfg.Log.Warn("the collector of traces does not take spans", "err", err)
		}
		e.failing = err != nil
		if err == nil || errors.Is(err, errRefused) {
			if err != nil {
				refused = uint64(len(batch))
			}
			refused = min(refused, uint64(len(batch)))
			e.sent.Add(uint64(len(batch)) - refused)
			e.dropped.Add(refused)
			return
		}
		if !wait.For(ctx, max(after, pause.Next())) {
			e.dropped.Add(uint64(len(batch)))
			return
		}
	}
}

// errRefused is part of the error of a request that the same spans cannot succeed with.
var errRefused = errors.New("it refuses these spans")

// post makes one request. refused is the number of spans that the collector has not taken, and after
// the time that it asks to wait for.
func (e *Exporter) post(ctx context.Context, body []byte) (refused uint64, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errRefused, err)
	}
	for name, value := range e.cfg.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch res.StatusCode {
	case http.StatusOK:
		return rejected(data), 0, nil // the spans are there, whatever the answer says
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, wrong := strconv.Atoi(res.Header.Get("Retry-After"))
		if wrong == nil && seconds > 0 {
			after = min(time.Duration(seconds)*time.Second, time.Minute)
		}
		return 0, after, errors.Join(fmt.Errorf("it answers %s", res.Status), err)
	}
	return 0, 0, fmt.Errorf("%w: %s", errRefused, res.Status)
}
