package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shellSession is a model with a shell of the same user, without a terminal.
type shellSession struct {
	t    *testing.T
	home string
	url  string
	key  string
	ref  string // the thread that waits for a person
}

// startWithQuestion starts messkit and sends a request whose confirmation needs a person.
func startWithQuestion(t *testing.T, args ...string) *shellSession {
	t.Helper()
	home := t.TempDir()
	p, err := start(home, append([]string{"messkit", "run", "--listen", "127.0.0.1:0", "--mqtt", "off"}, args...)...)
	if err != nil || p.url == "" {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	key, err := os.ReadFile(filepath.Join(home, ".mess", "operator.key"))
	if err != nil {
		t.Fatal(err)
	}
	s := &shellSession{t: t, home: home, url: strings.TrimSuffix(p.url, "/api/v1/exchanges/home"), key: strings.TrimSpace(string(key))}
	s.request("unlock the front door")
	return s
}

// request sends a request with risk, and waits for the question.
func (s *shellSession) request(intent string) {
	s.t.Helper()
	out, err := s.run("", "ask", intent, "--json")
	var made struct{ Ref string }
	if json.Unmarshal([]byte(out), &made); made.Ref == "" {
		s.t.Fatalf("%v %s", err, out)
	}
	s.ref = made.Ref
	s.waitStatus("needs_confirmation")
}

// run runs messkit with an input that is no terminal.
func (s *shellSession) run(input string, args ...string) (string, error) {
	c := exec.CommandContext(s.t.Context(), "messkit", args...)
	c.Dir = s.home
	c.Env = append(os.Environ(), "HOME="+s.home, "MESSKIT_URL="+s.url)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	return string(out), err
}

// call calls the exchange, with the key or with the cookies of a browser. It returns the status
// code and the body.
func (s *shellSession) call(b *http.Client, method, path, body string, heads ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if b == nil {
		b = http.DefaultClient
		r.Header.Set("Authorization", "Bearer "+s.key)
	} else {
		r.Header.Set("Origin", s.url)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(heads); i += 2 {
		r.Header.Set(heads[i], heads[i+1])
	}
	res, err := b.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, res.Body); err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, text.String()
}

func (s *shellSession) requestPath() string { return "/api/v1/exchanges/home/requests/" + s.ref }

func (s *shellSession) waitStatus(status string) {
	s.t.Helper()
	text := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, text = s.call(nil, http.MethodGet, s.requestPath(), ""); strings.Contains(text, `"status":"`+status+`"`) {
			return
		}
	}
	s.t.Fatalf("status does not become %s: %s", status, text)
}

