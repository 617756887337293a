package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/freeport"
)

// unpackFixture unpacks what messkit of commit eba9bba has left (testdata/compat.md).
func unpackFixture(t *testing.T, part string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command("tar", "-xzf", "testdata/compat.tar.gz", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	return filepath.Join(dir, "compat", part)
}

// upgraded is a system that goes on in the data folder of an earlier release.
type upgraded struct {
	*testing.T
	dir  string
	mqtt string // address of its broker
	proc *process
	refs map[string]string // the threads, by what the fixture calls them
}

// unpackSystem unpacks a system of the fixture. At the end of the test, today's messkit in it must
// end by itself.
func unpackSystem(t *testing.T, part string) *upgraded {
	t.Helper()
	s := &upgraded{T: t, dir: unpackFixture(t, part), proc: &process{}, refs: map[string]string{}}
	for line := range strings.Lines(s.recorded("refs")) {
		name, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		s.refs[name] = ref
	}
	t.Cleanup(func() {
		if s.proc.cmd == nil {
			return
		}
		if err := s.proc.stop(); err != nil {
			t.Errorf("%v\n%s", err, &s.proc.stderr)
		}
	})
	return s
}

// start starts today's messkit with the configuration of the earlier one. Only the ports differ from the configuration, because several tests may run
// on one machine.
func (s *upgraded) start() {
	s.Helper()
	s.mqtt = freeport.Address(s.T)
	p, err := start(s.dir, "sh", "-c", `cd "$HOME" && exec messkit run --config mess.yaml --listen 127.0.0.1:0 --mqtt `+s.mqtt)
	if err != nil || p.url == "" {
		s.Fatalf("%v\n%s", err, &p.stderr)
	}
	s.proc = p
}

// recorded returns a file that the earlier messkit has answered with.
func (s *upgraded) recorded(name string) string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "want", name))
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}

// key returns the key of an actor, as the earlier messkit has made it.
func (s *upgraded) key(actor string) string {
	s.Helper()
	key, err := os.ReadFile(filepath.Join(s.dir, actor+".key"))
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(string(key))
}

// call calls the exchange with the key of an actor. A path of the root begins with two slashes.
func (s *upgraded) call(actor, method, path, body string) (int, string) {
	s.Helper()
	url := s.proc.url + path
	if root, ok := strings.CutPrefix(path, "//"); ok {
		url = strings.TrimSuffix(s.proc.url, "/api/v1/exchanges/home") + "/" + root
	}
	req, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key(actor))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// report sends items of MESS about a thread, and checks the status that it gets.
func (s *upgraded) report(actor, thread, items, status string) {
	s.Helper()
	code, body := s.call(actor, http.MethodPatch, "/requests/"+s.refs[thread], `{"mess": [`+items+`]}`)
	if want := fmt.Sprintf("%q:%q", "status", status); code != http.StatusOK || !strings.Contains(body, want) {
		s.Errorf("%s of %s: %d %s, want %s", thread, actor, code, body, want)
	}
}

// ask sends a request, and returns the thread when it has ended.
func (s *upgraded) ask(actor, intent string) string {
	s.Helper()
	code, body := s.call(actor, http.MethodPost, "/requests", fmt.Sprintf(`{"intent": %q}`, intent))
	var made struct{ Ref string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || code != http.StatusCreated {
		s.Fatalf("%s: %d %s", intent, code, body)
	}
	s.refs[intent] = made.Ref
	return s.until(intent, "completed", "failed", "declined")
}

// until waits until a thread has one of these statuses, and returns the thread.
func (s *upgraded) until(thread string, status ...string) (text string) {
	s.Helper()
	s.waitFor(thread+" becomes "+strings.Join(status, " or "), func() bool {
		_, text = s.call("operator", http.MethodGet, "/requests/"+s.refs[thread], "")
		return slices.ContainsFunc(status, func(c string) bool { return strings.Contains(text, `"status":"`+c+`"`) })
	})
	return text
}

func (s *upgraded) waitFor(what string, true func() bool) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if true() {
			return
		}
	}
	s.Fatalf("%s: not within %v\n%s", what, patience, &s.proc.stderr)
}

