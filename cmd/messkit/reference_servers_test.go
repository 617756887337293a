package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/referenceserver"
	"github.com/messkit/messkit/mess"
)

// referenceClient sends requests to a reference server, as the server's own clients do.
type referenceClient struct {
	*testing.T
	url, key string
}

func (a *referenceClient) call(method, path string, in, out any) {
	a.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		a.Fatal(err)
	}
	r, err := http.NewRequestWithContext(a.Context(), method, a.url+"/api/v1/exchanges/home"+path, bytes.NewReader(body))
	if err != nil {
		a.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+a.key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		a.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 || json.Unmarshal(text, out) != nil {
		a.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, text, err)
	}
}

func (a *referenceClient) request(intent string) string {
	a.Helper()
	var v struct{ Ref string }
	a.call("POST", "/requests", map[string]any{"intent": intent, "response_hint": []string{"image"}}, &v)
	return v.Ref
}

// recordedThread is a thread on that server.
type recordedThread struct {
	Status   string
	Messages []struct {
		From string
		MESS json.RawMessage
	}
}

// waitStatus waits until a thread has the status, and returns the thread.
func (a *referenceClient) waitStatus(ref, status string) (t recordedThread) {
	a.Helper()
	var v struct{ Thread recordedThread }
	for end := time.Now().Add(patience); v.Thread.Status != status; <-time.After(20 * time.Millisecond) {
		if a.call("GET", "/requests/"+ref, nil, &v); time.Now().After(end) {
			a.Fatalf("%s is %s and not %s: %s", ref, v.Thread.Status, status, v.Thread.Messages)
		}
	}
	return v.Thread
}

// response returns the texts and the last image of the executor's responses.
func (t recordedThread) response() (words string, picture []byte) {
	for _, m := range t.Messages {
		var items mess.Message
		if items.UnmarshalJSON(m.MESS) != nil || m.From != "pi" {
			continue
		}
		for _, item := range items.Items {
			r, ok := item.(*mess.Response)
			if !ok {
				continue
			}
			for _, e := range r.Content {
				if text, ok := e.Text(); ok {
					words += text
				}
				if f, ok := e.Media(); ok {
					_, picture, _ = mess.ParseDataURI(f.URI)
				}
			}
		}
	}
	return words, picture
}

// startReferenceServer starts a reference server and a client that sends requests to it.
func startReferenceServer(t *testing.T, name string) (*referenceserver.Server, *referenceClient) {
	t.Helper()
	server, err := referenceserver.New(name)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(server)
	s.Config.IdleTimeout = server.KeepAlive()
	s.Start()
	t.Cleanup(s.Close)
	a := &referenceClient{T: t, url: s.URL}
	var v struct {
		Key string `json:"api_key"`
	}
	a.call("POST", "/register", map[string]string{"executor_id": "claude"}, &v)
	a.key = v.Key
	return server, a
}

