package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/chromium"
)

// lostCommand is a command of the page that a fault meets. Its functions get the subject of one round: a
// ref, or the reason of a drain.
type lostCommand struct {
	name string
	view func(subject string) string // its address
	// prepare makes what the command is for, and returns the subject.
	prepare func(round string) string
	press   func(subject string)
	// problem and shown are expressions: the page says that the command was not sent, and shows its effect.
	problem, shown func(subject string) string
	// done is how often the exchange has carried it out. A drain and its end are states, so it is 1 at most.
	done func(subject string) int
}

// lostView is a page behind a proxy, and another browser that reaches the program without it.
type lostView struct {
	homeView
	other *chromium.Tab
	d     *dropper
	steps []time.Duration // from the effect at the exchange until both browsers show it
}

// item returns an expression for a part of a task in the list of those that wait for this user.
func item(ref, part string) string {
	return fmt.Sprintf(`document.querySelector('#needs li:has(a[href="#task/%s"]) %s')`, ref, part)
}

// detail returns an expression for a part of an open task.
func detail(ref, part string) string {
	return fmt.Sprintf(`document.querySelector("#detail[data-ref='%s'] %s")`, ref, part)
}

// row returns an expression for a part of the row of an executor.
func row(executor, part string) string {
	return fmt.Sprintf(`document.querySelector('.vrow:has(a[href="#executors/%s"]) %s')`, executor, part)
}

// asks makes a task that waits for a confirmation in the view of the tasks.
func (v *lostView) asks(intent string) string {
	v.t.Helper()
	ref := v.request(`{"intent": "` + intent + `", "confirm_before": true}`)
	v.waitStatus(ref, "needs_confirmation")
	return ref
}

// times counts a part of a thread.
func (v *lostView) times(ref, part string) int {
	v.t.Helper()
	return strings.Count(v.api(http.MethodGet, "/requests/"+ref, ""), part)
}

// isDrained reports whether an executor takes no new tasks, for a reason.
func (v *lostView) isDrained(executor, why string) int {
	v.t.Helper()
	if e := v.api(http.MethodGet, "/executors/"+executor, ""); strings.Contains(e, `"hold":`) && strings.Contains(e, why) {
		return 1
	}
	return 0
}

func (v *lostView) commands() []lostCommand {
	tasks := func(ref string) string { return "#task/" + ref }
	executors := func(string) string { return "#executors" }
	click := func(expression string) { v.p.Eval(expression+".click()", nil) }
	return []lostCommand{
		{
			"drain", executors,
			func(round string) string { return "wet floor " + round },
			func(why string) {
				choose(v.p, "#hold-who", "vm")
				v.p.Fill("#hold-why", why)
				v.p.Click("#hold button", "Drain")
			},
			func(why string) string {
				return fmt.Sprintf(`document.querySelector("#hold .error").textContent.startsWith("the exchange is ") && document.getElementById("hold-why").value === %q`, why)
			},
			func(why string) string {
				return fmt.Sprintf(`document.getElementById("onhold").textContent.includes(%q) && %s && !document.querySelector("#hold .error").textContent && !document.getElementById("hold-why").value`, why, row("vm", ".chip"))
			},
			func(why string) int { return v.isDrained("vm", why) },
		},
		{
			"resume", executors,
			func(round string) string {
				v.api(http.MethodPost, "/register", fmt.Sprintf(`{"executor_id": "robot-%s", "capabilities": ["look"]}`, round))
				v.api(http.MethodPost, "/hold", fmt.Sprintf(`{"executors": ["robot-%s"], "why": "wet robot"}`, round))
				return "robot-" + round
			},
			func(id string) { v.p.Until(row(id, ".do button")); click(row(id, ".do button")) },
			func(id string) string {
				return row(id, ".do [role=alert]") + `?.textContent.startsWith("the exchange is ")`
			},
			func(id string) string { return row(id, "a") + ` && !` + row(id, ".chip") },
			func(id string) int { return 1 - v.isDrained(id, "wet robot") },
		},
		{
			"confirm", func(string) string { return "#tasks" },
			func(string) string { return v.asks("turn on the porch light") },
			func(ref string) { v.p.Until(item(ref, ".answers button")); click(item(ref, ".answers button")) },
			func(ref string) string {
				return item(ref, ".answers .error") + `?.textContent.startsWith("the exchange is ")`
			},
			func(ref string) string {
				return fmt.Sprintf(`document.querySelector("#recent a") && ![...document.querySelectorAll("#needs a, #others a, #open a")].some((a) => a.hash === "#task/%s")`, ref)
			},
			func(ref string) int { return v.times(ref, `"confirm":true`) },
		},
		{
			"cancel", tasks,
			func(string) string { return v.asks("turn on the garage light") },
			func(ref string) {
				v.p.Until(detail(ref, ".answers button"))
				v.p.Click("#detail button", "Cancel task")
			},
			func(ref string) string {
				return detail(ref, ".refused") + `?.textContent.startsWith("the exchange is ")`
			},
			func(ref string) string { return detail(ref, ".chip") + `?.textContent === "cancelled"` },
			func(ref string) int { return v.times(ref, `"cancel":`) },
		},
	}
}

// show opens the view of a command in both browsers.
func (v *lostView) show(c lostCommand, subject string) {
	v.t.Helper()
	for _, p := range []*chromium.Tab{v.p, v.other} {
		p.Eval(fmt.Sprintf(`void (location.hash = %q)`, c.view(subject)), nil)
	}
}

