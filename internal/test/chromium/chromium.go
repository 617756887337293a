// Package chromium drives a headless Chromium for tests of pages. Only tests import it.
package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// timeout is the time limit for each operation. The machine may be busy.
const timeout = time.Minute

// OtherHost is an address at which a browser reaches this machine and takes it for another one: its pages
// have no Web Locks over plain HTTP, for example.
const OtherHost = "192.0.2.7"

// Browser is a Chromium with its own profile. It ends with the test.
type Browser struct {
	ctx     context.Context
	options []chromedp.ContextOption // of its tabs
}

// Tab is a page in a browser.
type Tab struct {
	ctx context.Context
	t   *testing.T

	mu     sync.Mutex
	faults []string // errors of the page
}

// Start starts a browser with windows, which hide each other's tabs, or skips the test if Chromium is not
// installed. A flag is as on the command line.
func Start(t *testing.T, flags ...string) *Browser {
	t.Helper()
	ctx, end, err := launch([]string{"chromium"}, chromedp.UserDataDir(t.TempDir()), flags)
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(end)
	return &Browser{ctx: ctx}
}

// errMissing reports that Chromium is not installed.
var errMissing = errors.New("chromium is not there (apt-get install chromium)")

// missing ends a test that has no browser.
func missing(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errMissing) {
		t.Skipf("SKIP: %v", err)
	}
	t.Fatal(err)
}

// shared is the browser whose process all callers of Share use.
var shared struct {
	mu  sync.Mutex
	ctx context.Context
	end func()
}

// Share returns a browser with cookies, storage and permissions of its own, in one process for all
// tests of a program: the start of a process takes as long as a small test. Each of its pages is
// visible. A program that calls Share calls Close when its tests have ended.
func Share(t *testing.T) *Browser {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ctx == nil || shared.ctx.Err() != nil {
		// The second is the same engine without a window, and takes half the time.
		ctx, end, err := launch([]string{"chromium", "chromium-headless-shell"}, func(*chromedp.ExecAllocator) {}, nil)
		if err != nil {
			missing(t, err)
		}
		shared.ctx, shared.end = ctx, end
	}
	direct := cdp.WithExecutor(shared.ctx, chromedp.FromContext(shared.ctx).Browser)
	own, err := target.CreateBrowserContext().Do(direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.DisposeBrowserContext(own).Do(direct); err != nil {
			t.Error(err)
		}
	})
	// The first page of a profile needs a window; the browser makes none by itself.
	if _, err := target.CreateTarget("about:blank").WithBrowserContextID(own).WithNewWindow(true).Do(direct); err != nil {
		t.Fatal(err)
	}
	return &Browser{shared.ctx, []chromedp.ContextOption{chromedp.WithExistingBrowserContext(own)}}
}

// Close ends the browser of Share, if any.
func Close() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ctx != nil {
		shared.end()
		shared.ctx = nil
	}
}

// launch starts a process of the last of the programs that is installed. Without a folder for the
// profile it has a temporary one, which end removes.
func launch(programs []string, profile chromedp.ExecAllocatorOption, flags []string) (ctx context.Context, end func(), err error) {
	name := ""
	for _, program := range programs {
		if found, err := exec.LookPath(program); err == nil {
			name = found
		}
	}
	if name == "" {
		return nil, nil, errMissing
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(name), profile, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.WSURLReadTimeout(timeout), chromedp.ModifyCmdFunc(inGroup),
	}
	flags = append([]string{"--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars=false", "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP " + OtherHost + " 127.0.0.1"}, flags...)
	for _, flag := range flags {
		name, value, ok := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		if ok {
			options = append(options, chromedp.Flag(name, value))
		} else {
			options = append(options, chromedp.Flag(name, true))
		}
	}
	all, endAll := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeFirst := chromedp.NewContext(all)
	end = func() {
		closeFirst()
		endAll()
		if c := chromedp.FromContext(ctx); c.Allocator != nil {
			c.Allocator.Wait()
		}
	}
	if err := chromedp.Run(ctx); err != nil {
		end()
		return nil, nil, err
	}
	return ctx, end, nil
}

// inGroup lets the browser and all its processes end together.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// Open opens a tab of a size in CSS pixels, for a test or a part of one.
func (b *Browser) Open(t *testing.T, width, height int) *Tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, b.options...)
	t.Cleanup(closeTab) // a browser opens six connections to a server at most, and each page keeps some
	p := &Tab{ctx: ctx, t: t}
	chromedp.ListenTarget(ctx, p.event)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	p.Size(width, height)
	return p
}