func newBrowser(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

const confirmationItem = `{"mess": [{"reply": {"confirm": true}}]}`

// tryConfirmations has the model try every way to confirm, and to act as an operator. Every attempt must
// fail.
func (s *shellSession) tryConfirmations() {
	s.t.Helper()
	no := func(what string, right bool, got string) {
		s.t.Helper()
		if right {
			s.t.Errorf("%s: is let through: %s", what, got)
		}
	}
	for _, c := range []struct {
		input string
		args  []string
	}{
		{"", []string{"reply", s.ref, "--yes"}},
		{"", []string{"reply", s.ref, "yes"}},
		{"y\n", []string{"reply", s.ref}},
		{"", []string{"reply", s.ref, "--code", "000000"}},
		{"y\n", []string{"keys", "issue", "mine", "operator"}},
		{"y\n", []string{"keys", "rotate", "operator"}},
	} {
		out, err := s.run(c.input, c.args...)
		no("messkit "+strings.Join(c.args, " "), err == nil || strings.Contains(out, "mess_home_"), out)
	}
	for _, pid := range []int{os.Getpid(), os.Getppid(), 1, -1} {
		code, got := s.call(nil, http.MethodPatch, s.requestPath(), confirmationItem, "Messkit-Terminal", fmt.Sprint(pid))
		no(fmt.Sprintf("the header with process %d", pid), code == http.StatusOK, got)
	}
	code, got := s.call(nil, http.MethodPatch, s.requestPath(), `{"mess": [{"answer": {"value": true}}]}`)
	no("an answer", code == http.StatusOK, got)

	// A page that a program has signed in does not count as a person.
	byKey, byLink := newBrowser(s.t), newBrowser(s.t)
	if code, got := s.call(byKey, http.MethodPost, "/console/session", `{"key": "`+s.key+`"}`); code != http.StatusOK {
		s.t.Fatal(got)
	}
	out, err := s.run("", "console")
	_, token, ok := strings.Cut(strings.TrimSpace(out), "#")
	if err != nil || !ok {
		s.t.Fatalf("%v %s", err, out)
	}
	if why := "cannot confirm plans with risk: the input of this command is no terminal"; !strings.Contains(out, why) {
		s.t.Errorf("messkit console without a terminal: %q, want %q", out, why)
	}
	if code, got := s.call(byLink, http.MethodPost, "/console/session", `{"link": "`+token+`"}`); code != http.StatusOK {
		s.t.Fatal(got)
	}
	for name, b := range map[string]*http.Client{"by its key": byKey, "by a link": byLink} {
		code, got := s.call(b, http.MethodPatch, s.requestPath(), confirmationItem)
		no("a page signed in "+name, code == http.StatusOK, got)
		code, got = s.call(b, http.MethodPost, "/console/code", `{"ref": "`+s.ref+`"}`)
		no("the code for a page signed in "+name, code < 300, got)
		_, got = s.call(b, http.MethodGet, "/console/who", "")
		if want := fmt.Sprintf(`"person":false,"link":%t`, b == byLink); !strings.Contains(got, want) { // the page tells its reason by this
			s.t.Errorf("a page signed in %s: %s, want %s", name, got, want)
		}
	}
	for _, c := range [][3]string{
		{http.MethodPost, "/api/v1/exchanges/home/keys", `{"actor": "mine", "roles": ["operator"]}`},
		{http.MethodPost, "/api/v1/exchanges/home/keys/operator/rotate", `{}`},
	} {
		code, got := s.call(nil, c[0], c[1], c[2])
		no(c[1], code < 300, got)
	}
	if code, got := s.call(nil, http.MethodPost, "/api/v1/exchanges/home/keys", `{"actor": "mine", "roles": ["requester"]}`); code != http.StatusCreated {
		s.t.Fatal(got)
	}
	code, got = s.call(nil, http.MethodPatch, "/api/v1/exchanges/home/keys/mine", `{"roles": ["operator", "requester"]}`)
	no("the role operator", code < 300, got)
	s.waitStatus("needs_confirmation")
}

// signIn signs a browser in with the link that messkit console shows at a terminal.
func (s *shellSession) signIn() *http.Client {
	s.t.Helper()
	out, err := runAtTerminal(s.t, s.home, s.url, nil, "console")
	_, token, ok := strings.Cut(strings.TrimSpace(out), "#")
	if err != nil || !ok {
		s.t.Fatalf("%v %s", err, out)
	}
	b := newBrowser(s.t)
	if code, got := s.call(b, http.MethodPost, "/console/session", `{"link": "`+token+`"}`); code != http.StatusOK {
		s.t.Fatal(got)
	}
	return b
}

// A program without a terminal cannot confirm a risky task with any key. A person can confirm it
// at a terminal, or with the button on the page.
func TestProgramWithoutTerminalConfirmsNothing(t *testing.T) {
	s := startWithQuestion(t)
	s.tryConfirmations()
	out, err := runAtTerminal(t, s.home, s.url, map[string]string{"do it? [y/N] ": "y\n"}, "reply", s.ref)
	if err != nil || !strings.Contains(out, "front door") {
		t.Errorf("at a terminal: %v %s", err, out)
	}
	s.waitStatus("completed")

	s.request("open the garage door")
	if out, err := runAtTerminal(t, s.home, s.url, nil, "reply", s.ref, "--yes"); err == nil || !strings.Contains(out, "hint: messkit reply "+s.ref+" without --yes asks you") {
		t.Errorf("--yes at a terminal: %v %s", err, out)
	}
	if code, got := s.call(s.signIn(), http.MethodPatch, s.requestPath(), confirmationItem); code != http.StatusOK {
		t.Errorf("on the page: %s", got)
	}
	s.waitStatus("completed")

	if out, err := runAtTerminal(t, s.home, s.url, map[string]string{"meant? [y/N] ": "y\n"}, "keys", "rotate", "operator", "--save", filepath.Join(s.home, "new.key")); err != nil {
		t.Errorf("a new key of the operator at a terminal: %v %s", err, out)
	}
	if key, err := os.ReadFile(filepath.Join(s.home, "new.key")); err != nil || strings.TrimSpace(string(key)) == s.key {
		t.Errorf("no new key: %v", err)
	}
	if out, err := runAtTerminal(t, s.home, s.url, map[string]string{"meant? [y/N] ": "n\n"}, "keys", "issue", "ana", "operator"); err == nil || strings.Contains(out, "mess_home_") {
		t.Errorf("a no to an operator's key: %s", out)
	}
	if out, err := runAtTerminal(t, s.home, s.url, map[string]string{"meant? [y/N] ": "y\n"}, "keys", "issue", "ana", "operator"); err != nil || !strings.Contains(out, "mess_home_") {
		t.Errorf("an operator's key at a terminal: %v %s", err, out)
	}
}

// With `confirm: page` the exchange rejects a confirmation at a terminal. With `confirm: code`
// the page shows a code that confirms one question from anywhere.
func TestConfirmSettingDecidesWhereToConfirm(t *testing.T) {
	s := startWithQuestion(t, "--confirm", "page")
	s.tryConfirmations()
	if out, err := runAtTerminal(t, s.home, s.url, map[string]string{"do it? [y/N] ": "y\n"}, "reply", s.ref); err == nil || !strings.Contains(out, "hint: messkit console") || strings.Contains(out, "--yes") {
		t.Errorf("a terminal under page: %v %s", err, out)
	}
	out, _ := runAtTerminal(t, s.home, s.url, map[string]string{"do it? [y/N] ": "y\n", "shows a link to the page": ctrlC}, "ask", "open the garage door", "--wait")
	if !strings.Contains(out, "(exchange: confirm: page)") || !strings.Contains(out, "  messkit console at a terminal") {
		t.Errorf("ask --wait under page: %s", out)
	}
	first := s.signIn()
	_, got := s.call(first, http.MethodPost, "/console/link", `{}`)
	var l struct{ Path string }
	if err := json.Unmarshal([]byte(got), &l); err != nil {
		t.Fatal(err)
	}
	phone := newBrowser(t) // signed in from the page
	if code, got := s.call(phone, http.MethodPost, "/console/session", `{"link": "`+strings.TrimPrefix(l.Path, "/#")+`"}`); code != http.StatusOK {
		t.Fatal(got)
	}
	if code, got := s.call(phone, http.MethodPatch, s.requestPath(), confirmationItem); code != http.StatusOK {
		t.Errorf("on the phone: %s", got)
	}
	s.waitStatus("completed")

	s = startWithQuestion(t, "--confirm", "code")
	s.tryConfirmations()
	b := s.signIn()
	if code, got := s.call(b, http.MethodPatch, s.requestPath(), confirmationItem); code == http.StatusOK {
		t.Errorf("the page without a code: %s", got)
	}
	if out, err := s.run("", "reply", s.ref, "--yes"); err == nil || !strings.Contains(out, "--code CODE") {
		t.Errorf("without the code: %v %s", err, out)
	}
	_, got = s.call(b, http.MethodPost, "/console/code", `{"ref": "`+s.ref+`"}`)
	var shown struct{ Code string }
	if err := json.Unmarshal([]byte(got), &shown); err != nil || len(shown.Code) != 6 {
		t.Fatalf("%v %s", err, got)
	}
	if out, err := s.run("", "reply", s.ref, "--code", shown.Code); err != nil {
		t.Errorf("with the code: %v %s", err, out)
	}
	s.waitStatus("completed")
}

// status and doctor warn about a model of the same user, unless confirmations come from the page.
func TestModelOfSameUserCausesWarning(t *testing.T) {
	for by, warns := range map[string]bool{"terminal": true, "script": true, "page": false, "code": false} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			s := startWithQuestion(t, "--confirm", by)
			if out, err := s.run("", "status"); err != nil || strings.Contains(out, "WARNING") {
				t.Errorf("%s: before: %v %s", by, err, out)
			}
			in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mess_status","arguments":{}}}
`
			if out, err := s.run(in, "mcp"); err != nil || !strings.Contains(out, `"id":2`) {
				t.Fatalf("%v %s", err, out)
			}
			for _, command := range []string{"status", "doctor"} {
				out, _ := s.run("", command) // the doctor reports other problems, too
				if strings.Contains(out, "a model's interface runs as the user of the exchange") != warns {
					t.Errorf("%s under %s: %s", command, by, out)
				}
			}
		})
	}
}