// The released program works at each reference server: an image of the fridge, a lamp, and a
// question that needs an answer.
func TestReferenceServerRunsTasks(t *testing.T) {
	binary := buildMesskit(t)
	for _, name := range referenceserver.Names() {
		t.Run(name, func(t *testing.T) {
			_, a := startReferenceServer(t, name)
			dir := t.TempDir()
			lamp := filepath.Join(dir, "porch")
			config := fmt.Sprintf(`
connect: {url: %s, exchange: home, key_file: %s/pi.key, poll: 200ms}
agent: {id: pi, data: %s/data}
devices:
  fridge-camera: {driver: sim-camera, room: fridge, sees: [fridge]}
  porch-light: {driver: sim-lamp, area: porch, line: porch-lamp, file: %s}
  hall-light: {driver: sim-lamp, area: hall, line: hall-lamp}
`, a.url, dir, dir, lamp)
			if err := os.WriteFile(filepath.Join(dir, "pi.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := start(dir, binary, "run", "--config", filepath.Join(dir, "pi.yaml"))
			if err != nil || p.url == "" {
				t.Fatalf("messkit does not start: %v\n%s", err, &p.stderr)
			}
			fridge, porch, which := a.request("what's in the fridge?"), a.request("turn on the porch light"), a.request("turn on the light")

			words, picture := a.waitStatus(fridge, "completed").response()
			if http.DetectContentType(picture) != "image/jpeg" || len(picture) > 512_000 {
				t.Errorf("the fridge: %q, a picture of %d bytes", words, len(picture))
			}
			words, _ = a.waitStatus(porch, "completed").response()
			if is, err := os.ReadFile(lamp); err != nil || !strings.Contains(words, "porch light") || strings.Count(string(is), " on ") != 1 {
				t.Errorf("the porch light: %q; its line: %q %v", words, is, err)
			}
			asks := map[string]string{"express": "needs_input", "php": "needs-input"}[name]
			a.waitStatus(which, asks)
			var patched struct{ Status string }
			a.call("PATCH", "/requests/"+which, map[string]any{"mess": []any{map[string]any{"answer": map[string]any{"re": "last", "value": "hall light"}}}}, &patched)
			if words, _ = a.waitStatus(which, "completed").response(); !strings.Contains(words, "hall light") {
				t.Errorf("the light: %q", words)
			}
			if err := p.stop(); err != nil {
				t.Errorf("shutdown of messkit: %v\n%s", err, &p.stderr)
			}
			if log := p.stderr.String(); strings.Contains(log, "mess_home_") || strings.Contains(log, "level=ERROR") {
				t.Errorf("log of messkit: %s", log)
			}
		})
	}
}

// The reference servers drop confirm_before and requires, so the requests carry no safety policy.
// The executor asks for its own confirmation before it acts.
func TestExecutorConfirmsAtReferenceServer(t *testing.T) {
	binary := buildMesskit(t)
	for _, name := range referenceserver.Names() {
		t.Run(name, func(t *testing.T) {
			_, a := startReferenceServer(t, name)
			dir := t.TempDir()
			lamp := filepath.Join(dir, "lamp")
			config := fmt.Sprintf(`
connect: {url: %s, exchange: home, key_file: %s/pi.key, poll: 200ms}
agent: {id: pi, data: %s/data}
devices:
  desk-light: {driver: sim-lamp, area: study, line: desk, file: %s, limits: {confirm: requester}}
`, a.url, dir, dir, lamp)
			if err := os.WriteFile(filepath.Join(dir, "pi.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := start(dir, binary, "run", "--config", filepath.Join(dir, "pi.yaml"))
			if err != nil || p.url == "" {
				t.Fatalf("messkit does not start: %v\n%s", err, &p.stderr)
			}
			var made struct{ Ref string }
			a.call("POST", "/requests", map[string]any{"intent": "turn on the desk light", "confirm_before": true, "requires": []string{"no-such-thing"}}, &made)
			asks := map[string]string{"express": "needs_confirmation", "php": "needs-input"}[name]
			is := a.waitStatus(made.Ref, asks)
			if first := string(is.Messages[0].MESS); strings.Contains(first, "confirm_before") || strings.Contains(first, "requires") {
				t.Errorf("the server has kept them: %s", first)
			}
			acted := func() int {
				text, err := os.ReadFile(lamp)
				if err != nil && !os.IsNotExist(err) { // the file does not exist before the first act
					t.Error(err)
				}
				return strings.Count(string(text), " on ")
			}
			if n := acted(); n != 0 {
				t.Errorf("%d acts before the confirmation, want 0", n)
			}
			var patched struct{ Status string }
			a.call("PATCH", "/requests/"+made.Ref, map[string]any{"mess": []any{map[string]any{"reply": map[string]any{"re": made.Ref, "confirm": true}}}}, &patched)
			if a.waitStatus(made.Ref, "completed"); acted() != 1 {
				t.Errorf("%d acts after the confirmation, want 1", acted())
			}
			if err := p.stop(); err != nil {
				t.Errorf("shutdown of messkit: %v\n%s", err, &p.stderr)
			}
		})
	}
}

// Two nodes have the same lamps, and the server grants the claim to both, is slow, and fails now
// and then. No lamp gets two switch commands.
func TestTwoExecutorsAtReferenceServerSwitchOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const lamps = 6
	binary := buildMesskit(t)
	for _, name := range referenceserver.Names() {
		t.Run(name, func(t *testing.T) {
			server, a := startReferenceServer(t, name)
			dir := t.TempDir()
			line := func(n int) string { return filepath.Join(dir, fmt.Sprint("lamp-", n)) }
			for _, id := range []string{"pi-1", "pi-2"} {
				config := fmt.Sprintf("connect: {url: %s, exchange: home, key_file: %s/%s.key, poll: 200ms}\nagent: {id: %s, data: %s/%s}\ndevices:\n", a.url, dir, id, id, dir, id)
				for n := range lamps {
					config += fmt.Sprintf("  lamp-%c: {driver: sim-lamp, line: %s-%d, file: %s, initial: keep, safe: keep}\n", 'a'+n, id, n, line(n))
				}
				if err := os.WriteFile(filepath.Join(dir, id+".yaml"), []byte(config), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			server.SetLag(func() time.Duration { return rand.N(150 * time.Millisecond) })
			var failed atomic.Int32 // the failures are temporary: permanent random failures would lengthen the backoff of a node every time
			server.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
				if fails := strings.HasPrefix(r.UserAgent(), "messkit") && rand.N(10) == 0; !fails || failed.Add(1) > 30 {
					return false
				}
				w.WriteHeader(http.StatusBadGateway)
				return true
			})
			var boards []*process
			for _, id := range []string{"pi-1", "pi-2"} {
				p, err := start(dir, binary, "run", "--config", filepath.Join(dir, id+".yaml"))
				for tries := 0; err == nil && p.url == "" && tries < 20; tries++ { // the server answers 502 to the first calls
					p, err = start(dir, binary, "run", "--config", filepath.Join(dir, id+".yaml"))
				}
				if err != nil || p.url == "" {
					t.Fatalf("%s does not start: %v\n%s", id, err, &p.stderr)
				}
				boards = append(boards, p)
			}
			refs := map[string]int{}
			for n := range lamps {
				refs[a.request(fmt.Sprintf("turn on lamp %c", 'a'+n))] = n
			}
			for ref, n := range refs {
				a.waitStatus(ref, "completed")
				if is, err := os.ReadFile(line(n)); err != nil || strings.Count(string(is), " on ") != 1 {
					t.Errorf("lamp %d: %s, %v", n, is, err)
				}
			}
			for _, p := range boards {
				if err := p.stop(); err != nil {
					t.Errorf("%v\n%s", err, &p.stderr)
				}
			}
		})
	}
}

// The test kills the executor at any moment, at a server without leases. Every thread ends, no
// lamp gets two switch commands, and completed means that the lamp got one.
func TestKilledExecutorAtReferenceServer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const lamps = 8
	binary := buildMesskit(t)
	for _, name := range referenceserver.Names() {
		t.Run(name, func(t *testing.T) {
			_, a := startReferenceServer(t, name)
			dir := t.TempDir()
			line := func(n int) string { return filepath.Join(dir, fmt.Sprint("lamp-", n)) }
			config := fmt.Sprintf("connect: {url: %s, exchange: home, key_file: %s/pi.key, poll: 200ms, settle: 50ms}\nagent: {id: pi, data: %s/pi}\ndevices:\n", a.url, dir, dir)
			for n := range lamps {
				config += fmt.Sprintf("  lamp-%c: {driver: sim-lamp, effect: once, line: lamp-%d, file: %s, initial: keep, safe: keep}\n", 'a'+n, n, line(n))
			}
			if err := os.WriteFile(filepath.Join(dir, "pi.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			board := func() *process {
				p, err := start(dir, binary, "run", "--config", filepath.Join(dir, "pi.yaml"))
				if err != nil || p.url == "" {
					t.Fatalf("messkit does not start: %v\n%s", err, &p.stderr)
				}
				return p
			}
			p := board()
			refs := map[string]int{}
			for n := range lamps {
				refs[a.request(fmt.Sprintf("turn on lamp %c", 'a'+n))] = n
				<-time.After(rand.N(700 * time.Millisecond))
				if err := p.kill(); err != nil {
					t.Fatal(err)
				}
				p = board()
			}
			ends := map[string]int{}
			for ref, n := range refs {
				var v struct{ Thread recordedThread }
				for end := time.Now().Add(patience); v.Thread.Status != "completed" && v.Thread.Status != "failed" && v.Thread.Status != "cancelled"; <-time.After(20 * time.Millisecond) {
					if a.call("GET", "/requests/"+ref, nil, &v); time.Now().After(end) {
						t.Fatalf("%s is %s: %s\n%s", ref, v.Thread.Status, v.Thread.Messages, &p.stderr)
					}
				}
				ends[v.Thread.Status]++
				is, err := os.ReadFile(line(n)) // the file does not exist before the first act
				if on := strings.Count(string(is), " on "); err != nil && !os.IsNotExist(err) || on > 1 || v.Thread.Status == "completed" && on != 1 {
					t.Errorf("lamp %d, %s: %s, %v", n, v.Thread.Status, is, err)
				}
			}
			t.Logf("ended as %v", ends)
			if err := p.stop(); err != nil {
				t.Errorf("%v\n%s", err, &p.stderr)
			}
		})
	}
}