// event records errors of the page.
func (p *Tab) event(event any) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = e.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			fault = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if fault == "" {
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

// run carries out actions within the time limit, and ends the test on an error.
func (p *Tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := p.try(actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Tab) try(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// Call calls a method of the DevTools protocol.
func (p *Tab) Call(method string, params, result any) {
	p.t.Helper()
	p.run(chromedp.ActionFunc(func(ctx context.Context) error { return cdp.Execute(ctx, method, params, result) }))
}

// Size sets the size of the window, in CSS pixels.
func (p *Tab) Size(width, height int) {
	p.t.Helper()
	p.run(emulation.SetDeviceMetricsOverride(int64(width), int64(height), 1, width < 600))
}

// Dark selects the dark or the light color scheme.
func (p *Tab) Dark(dark bool) {
	p.t.Helper()
	value := map[bool]string{true: "dark", false: "light"}[dark]
	p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}))
}

// Front makes the tab visible. The browser hides tabs behind another one.
func (p *Tab) Front() {
	p.t.Helper()
	p.run(page.BringToFront())
	p.Until(`!document.hidden`)
}

// Offline disconnects or reconnects the network.
func (p *Tab) Offline(offline bool) {
	p.t.Helper()
	p.run(network.EmulateNetworkConditions(offline, 0, -1, -1))
}

// Allow grants permissions, such as "geolocation", to the pages of an origin.
func (p *Tab) Allow(origin string, permissions ...browser.PermissionType) {
	p.t.Helper()
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		c := chromedp.FromContext(ctx)
		return browser.GrantPermissions(permissions).WithOrigin(origin).WithBrowserContextID(c.BrowserContextID).Do(cdp.WithExecutor(ctx, c.Browser))
	}))
}

// Go goes to an address.
func (p *Tab) Go(url string) {
	p.t.Helper()
	p.Call("Page.navigate", map[string]string{"url": url}, nil)
	p.Until(`document.readyState === "complete"`)
}

// Reload reloads the page.
func (p *Tab) Reload() {
	p.t.Helper()
	p.Eval(`void (window.before = true)`, nil)
	p.run(page.Reload())
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
	return p.try(chromedp.ActionFunc(func(ctx context.Context) error {
		v, problem, err := runtime.Evaluate(expression).WithReturnByValue(true).WithAwaitPromise(true).WithUserGesture(true).Do(ctx)
		switch {
		case err != nil:
			return err
		case problem != nil:
			return errors.New(problem.Error())
		case result == nil || v.Value == nil:
			return nil
		}
		return json.Unmarshal(v.Value, result)
	}))
}

// DeliverPush gives the service worker of the page a push message, as a push service does.
func (p *Tab) DeliverPush(origin, data string) {
	p.t.Helper()
	ids := make(chan serviceworker.RegistrationID, 1)
	ctx, end := context.WithCancel(p.ctx)
	defer end()
	chromedp.ListenTarget(ctx, func(event any) {
		e, ok := event.(*serviceworker.EventWorkerRegistrationUpdated)
		if !ok || len(e.Registrations) == 0 {
			return
		}
		select {
		case ids <- e.Registrations[0].RegistrationID:
		default:
		}
	})
	p.run(serviceworker.Disable(), serviceworker.Enable()) // the browser tells all registrations again
	select {
	case id := <-ids:
		p.run(serviceworker.DeliverPushMessage(origin, id, data))
	case <-time.After(timeout):
		p.t.Fatal("the browser names no service worker")
	}
}

// EvalInWorker evaluates an expression in the service worker of the browser, and waits for its
// promise.
func (p *Tab) EvalInWorker(expression string, result any) {
	p.t.Helper()
	all, err := chromedp.Targets(p.ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, one := range all {
		if one.Type != "service_worker" {
			continue
		}
		worker, end := chromedp.NewContext(p.ctx, chromedp.WithTargetID(one.TargetID))
		defer end()
		ctx, cancel := context.WithTimeout(worker, timeout)
		defer cancel()
		wait := func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }
		if err := chromedp.Run(ctx, chromedp.Evaluate(expression, result, wait)); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	p.t.Fatal("there is no service worker")
}

// Until waits until an expression, or its promise, is true.
func (p *Tab) Until(expression string) {
	p.t.Helper()
	for pause, end := time.Millisecond, time.Now().Add(timeout); ; pause = min(2*pause, 100*time.Millisecond) {
		var is bool
		err := p.eval("(async () => Boolean(await ("+expression+")))()", &is)
		if is {
			return
		}
		if time.Now().After(end) {
			var text string
			_ = p.eval(`document.body.innerText.split(/\s*\n\s*/).join(" / ")`, &text) // a log may leave out lines
			p.t.Fatalf("never: %s (%v)\n%s\nthe page:\n%s", expression, err, strings.Join(p.Faults(), "\n"), text)
		}
		time.Sleep(pause)
	}
}

// Text waits until the page shows a text.
func (p *Tab) Text(text string) {
	p.t.Helper()
	p.Until("document.body.innerText.includes(" + quote(text) + ")")
}
