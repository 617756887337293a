package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/freeport"
)

// A page's fences are what it takes to do what it says. A reader sees the first word
// of what stands behind the three ticks, if that.
//
//	```yaml        a file, if its first line is "# its name"
//	```sh          commands, which succeed; before them somebody has said messkit run
//	               and asked three things, if no ```sh run says otherwise
//	```text        lines that the commands before print, but for numbers and for what
//	               is left out with …
//
// Behind sh stands what else there is to it:
//
//	run            a command that goes on from here, in place of the one before
//	elsewhere      on another machine; with run, beside the first
//	sim            with devices of the simulated home in place of those of the file
//	until          each command is ended with Ctrl-C when it has printed the text below
//	answers A B    who asks is answered, one question after the other; yes confirms
//	unrun: WHY     it is not run, and WHY is one of the reasons in unrun; its words are
//	               checked
type fence struct{ kind, body string }

var pageFences = regexp.MustCompile("(?ms)^```(\\w[^\n]*)\n(.*?)^```$")

// unrun is why commands of a page are not run.
var unrun = map[string]string{
	"another machine":       "it would copy a program there, over ssh",
	"users and services":    "it would change the users and services of the machine that tests",
	"folders of the system": "it would write outside of the test's own folder",
	"what runs this":        "make test is what runs this test",
}

// elsewhereWalked are pages, or sections of them, whose commands are run by a test of
// their own, which fails for one that it leaves out.
var elsewhereWalked = map[string][]string{
	"agentmail": nil,                                    // TestTheMailPage
	"mesh":      nil,                                    // TestTheGuideToMeshes
	"mqtt":      nil,                                    // exchange/mqtt: TestThePage
	"http":      {"With curl alone", "Webhooks", "TLS"}, // TestTheGuideWithCurl, TestTheGuideOnTLS
}

// together are pages that look at the same things: one exchange is there for all, in
// this order.
var together = []string{"threads", "journal", "receipts", "pictures", "people", "discover", "homeassistant-discovery", "watch", "http", "mcp", "command-line", "stop", "console"}

// before is what pages take for granted.
var before = map[string]func(*follows){
	"pictures": func(g *follows) { g.run("cp $(ls 2*-image-*.jpg | head -1) photo.jpg\n") },
	"discover": func(g *follows) {
		g.brokers()
		g.put("mqtt.password", "secret\n")
	},
	"homeassistant-discovery": func(g *follows) { g.brokers() },
	"http": func(g *follows) {
		g.run("messkit keys issue kitchen-pi executor --save a.key\nmesskit keys issue old-phone executor --save b.key\n")
	},
	"mcp":          func(g *follows) { g.run("until [ -s ~/.mess/mcp.key ]; do sleep 0.05; done | messkit mcp\n") },
	"command-line": func(g *follows) { g.run("messkit init --yes --for 1s\n") },
}

// fencesOf are those of a page, but for sections that are walked elsewhere.
func fencesOf(t *testing.T, page string) (all []fence) {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	for section := range strings.SplitSeq("\n"+string(text), "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		if slices.Contains(elsewhereWalked[nameOf(page)], title) {
			continue
		}
		for _, m := range pageFences.FindAllStringSubmatch(section, -1) {
			all = append(all, fence{m[1], m[2]})
		}
	}
	return all
}

func nameOf(page string) string { return strings.TrimSuffix(filepath.Base(page), ".md") }

// guidePages are the pages for people, as paths from the root.
func guidePages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"docs/*.md", "docs/drivers/*.md", "README.md", "SECURITY.md"} {
		list, err := fs.Glob(os.DirFS("../.."), pattern)
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		all = append(all, list...)
	}
	return all
}

