// Package chromium drives a headless Chromium for tests of pages, over its
// DevTools protocol in a pipe. Only tests import it.
package chromium

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the time limit for each operation. The machine may be busy.
const patience = time.Minute

// Browser is a Chromium with its own profile. It ends with the test.
type Browser struct {
	out  *os.File
	mu   sync.Mutex
	next int
	wait map[int]chan reply
	tabs map[string]*Tab // by session
	over error
}

// Tab is a page in a browser.
type Tab struct {
	b       *Browser
	t       *testing.T
	session string

	mu     sync.Mutex
	faults []string // errors of the page
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Start starts a browser, or skips the test if Chromium is not installed.
func Start(t *testing.T, flags ...string) *Browser {
	t.Helper()
	name, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIP: chromium is not there (apt-get install chromium)")
	}
	toRead, in := pipe(t)
	out, toWrite := pipe(t)
	args := append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars=false",
		"--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(),
	}, flags...)
	c := exec.Command(name, append(args, "about:blank")...)
	c.ExtraFiles = []*os.File{toRead, toWrite}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = toRead.Close()
	_ = toWrite.Close()
	b := &Browser{out: in, wait: map[int]chan reply{}, tabs: map[string]*Tab{}}
	done := make(chan struct{})
	go func() { defer close(done); b.read(out) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		_ = in.Close()
		_ = out.Close()
		<-done
	})
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// read receives the messages of the browser. A zero byte ends each message.
func (b *Browser) read(out *os.File) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			b.end(err)
			return
		}
		var m struct {
			ID      int             `json:"id"`
			Session string          `json:"sessionId"`
			Method  string          `json:"method"`
			Params  json.RawMessage `json:"params"`
			reply
		}
		if json.Unmarshal(data[:len(data)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		ch, tab := b.wait[m.ID], b.tabs[m.Session]
		delete(b.wait, m.ID)
		b.mu.Unlock()
		if ch != nil {
			ch <- m.reply
		} else if tab != nil {
			tab.event(m.Method, m.Params)
		}
	}
}

func (b *Browser) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = err
	for id, ch := range b.wait {
		close(ch)
		delete(b.wait, id)
	}
}

func (b *Browser) call(session, method string, params, result any) error {
	b.mu.Lock()
	b.next++
	id, ch := b.next, make(chan reply, 1)
	if b.over != nil {
		b.mu.Unlock()
		return b.over
	}
	b.wait[id] = ch
	m := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		m["sessionId"] = session
	}
	data, err := json.Marshal(m)
	if err == nil {
		_, err = b.out.Write(append(data, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case r, ok := <-ch:
		switch {
		case !ok:
			return errors.New("chromium has ended")
		case r.Error != nil:
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(r.Result, result)
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer within %v", method, patience)
	}
}

type object = map[string]any

// Open opens a tab of a size in CSS pixels, for a test or a part of one.
func (b *Browser) Open(t *testing.T, width, height int) *Tab {
	t.Helper()
	var made struct{ TargetID string }
	var attached struct{ SessionID string }
	err := b.call("", "Target.createTarget", object{"url": "about:blank"}, &made)
	if err == nil {
		err = b.call("", "Target.attachToTarget", object{"targetId": made.TargetID, "flatten": true}, &attached)
	}
	if err != nil {
		t.Fatal(err)
	}
	tab := &Tab{b: b, t: t, session: attached.SessionID}
	b.mu.Lock()
	b.tabs[tab.session] = tab
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		tab.Call(domain+".enable", object{}, nil)
	}
	tab.Size(width, height)
	return tab
}

// event records errors of the page.
func (p *Tab) event(method string, params json.RawMessage) {
	var v struct {
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Entry struct{ Level, Text, URL string }
	}
	_ = json.Unmarshal(params, &v)
	fault := ""
	switch {
	case method == "Runtime.exceptionThrown":
		fault = v.ExceptionDetails.Text + " " + v.ExceptionDetails.Exception.Description
	case method == "Log.entryAdded" && v.Entry.Level == "error":
		fault = v.Entry.Text + " " + v.Entry.URL
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fault)
}

// Faults returns the errors of the page since the last call, except those that contain one of the
// texts.
func (p *Tab) Faults(but ...string) (faults []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
next:
	for _, f := range p.faults {
		for _, text := range but {
			if strings.Contains(f, text) {
				continue next
			}
		}
		faults = append(faults, f)
	}
	p.faults = nil
	return faults
}

// Call calls a method of the DevTools protocol.
func (p *Tab) Call(method string, params, result any) {
	p.t.Helper()
	if err := p.b.call(p.session, method, params, result); err != nil {
		p.t.Fatal(err)
	}
}

// Size sets the size of the window, in CSS pixels.
func (p *Tab) Size(width, height int) {
	p.t.Helper()
	p.Call("Emulation.setDeviceMetricsOverride", object{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
}

// Dark selects the dark or the light color scheme.
func (p *Tab) Dark(dark bool) {
	p.t.Helper()
	value := map[bool]string{true: "dark", false: "light"}[dark]
	p.Call("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": value}}}, nil)
}