// onceDone checks that the exchange has carried out a command once, and that both browsers show it.
func (v *lostView) onceDone(c lostCommand, subject string) {
	v.t.Helper()
	for end := time.Now().Add(patience); c.done(subject) == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	start := time.Now()
	v.show(c, subject)
	v.p.Until(c.shown(subject))
	v.other.Until(c.shown(subject))
	v.steps = append(v.steps, time.Since(start))
	if n := c.done(subject); n != 1 {
		v.t.Errorf("%s of %s: done %d times, want once", c.name, subject, n)
	}
}

// live waits until the page has its connection again.
func (v *lostView) live() {
	v.t.Helper()
	v.p.Until(`document.getElementById("line").textContent === "live"`)
}

// unsent gives all commands while the page does not reach the program. Each is reported at its control,
// also after the connection is back, and is not done. A second press does it once. asksAgain says that
// the executor has started anew meanwhile, and asks the question of its task again.
func (v *lostView) unsent(round string, asksAgain bool, away, back func()) {
	v.t.Helper()
	commands := v.commands()
	subjects := make([]string, len(commands))
	for i, c := range commands {
		subjects[i] = c.prepare(round)
	}
	v.p.Eval(`void (location.hash = "#executors")`, nil) // the page has loaded the view, and shows what is new
	v.p.Until(row(subjects[1], ".do button"))
	v.p.Eval(fmt.Sprintf(`void (location.hash = "#task/%s")`, subjects[3]), nil)
	v.p.Until(detail(subjects[3], ".answers button") + ` && ` + item(subjects[2], ".answers button"))
	away()
	v.p.Until(`document.getElementById("line").textContent !== "live"`)
	v.p.Eval(`void (location.hash = "#executors")`, nil)
	for i, c := range commands {
		if i == 2 { // both forms of tasks are on the page: one in the list, one in the open task
			v.p.Eval(fmt.Sprintf(`void (location.hash = "#task/%s")`, subjects[3]), nil)
		}
		c.press(subjects[i])
		v.p.Until(c.problem(subjects[i]))
	}
	v.checkAccessibility(v.p, "unsent-"+round)
	v.saveScreenshot(v.p, "unsent-"+round)
	back()
	v.live()
	for i, c := range commands {
		if c.name == "confirm" && asksAgain { // the new question has a new form
			v.p.Until(item(subjects[i], ".answers button"))
		} else {
			v.p.Until(c.problem(subjects[i])) // it stays until the user has seen it
		}
		if n := c.done(subjects[i]); n != 0 {
			v.t.Errorf("%s, %s: a command that was not sent has been done %d times", round, c.name, n)
		}
	}
	if d := v.device("porch-light"); d.State == "on" {
		v.t.Errorf("%s: a confirmation that was not sent has switched the porch light on", round)
	}
	for i, c := range commands {
		v.show(c, subjects[i])
		c.press(subjects[i])
		v.onceDone(c, subjects[i])
	}
	v.check(subjects)
}

// answered cuts the network while each command is on its way: it has reached the exchange, and its
// answer is lost. After the reconnection the page shows what was done.
func (v *lostView) answered(round string) {
	v.t.Helper()
	commands := v.commands()
	subjects := make([]string, len(commands))
	for i, c := range commands { // a drained executor asks nothing
		subjects[i] = c.prepare(round)
	}
	for i, c := range commands {
		subject := subjects[i]
		v.show(c, subject)
		v.d.lose.Store(true)
		before := v.d.acts.Load()
		c.press(subject)
		for end := time.Now().Add(patience); v.d.acts.Load() == before && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		v.p.Offline(true)
		v.p.Until(`document.getElementById("line").textContent !== "live"`)
		v.p.Offline(false)
		v.live()
		v.onceDone(c, subject)
	}
	v.check(subjects)
}

// check checks the simulated lamps after the four commands: the confirmed task has switched the porch
// light on once, the cancelled one has not acted, and a drained executor begins nothing.
func (v *lostView) check(subjects []string) {
	v.t.Helper()
	v.waitStatus(subjects[2], "completed")
	if n := v.times(subjects[2], `"code":"completed"`); n != 1 {
		v.t.Errorf("the confirmed task has completed %d times", n)
	}
	v.waitDevice("porch-light", func(d homeDevice) bool { return d.State == "on" })
	v.waitStatus(subjects[3], "cancelled")
	later := v.request(`{"intent": "turn off the porch light"}`)
	v.waitStatus(later, "pending")
	if a, b := v.device("garage-light").State, v.device("porch-light").State; a == "on" || b != "on" {
		v.t.Errorf("the garage light is %s and the porch light %s", a, b)
	}
	v.api(http.MethodPost, "/resume", `{"executors": ["vm"]}`)
	v.waitStatus(later, "completed")
	v.waitDevice("porch-light", func(d homeDevice) bool { return d.State == "off" })
}

// In the views of the tasks and of the executors, a command whose network is cut or whose server is
// killed is done once, or is reported as not sent. Two browsers are in step.
func TestTasksAndExecutorsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	d, p := h.openDropper(1280, 800)
	v := &lostView{homeView: homeView{h, p}, d: d}
	v.live()
	v.other = h.browserAt("localhost")

	v.unsent("cut", false, func() { p.Offline(true) }, func() { p.Offline(false) })
	v.answered("answer")
	v.unsent("kill", true, func() {
		if err := h.process.kill(); err != nil {
			t.Fatal(err)
		}
	}, func() {
		h.line[slices.Index(h.line, "--listen")+1] = strings.TrimPrefix(h.url, "http://")
		h.start()
	})
	slices.Sort(v.steps)
	if median := v.steps[len(v.steps)/2]; median > inStep {
		t.Errorf("two browsers are in step after %v, want at most %v; all: %v", median, inStep, v.steps)
	}
	if faults := p.Faults("ERR_", "502"); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}