// Who follows a page of the guide comes to where it says, from an empty home. A page
// that is new is walked as well.
func TestThePagesOfTheGuide(t *testing.T) {
	pages := map[string][]fence{}
	for _, page := range guidePages(t) {
		name := nameOf(page)
		if page == "README.md" {
			name = "../README"
		}
		if sections, ok := elsewhereWalked[name]; ok && sections == nil {
			continue
		}
		if all := fencesOf(t, page); slices.ContainsFunc(all, func(f fence) bool { return strings.HasPrefix(f.kind, "sh") }) {
			pages[name] = all
		}
	}
	if len(pages) < 20 {
		t.Errorf("%d pages with commands; the test looks for the wrong thing", len(pages))
	}
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		g := newFollows(t)
		defer g.end()
		g.asked()
		for _, name := range together {
			if len(pages[name]) == 0 {
				t.Errorf("%s has no commands", name)
			}
			t.Run(name, func(t *testing.T) {
				g.t = t
				g.walk(name, pages[name])
			})
			g.t = t
		}
	})
	for name, all := range pages {
		if slices.Contains(together, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newFollows(t)
			defer g.end()
			if !slices.ContainsFunc(all, func(f fence) bool { return strings.HasPrefix(f.kind, "sh run") }) {
				g.asked()
			}
			g.walk(name, all)
		})
	}
}

// follows is somebody who follows a page. What the page calls 8420 is a port of
// their own.
type follows struct {
	t, whole      *testing.T // the page, and all that share what is started
	program       string
	home, port    string
	broker        string // "" until a page wants one
	exports       string // of earlier commands
	printed       string // since the last ```text
	pin, code     string // that were printed last
	running, also *exec.Cmd
	log           text
}

func newFollows(t *testing.T) *follows {
	t.Helper()
	g := &follows{t: t, whole: t, program: buildMesskit(t), home: t.TempDir(), port: portOf(freeport.Address(t))}
	if err := os.Symlink(g.program, filepath.Join(g.home, "messkit")); err != nil { // for who says ./messkit
		t.Fatal(err)
	}
	return g
}

func (g *follows) walk(name string, all []fence) {
	g.t.Helper()
	g.exports, g.printed = "", ""
	if f := before[name]; f != nil {
		f(g)
		g.printed = ""
	}
	for i, f := range all {
		below := ""
		if i+1 < len(all) && all[i+1].kind == "text" {
			below = all[i+1].body
		}
		g.follow(f.kind, f.body, below)
	}
}

// here puts what is so here in place of what a page says.
func (g *follows) here(body string) string {
	body = today.ReplaceAllString(body, time.Now().UTC().Format(time.DateOnly)+"-$1")
	if g.broker != "" {
		body = strings.ReplaceAll(body, "mqtt://192.168.1.5", g.broker)
	}
	if g.pin != "" {
		body = somePin.ReplaceAllString(body, g.pin)
	}
	if g.code != "" {
		body = strings.ReplaceAll(body, "K7QM4-T9XE2", g.code)
	}
	return strings.NewReplacer("8420", g.port, "192.168.1.20", "127.0.0.1", "/etc/messkit/", g.home+"/").Replace(body)
}

var (
	today    = regexp.MustCompile(`2026-11-21-(00\d)`) // a ref of a page
	somePin  = regexp.MustCompile(`sha256:[0-9a-f.]{3,}`)
	someCode = regexp.MustCompile(`\b[A-Z2-9]{5}-[A-Z2-9]{5}\b`)
)

func (g *follows) follow(kind, body, below string) {
	g.t.Helper()
	body = g.here(body)
	words := strings.Fields(kind)
	is := func(word string) bool { return slices.Contains(words, word) }
	switch {
	case kind == "yaml":
		if name, ok := strings.CutPrefix(body, "# "); ok {
			name, _, _ = strings.Cut(name, "\n")
			g.put(name, body)
		}
		return
	case kind == "text":
		g.compare(body)
		return
	case words[0] == "json" || words[0] == "console":
		return
	case words[0] != "sh":
		g.t.Errorf("```%s: nobody knows what this is", kind)
		return
	}
	if is("unrun:") {
		_, why, _ := strings.Cut(kind, "unrun: ")
		if unrun[why] == "" {
			g.t.Errorf("```%s: it has no reason that is known", kind)
		}
		g.read(body)
		return
	}
	if i := slices.IndexFunc(words[1:], func(w string) bool {
		return w != "run" && w != "elsewhere" && w != "sim" && w != "until" && w != "answers"
	}); i > 0 && !is("answers") || i == 0 {
		g.t.Errorf("```%s: nobody knows %s", kind, words[1+i])
		return
	}
	if is("sim") {
		g.simulate(body)
	}
	switch {
	case is("run"):
		g.start(body, is("elsewhere"))
	case is("until"):
		for line := range strings.Lines(body) {
			g.until(line, below)
		}
	case is("answers"):
		g.answered(body, words[slices.Index(words, "answers")+1:])
	case is("elsewhere"):
		before := g.exports
		g.run(body)
		g.exports = before
	default:
		g.run(body)
	}
}

