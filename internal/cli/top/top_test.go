package top_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/cli/top"
)

// exchangeOf serves metrics: each request gets the next text, and the last one again. It wants a key.
func exchangeOf(t *testing.T, texts ...string) string {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "Bearer key" {
			http.Error(w, `{"error":"no"}`, http.StatusUnauthorized)
			return
		}
		i := min(int(asked.Add(1)), len(texts)) - 1
		fmt.Fprint(w, texts[i])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// metricsOf returns metrics after a number of claims, of which each took from 10 to 25 ms.
func metricsOf(claims int, more ...string) string {
	return fmt.Sprintf(`# TYPE messkit_claims_total counter
messkit_claims_total %[1]d
messkit_requests_created_total %[2]d
messkit_claim_wait_seconds_bucket{le="0.01"} 0
messkit_claim_wait_seconds_bucket{le="0.025"} %[1]d
messkit_claim_wait_seconds_bucket{le="+Inf"} %[1]d
messkit_threads_open{status="pending"} 3
messkit_threads_open{status="claimed"} 0
messkit_threads_open{status="in_progress"} 2
messkit_executors{presence="present"} 4
messkit_executors{presence="absent"} 1
messkit_store_writable 1
messkit_build_info{version="1.2.3"} 1
`, claims, 2*claims) + strings.Join(more, "")
}

// run runs messkit top with a key.
func run(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	c := top.Command(&output.Env{Out: &b, Err: &b})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{"--key-file", key}, args...))
	err = c.ExecuteContext(t.Context())
	return b.String(), err
}

// The load is what has happened between two scrapes, and not since the start. The figures are those
// that histogram_quantile of Prometheus gives.
func TestLoadOfTwoExchanges(t *testing.T) {
	t.Parallel()
	first, restarted := exchangeOf(t, metricsOf(1000), metricsOf(1100)), exchangeOf(t, metricsOf(5000), metricsOf(10))
	dead := "http://127.0.0.1:1"
	text, err := run(t, "--json", first, restarted, dead)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Nodes []top.Node }
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Nodes) != 3 {
		t.Fatalf("%v: %s", err, text)
	}
	near := func(what string, got, want, off float64) {
		t.Helper()
		if got < want-off || got > want+off {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	a, b := got.Nodes[0], got.Nodes[1]
	near("claims/s", a.Claims, 100, 15)
	near("requests/s", a.Requests, 200, 30)
	near("p50", *a.ClaimWait.P50, 0.0175, 1e-9)
	near("p99", *a.ClaimWait.P99, 0.02485, 1e-9)
	near("claims/s after a restart", b.Claims, 10, 2)
	near("p50 after a restart", *b.ClaimWait.P50, 0.0175, 1e-9)
	if a.Present != 4 || a.Absent != 1 || len(a.Threads) != 2 || a.Threads["in_progress"] != 2 || !a.Writable || a.Version != "1.2.3" {
		t.Errorf("%+v", a)
	}
	if a.Append.P50 != nil || a.Answer.P99 != nil {
		t.Errorf("quantiles of nothing: %v %v", a.Append, a.Answer)
	}
	if dead := got.Nodes[2]; !strings.Contains(dead.Error, "cannot be reached") {
		t.Errorf("%+v", dead)
	}
}

func TestTopFails(t *testing.T) {
	t.Parallel()
	for text, args := range map[string][]string{
		"cannot be reached":      {"--once", "--url", "http://127.0.0.1:1"},
		"is this the address of": {"--once", exchangeOf(t, "<html>hello</html>")},
		"unknown flag":           {"--twice"},
	} {
		if out, err := run(t, args...); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v %s, want %s", args, err, out, text)
		}
	}
}

// The key of another exchange is named, with its file and its exchange, beside an exchange that takes it.
func TestKeyOfAnotherExchange(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":"unauthorized","message":"the exchange does not know the key; enroll again"}}`)
	}))
	t.Cleanup(refuses.Close)
	takes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, metricsOf(1)) }))
	t.Cleanup(takes.Close)
	file := filepath.Join(t.TempDir(), "office.key")
	for key, of := range map[string]string{"mess_office_my_secret": ", which is one of an exchange office_my", "secret": "", "mess__secret": ""} {
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := run(t, "--json", takes.URL, refuses.URL, "--key-file", file)
		var got struct{ Nodes []top.Node }
		if err != nil || json.Unmarshal([]byte(text), &got) != nil || len(got.Nodes) != 2 {
			t.Fatalf("%v: %s", err, text)
		}
		want := refuses.URL + " does not know the key in " + file + of + ": it is of another exchange, or it has ended; give a key of this exchange with --key-file; its data folder has operator.key"
		if is := got.Nodes[1].Error; is != want || strings.Contains(is, "secret:") {
			t.Errorf("%s\nwant %s", is, want)
		}
		if got.Nodes[0].Error != "" {
			t.Errorf("%+v", got.Nodes[0])
		}
		if _, err := run(t, "--once", refuses.URL, "--key-file", file); err == nil || strings.Contains(err.Error(), "enroll") {
			t.Errorf("%v", err)
		}
	}
}

func TestPage(t *testing.T) {
	p50, p99 := 0.012, 1.5
	node := top.Node{
		Address: "http://a:8420", Version: "1.2.3", UptimeS: 120, Requests: 12, Claims: 11.5, Ends: 11, HTTP: 100,
		ClaimWait: top.Quantiles{P50: &p50, P99: &p99}, Threads: map[string]int{"pending": 1, "needs_input": 2}, Present: 2, Absent: 1, Streams: 3,
		Writable: true, LogBytes: 2048, CPU: 0.25, Memory: 40 << 20, Goroutines: 55,
	}
	at := time.Date(2026, 11, 29, 9, 44, 59, 0, time.Local)
	const one = `09:44:59  http://a:8420  version 1.2.3, up 2m0s

requests       12.0 /s  claims 11.5 /s, ends 11.0 /s, refused 0.0 /s
HTTP          100.0 /s  3 event streams
threads           3 open  2 needs input, 1 pending
executors         2 here  1 away

claimed after   p50 12.0 ms, p99 1.5 s
HTTP answer     nothing measured
store append    nothing measured
store           writes, log 2048 bytes; feed lag 0.0 ms
process         CPU 25 %, memory 40 MB, 55 goroutines`
	if got := strings.Join(top.Lines([]top.Node{node}, at), "\n"); got != one {
		t.Errorf("got\n%s\nwant\n%s", got, one)
	}
	full, gone := node, top.Node{Address: "http://c:8420", Error: "no route"}
	full.Address, full.Writable = "http://b:8420", false
	got := strings.Join(top.Lines([]top.Node{node, full, gone}, at), "\n")
	for _, want := range []string{"09:44:59  3 exchanges  version", "requests       24.0 /s  claims 23.0 /s", "\nexecutors         2 here  1 away", "\nthreads           3 open", "CANNOT WRITE", "http://c:8420\nNOT REACHED  no route"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := strings.Join(top.Lines([]top.Node{gone}, at), "\n"); got != "09:44:59  http://c:8420\n\nNOT REACHED  http://c:8420  no route" {
		t.Errorf("got\n%s", got)
	}
}