// messkit runs a command in the system's folder.
func (s *upgraded) messkit(args ...string) string {
	s.Helper()
	c := exec.CommandContext(s.Context(), "messkit", args...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "HOME="+s.dir, "MESSKIT_URL="+strings.TrimSuffix(s.proc.url, "/api/v1/exchanges/home"), "MESSKIT_KEY_FILE="+filepath.Join(s.dir, "operator.key"))
	out, err := c.CombinedOutput()
	if err != nil {
		s.Errorf("messkit %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// changedByRestart lists the threads that the executor takes up at its start: it asks again for a
// confirmation, and reports work that the kill has cut off.
var changedByRestart = []string{"confirms", "cut"}

// checkThreads compares the threads, their histories and their attachments with what the earlier messkit
// said.
func (s *upgraded) checkThreads() {
	s.Helper()
	for name, ref := range s.refs {
		var want, got struct{ Thread map[string]any }
		code, body := s.call("operator", http.MethodGet, "/requests/"+ref, "")
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK {
			s.Errorf("%s: %d %s", name, code, body)
			continue
		}
		if err := json.Unmarshal([]byte(s.recorded(ref+".json")), &want); err != nil {
			s.Fatal(err)
		}
		if slices.Contains(changedByRestart, name) {
			old, _ := want.Thread["messages"].([]any)
			now, _ := got.Thread["messages"].([]any)
			want.Thread, got.Thread = map[string]any{"messages": old}, map[string]any{"messages": now[:min(len(now), len(old))]}
		}
		if at := difference("thread", got.Thread, want.Thread); at != "" {
			s.Errorf("%s: %s\n%s", name, at, body)
		}
	}
	for line := range strings.Lines(s.recorded("attachments")) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		ref, file, _ := strings.Cut(name, "/")
		code, body := s.call("operator", http.MethodGet, "/requests/"+ref+"/attachments/"+file, "")
		if got := sha256.Sum256([]byte(body)); code != http.StatusOK || hex.EncodeToString(got[:]) != sum {
			s.Errorf("%s: %d, %d other bytes", name, code, len(body))
		}
	}
}

// difference returns the first place where got has not what want has; got may have more fields, but no
// more elements of a list.
func difference(at string, got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k, w := range want {
			if _, ok := g[k]; !ok {
				return at + "." + k + " is missing"
			}
			if d := difference(at+"."+k, g[k], w); d != "" {
				return d
			}
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(want) {
			return fmt.Sprintf("%s has %d elements, want %d", at, len(g), len(want))
		}
		for i, w := range want {
			if d := difference(fmt.Sprintf("%s[%d]", at, i), g[i], w); d != "" {
				return d
			}
		}
	default:
		if !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
	}
	return ""
}

// startReceiver starts an HTTP server at an address from the fixture. It sends what comes to the
// channel that it returns.
func (s *upgraded) startReceiver(address string) <-chan *http.Request {
	s.Helper()
	var l net.Listener
	s.waitFor("listen at "+address, func() (ok bool) { // another run of this test may use it
		var err error
		l, err = net.Listen("tcp", address)
		return err == nil
	})
	came := make(chan *http.Request, 1024)
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		select {
		case came <- r:
		default: // the test has seen enough
		}
		w.WriteHeader(http.StatusAccepted)
	})}}
	server.Start()
	s.Cleanup(server.Close)
	return came
}

// awaitRequest waits for a request whose body contains a text.
func (s *upgraded) awaitRequest(came <-chan *http.Request, part string) (*http.Request, []byte) {
	s.Helper()
	end := time.After(patience)
	for {
		select {
		case r := <-came:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				s.Fatal(err)
			}
			if bytes.Contains(body, []byte(part)) {
				return r, body
			}
		case <-end:
			s.Fatalf("no request with %q within %v\n%s", part, patience, &s.proc.stderr)
		}
	}
}