func (g *follows) put(name, body string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.home, name), []byte(body), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// brokers starts a broker that knows nobody, and has mosquitto_pub speak to it.
func (g *follows) brokers() {
	g.t.Helper()
	if g.broker != "" {
		return
	}
	mosquitto, err := exec.LookPath("mosquitto")
	if err != nil {
		mosquitto = "/usr/sbin/mosquitto"
	}
	if _, err := os.Stat(mosquitto); err != nil {
		g.t.Skip("mosquitto is not here; apt-get install mosquitto mosquitto-clients")
	}
	address := freeport.Address(g.t)
	g.put("mosquitto.conf", "allow_anonymous true\nlistener "+portOf(address)+" 127.0.0.1\n")
	c := exec.Command(mosquitto, "-c", filepath.Join(g.home, "mosquitto.conf"))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.whole.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			g.t.Fatal("mosquitto does not answer")
		}
	}
	for _, name := range []string{"mosquitto_pub", "mosquitto_sub"} {
		if err := os.MkdirAll(filepath.Join(g.home, ".config"), 0o700); err != nil {
			g.t.Fatal(err)
		}
		g.put(filepath.Join(".config", name), "-p "+portOf(address)+"\n")
	}
	g.broker = "mqtt://" + address
}

// asked starts messkit and asks it three things, so that there is something to
// look at.
func (g *follows) asked() {
	g.t.Helper()
	g.start("messkit run\n", false)
	for range 3 {
		g.run("messkit ask \"what's in the fridge?\" --wait\n")
	}
	g.printed = ""
	for end := time.Now().Add(patience); strings.Count(g.printed, "  completed  ") < 3; { // the folders are a moment behind
		if time.Now().After(end) {
			g.t.Fatalf("three threads do not end:\n%s", g.printed)
		}
		g.printed = ""
		g.run("messkit thread list\n")
	}
	g.printed = ""
}

func (g *follows) bash(ctx context.Context, script string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", script)
	c.Dir = g.home
	c.Env = append(os.Environ(), "HOME="+g.home, "XDG_CONFIG_HOME="+filepath.Join(g.home, ".config"), "MESSKIT_URL=http://127.0.0.1:"+g.port, "TZ=UTC", "PATH="+filepath.Dir(g.program)+":"+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

func (g *follows) run(body string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Duration(strings.Count(body, "\n"))*patience)
	defer cancel()
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "export ") {
			g.exports += line
		}
	}
	out, err := g.bash(ctx, "set -e\n"+g.exports+body).CombinedOutput()
	if err != nil {
		g.t.Fatalf("%s%v: %s\n%s", body, err, out, g.log.String())
	}
	g.prints(string(out))
	if strings.Contains(body, "messkit init ") {
		g.leave("messkit.yaml")
	}
}

// leave takes out of a configuration what was found here: a test leaves the devices of
// whoever runs it alone.
func (g *follows) leave(name string) {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.home, name))
	if err != nil {
		g.t.Fatal(err)
	}
	var all map[string]any
	if err := yaml.Unmarshal(data, &all); err != nil {
		g.t.Fatal(err)
	}
	if all["devices"] == nil {
		return
	}
	delete(all, "devices")
	if data, err = yaml.Marshal(all); err != nil {
		g.t.Fatal(err)
	}
	g.put(name, string(data))
}

func (g *follows) prints(out string) {
	g.printed += out
	for _, pin := range somePin.FindAllString(out, -1) {
		if len(pin) == len("sha256:")+64 {
			g.pin = pin
		}
	}
	if code := someCode.FindString(out); code != "" {
		g.code = code
	}
}

// until runs a command until it has printed what the page says, or anything.
func (g *follows) until(command, below string) {
	g.t.Helper()
	var out text
	c := g.bash(context.Background(), g.exports+"exec "+strings.TrimSpace(command))
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.Wait() }()
	defer func() { _ = c.Process.Kill(); <-ended }()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if below == "" { // something that it can tell of
			g.run("messkit ask \"is the porch light on?\" > /dev/null\n")
		}
		printed := out.String()
		if printed != "" && len(lacking(below, printed)) == 0 {
			break
		}
		if time.Now().After(end) {
			g.t.Fatalf("%s: it never prints %q, but\n%s", command, lacking(below, printed), printed)
		}
	}
	_ = c.Process.Signal(os.Interrupt)
	<-ended
	g.prints(out.String())
}