// Front makes the tab visible. The browser hides tabs behind another one.
func (p *Tab) Front() {
	p.t.Helper()
	p.Call("Page.bringToFront", object{}, nil)
	p.Until(`!document.hidden`)
}

// Offline disconnects or reconnects the network.
func (p *Tab) Offline(offline bool) {
	p.t.Helper()
	p.Call("Network.emulateNetworkConditions", object{"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
}

// Allow grants permissions, such as "geolocation", to the pages of an origin.
func (p *Tab) Allow(origin string, permissions ...string) {
	p.t.Helper()
	if err := p.b.call("", "Browser.grantPermissions", object{"origin": origin, "permissions": permissions}, nil); err != nil {
		p.t.Fatal(err)
	}
}

// Go goes to an address.
func (p *Tab) Go(url string) {
	p.t.Helper()
	p.Call("Page.navigate", object{"url": url}, nil)
	p.Until(`document.readyState === "complete"`)
}

// Reload reloads the page.
func (p *Tab) Reload() {
	p.t.Helper()
	p.Eval(`void (window.before = true)`, nil)
	p.Call("Page.reload", object{}, nil)
	p.Until(`!window.before && document.readyState === "complete"`)
}

// Eval returns the value of an expression, which may be a promise.
func (p *Tab) Eval(expression string, result any) {
	p.t.Helper()
	if err := p.eval(expression, result); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

func (p *Tab) eval(expression string, result any) error {
	var v struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.b.call(p.session, "Runtime.evaluate", object{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &v)
	switch {
	case err != nil:
		return err
	case v.ExceptionDetails != nil:
		return errors.New(v.ExceptionDetails.Text + " " + v.ExceptionDetails.Exception.Description)
	case result == nil || v.Result.Value == nil:
		return nil
	}
	return json.Unmarshal(v.Result.Value, result)
}

// Until waits until an expression, or its promise, is true.
func (p *Tab) Until(expression string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; {
		var is bool
		err := p.eval("(async () => Boolean(await ("+expression+")))()", &is)
		if is {
			return
		}
		if time.Now().After(end) {
			var text string
			_ = p.eval("document.body.innerText", &text)
			p.t.Fatalf("never: %s (%v)\n%s\nthe page:\n%s", expression, err, strings.Join(p.Faults(), "\n"), text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Text waits until the page shows a text.
func (p *Tab) Text(text string) {
	p.t.Helper()
	p.Until("document.body.innerText.includes(" + quote(text) + ")")
}

// find returns an expression for the first visible element that matches a selector and contains
// the text.
func find(selector, text string) string {
	return "[...document.querySelectorAll(" + quote(selector) + ")].find((e) => e.checkVisibility() && e.textContent.includes(" + quote(text) + "))"
}

// Click waits until the first visible element that matches a selector and contains the text is
// enabled, and clicks on it.
func (p *Tab) Click(selector, text string) {
	p.t.Helper()
	p.Until(find(selector, text) + " && !" + find(selector, text) + ".disabled")
	p.Eval(find(selector, text)+".click()", nil)
}

// Fill writes a text into a field, like typing.
func (p *Tab) Fill(selector, text string) {
	p.t.Helper()
	p.Until(find(selector, ""))
	p.Eval("{ const e = "+find(selector, "")+"; e.focus(); e.select?.() }", nil)
	p.Call("Input.insertText", object{"text": text}, nil)
}

// keys are the keys that Press supports.
var keys = map[string]object{
	"Tab":   {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
	"Enter": {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
	"Space": {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
}

// Press presses a key: Tab, Enter or Space.
func (p *Tab) Press(key string) {
	p.t.Helper()
	down := object{"type": "keyDown"}
	for k, v := range keys[key] {
		down[k] = v
	}
	p.Call("Input.dispatchKeyEvent", down, nil)
	up := object{"type": "keyUp"}
	for k, v := range keys[key] {
		if k != "text" {
			up[k] = v
		}
	}
	p.Call("Input.dispatchKeyEvent", up, nil)
}

// Picture returns a screenshot of the window as PNG.
func (p *Tab) Picture() []byte {
	p.t.Helper()
	var v struct{ Data string }
	p.Call("Page.captureScreenshot", object{"format": "png"}, &v)
	data, err := base64.StdEncoding.DecodeString(v.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string is always valid JSON
	return string(b)
}