// answered runs commands that ask, and answers.
func (g *follows) answered(body string, answers []string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Duration(strings.Count(body, "\n"))*patience)
	defer cancel()
	done := make(chan error, 1)
	var out []byte
	c := g.bash(ctx, "set -e\n"+g.exports+body)
	go func() {
		var err error
		out, err = c.CombinedOutput()
		done <- err
	}()
	for _, answer := range answers {
		status := "needs_input"
		if answer == "yes" {
			answer, status = "--yes", "needs_confirmation"
		}
		list := ""
		ref := []string(nil)
		for ; len(ref) == 0; time.Sleep(20 * time.Millisecond) {
			data, err := g.bash(ctx, g.exports+"messkit ls --json --status "+status).CombinedOutput()
			if list = string(data); err != nil && ctx.Err() != nil {
				g.t.Fatalf("%snobody asks for %s: %s", body, answer, list)
			}
			ref = someListed.FindStringSubmatch(list)
		}
		if data, err := g.bash(ctx, g.exports+"messkit reply "+ref[1]+" "+answer).CombinedOutput(); err != nil {
			g.t.Fatalf("reply %s %s: %v: %s", ref[1], answer, err, data)
		}
	}
	if err := <-done; err != nil {
		g.t.Fatalf("%s%v: %s\n%s", body, err, out, g.log.String())
	}
	g.prints(string(out))
}

var someListed = regexp.MustCompile(`"ref": "([^"]+)"`)

// simulate puts simulated devices into the configurations that commands name.
func (g *follows) simulate(body string) {
	g.t.Helper()
	for _, m := range someConfig.FindAllStringSubmatch(body, -1) {
		name := filepath.Join(g.home, m[1])
		data, err := os.ReadFile(name)
		if err != nil {
			g.t.Fatal(err)
		}
		var all map[string]any
		if err := yaml.Unmarshal(data, &all); err != nil {
			g.t.Fatal(err)
		}
		devices, _ := all["devices"].(map[string]any)
		for _, v := range devices {
			d, _ := v.(map[string]any)
			switch driver := fmt.Sprint(d["driver"]); driver {
			case "httpcam", "rpicam", "v4l2cam":
				d["driver"], d["room"] = "sim-camera", "porch"
				delete(d, "url")
			case "gpiorelay":
				d["driver"] = "sim-lamp"
				delete(d, "active_low")
				delete(d, "pulse")
			case "valetudo":
				d["driver"], d["pace"] = "sim-vacuum", "40ms"
				for _, key := range []string{"url", "segments", "rooms", "limits"} {
					delete(d, key)
				}
			default:
				if !strings.HasPrefix(driver, "sim-") {
					g.t.Errorf("%s: who plays %s?", m[1], driver)
				}
			}
		}
		if all["connect"] == nil {
			all["exchange"] = map[string]any{"listen": "127.0.0.1:" + g.port, "mqtt": map[string]any{"listen": "off"}}
		}
		if data, err = yaml.Marshal(all); err != nil {
			g.t.Fatal(err)
		}
		g.put(m[1], string(data))
	}
}

var someConfig = regexp.MustCompile(`--config (\S+)`)

// start has a command go on, in place of the one before, or elsewhere beside it.
func (g *follows) start(body string, elsewhere bool) {
	g.t.Helper()
	command := strings.TrimSpace(body)
	command, _, _ = strings.Cut(command, " #")
	if strings.Contains(command, "\n") {
		g.t.Fatalf("%s: one command goes on", body)
	}
	if elsewhere {
		g.also = g.bash(context.Background(), "exec "+command)
		g.also.Env = append(g.also.Env, "HOME="+filepath.Join(g.home, "elsewhere"), "MESSKIT_URL=")
		g.also.Stdout, g.also.Stderr = &g.log, &g.log
		if err := g.also.Start(); err != nil {
			g.t.Fatal(err)
		}
		return
	}
	g.end()
	if strings.Contains(command, "messkit run") && !strings.Contains(command, "--listen") {
		command += " --listen 127.0.0.1:" + g.port
	}
	g.running = g.bash(context.Background(), "exec "+command+" --mqtt off")
	g.running.Stdout, g.running.Stderr = &g.log, &g.log
	if err := g.running.Start(); err != nil {
		g.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r, err := http.Get("http://127.0.0.1:" + g.port + "/health")
		if err == nil { // with TLS it is refused, and is there
			r.Body.Close()
			return
		}
		if time.Now().After(end) {
			g.t.Fatalf("%s: does not answer\n%s", body, g.log.String())
		}
	}
}

func (g *follows) end() {
	for _, c := range []*exec.Cmd{g.also, g.running} {
		if c == nil {
			continue
		}
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			g.t.Errorf("%v: %v\n%s", c.Args, err, g.log.String())
		}
	}
	g.also, g.running = nil, nil
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// read checks the words of commands that are not run.
func (g *follows) read(body string) {
	g.t.Helper()
	for line := range strings.Lines(body) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "messkit" {
			continue
		}
		root := (&app{out: &bytes.Buffer{}}).root()
		c, rest, err := root.Find(wordsOf(line))
		if err == nil {
			err = c.ParseFlags(rest)
		}
		if err == nil {
			err = c.ValidateArgs(c.Flags().Args())
		}
		if err != nil {
			g.t.Errorf("%s: %v", line, err)
		}
	}
}

func wordsOf(line string) []string {
	_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
	return words(line)
}

var number = regexp.MustCompile(`[0-9]+`)

// compare looks for each line among what was printed, whatever its numbers are.
func (g *follows) compare(body string) {
	g.t.Helper()
	for _, line := range lacking(body, g.printed) {
		g.t.Errorf("%q is not in what was printed:\n%s", line, g.printed)
	}
	g.printed = ""
}

// lacking are the lines that were not printed, whatever their numbers are; for … there
// is anything within a line.
func lacking(body, printed string) (all []string) {
	printed = number.ReplaceAllString(printed, "0")
	for line := range strings.Lines(body) {
		line = number.ReplaceAllString(strings.TrimSpace(line), "0")
		if !slices.ContainsFunc(strings.Split(printed, "\n"), func(rest string) bool {
			for part := range strings.SplitSeq(line, "…") {
				i := strings.Index(rest, part)
				if i < 0 {
					return false
				}
				rest = rest[i+len(part):]
			}
			return true
		}) {
			all = append(all, line)
		}
	}
	return all
}

// inText are commands in the text of a page.
var inText = regexp.MustCompile("`(messkit [^`\n]*)`")

// commandsIn are the commands of a page, in its text, in fences and in lines that
// are set in.
func commandsIn(text string) (all []string) {
	fenced := false
	for line := range strings.Lines(text) {
		code, in := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced || in:
			code, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(code), "$ "), "./"), " #")
			if strings.HasPrefix(code, "messkit ") {
				all = append(all, code)
			}
		default:
			for _, m := range inText.FindAllStringSubmatch(line, -1) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

// aProgram is what a line begins with that somebody would type.
var aProgram = regexp.MustCompile(`^ {4,}(\$ |sudo )?(\./)?(messkit|curl|mosquitto_\w+|make|ssh|scp|apt|apt-get|systemctl|export|docker|go|pip|npm) `)

// No command of a page is left out: all that are to be typed stand in fences that
// somebody walks.
func TestNoCommandOfAPageIsLeftOut(t *testing.T) {
	for _, page := range guidePages(t) {
		data, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		name, own := nameOf(page), 0
		for _, f := range pageFences.FindAllStringSubmatch(string(data), -1) {
			switch kind, _, _ := strings.Cut(f[1], " "); kind {
			case "sh":
				if sections, ok := elsewhereWalked[name]; ok && sections == nil {
					own++
				}
			case "yaml", "json", "text", "go", "python":
			case "console":
				if page != "README.md" { // whose lines TestTheReadmeAtATerminal has printed
					t.Errorf("%s: put what is typed into ```sh, and what it prints into ```text", page)
				}
			default:
				t.Errorf("%s: ```%s: if it is typed, write ```sh", page, f[1])
			}
		}
		if want := map[string]int{"agentmail": 1, "mesh": 1, "mqtt": 6}[name]; own != want {
			t.Errorf("%s: %d fences with commands; its test runs %d", page, own, want)
		}
		for line := range strings.Lines(pageFences.ReplaceAllString(string(data), "")) {
			if aProgram.MatchString(line) {
				t.Errorf("%s: %q is typed: put it into a fence, that it is run", page, strings.TrimSpace(line))
			}
		}
	}
}

// usesOf are a command's name and flags, as "keys issue" and "keys issue --save".
func usesOf(line string) (list []string, err error) {
	root := (&app{out: &bytes.Buffer{}}).root()
	c, rest, err := root.Find(wordsOf(line))
	if err == nil {
		err = c.ParseFlags(rest)
	}
	path := strings.TrimPrefix(c.CommandPath(), "messkit ")
	list = append(list, path)
	if !c.Runnable() {
		return nil, err // what is below it is meant
	}
	c.Flags().Visit(func(f *pflag.Flag) { list = append(list, path+" --"+f.Name) })
	return list, err
}

// Every command that any page shows, in its text too, is one that there is, with flags
// that it has, and some test runs it with these: one that walks a page, or a script.
func TestCommandsOfAllPages(t *testing.T) {
	ran := map[string]bool{}
	runs := func(text string) {
		for line := range strings.Lines(text) {
			for _, part := range regexp.MustCompile(`\| |\$\(|&& |; |do |then `).Split(line, -1) {
				part, _, _ = strings.Cut(part, " #")
				_, args, ok := strings.Cut(" "+part, "messkit ")
				if !ok || strings.Contains(args, "=ran") {
					continue
				}
				args = strings.Split(args, " > ")[0]
				uses, err := usesOf("messkit " + strings.Trim(args, "&)'\n "))
				if err == nil {
					for _, use := range uses {
						ran[use] = true
					}
				}
			}
		}
	}
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(err)
	}
	for _, name := range scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		runs(string(data))
	}
	pages := map[string]string{}
	for _, page := range guidePages(t) {
		data, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		pages[page] = string(data)
		for _, f := range pageFences.FindAllStringSubmatch(string(data), -1) {
			if strings.HasPrefix(f[1], "sh") && !strings.Contains(f[1], "unrun") {
				runs(f[2])
			}
		}
	}
	n := 0
	for page, text := range pages {
		for _, line := range commandsIn(text) {
			if strings.Contains(line, "...") || strings.HasPrefix(line, "messkit receipt ") || strings.HasPrefix(line, "messkit COMMAND ") {
				continue // a sketch, and what receipts begin with
			}
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " || ")
			n++
			uses, err := usesOf(line)
			if err != nil && !strings.Contains(err.Error(), "flag needs an argument") { // where a page speaks of the flag
				t.Errorf("%s: %q: %v", page, line, err)
			}
			for _, use := range uses {
				if !ran[use] {
					t.Errorf("%s: %q: no test runs %s", page, line, use)
				}
			}
		}
	}
	if n < 150 {
		t.Errorf("%d commands were found; the test looks for the wrong thing", n)
	}
}

// What the page about trouble has for headings is what the program says.
func TestTroubleIsNamedAsItIsSaid(t *testing.T) {
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	err = filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := os.ReadFile(name)
		code.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile("(?m)^### `(.*)`$").FindAllStringSubmatch(string(text), -1)
	if len(said) < 30 {
		t.Errorf("%d symptoms", len(said))
	}
	for _, s := range said {
		if s[1] != "connection refused" && !strings.Contains(code.String(), s[1]) { // which the kernel says
			t.Errorf("nothing says %q", s[1])
		}
	}
}

// The service's unit is one that systemd reads, and that keeps to what it needs.
func TestTheUnitIsSound(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here; apt-get install systemd")
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", "../../systemd/messkit.service").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Overall exposure level for messkit.service: ")) {
		t.Errorf("%v: %s", err, out)
	}
	unit, err := os.ReadFile("../../systemd/messkit.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ExecStart=/usr/local/bin/messkit run --config /etc/messkit/messkit.yaml --data /var/lib/messkit/.mess\n", "User=messkit\n", "StateDirectory=messkit\n"} {
		if !bytes.Contains(unit, []byte(want)) {
			t.Errorf("%q is missing", want)
		}
	}
}
