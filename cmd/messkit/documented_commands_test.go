package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/output"
)

// fence is a fenced block of a documentation page. The test executes a page as its reader would.
// Renderers show the first word of the info string at most.
//
//	```yaml        a file, if its first line is "# its name"
//	```sh          commands, which must succeed; before them the test starts messkit run
//	               and sends three requests, unless the page has a ```sh run
//	```text        lines in the output of the previous commands; numbers may differ, and … matches
//	               any text
//
// The words after sh are options:
//
//	run            a background command, which replaces the previous one
//	elsewhere      on another machine; with run, in addition to the first
//	sim            with devices of the simulated home instead of the devices in the file
//	until          Ctrl-C ends each command after it has printed the text below
//	answers A B    the answers to the questions, in order; yes confirms
//	unrun: WHY     do not run it, for one of the reasons in unrun; check its words only
type fence struct{ kind, body string }

var pageFences = regexp.MustCompile("(?ms)^```(\\w[^\n]*)\n(.*?)^```$")

// notRun contains the reasons not to run the commands of a page.
var notRun = map[string]string{
	"another machine":       "it would copy a program there, over ssh",
	"users and services":    "it would change the users and services of the machine that tests",
	"folders of the system": "it would write outside of the test's own folder",
	"what runs this":        "make test is what runs this test",
	"a cluster":             "it wants the program nats-server; TestTrialCluster runs it",
	"a site":                "it needs a leaf node of NATS servers; TestSiteWithoutUplink asks, lists and cancels at real ones",
	"NATS servers":          "it needs a cluster with TLS; exchange/store/transfer copies to a real server",
}

// runElsewhere contains pages, or sections of them, whose commands have separate tests. Such a
// test fails for a command that it does not run.
var runElsewhere = map[string][]string{
	"agentmail": nil,                                    // TestAgentMailPageRuns
	"cluster":   nil,                                    // TestClusterGuideRuns
	"mesh":      nil,                                    // TestMeshGuideRuns
	"mqtt":      nil,                                    // exchange/channel/mqtt: TestCommandsOfDocumentation
	"http":      {"With curl alone", "Webhooks", "TLS"}, // TestCurlGuideRuns, TestTLSGuideRuns
}

// runTogether lists the pages that share one exchange, in this order.
var runTogether = []string{"threads", "journal", "receipts", "pictures", "people", "discover", "homeassistant-discovery", "watch", "http", "mcp", "command-line", "stop", "console"}

// runBefore contains the preparation of a page.
var runBefore = map[string]func(*pageRunner){
	"pictures": func(g *pageRunner) { g.run("cp $(ls 2*-image-*.jpg | head -1) photo.jpg\n") },
	"discover": func(g *pageRunner) {
		g.startBroker()
		g.writeFile("mqtt.password", "secret\n")
	},
	"homeassistant-discovery": func(g *pageRunner) { g.startBroker() },
	"http": func(g *pageRunner) {
		g.run("messkit keys issue kitchen-pi executor --save a.key\nmesskit keys issue old-phone executor --save b.key\n")
	},
	"mcp":          func(g *pageRunner) { g.run("until [ -s ~/.mess/mcp.key ]; do sleep 0.05; done | messkit mcp\n") },
	"command-line": func(g *pageRunner) { g.run("messkit init --yes --for 1s\n") },
}

// fencesOf returns the fences of a page without the sections in runElsewhere.
func fencesOf(t *testing.T, page string) (all []fence) {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	for section := range strings.SplitSeq("\n"+string(text), "\n## ") {
		title, _, _ := strings.Cut(section, "\n")
		if slices.Contains(runElsewhere[nameOf(page)], title) {
			continue
		}
		for _, m := range pageFences.FindAllStringSubmatch(section, -1) {
			all = append(all, fence{m[1], m[2]})
		}
	}
	return all
}

func nameOf(page string) string { return strings.TrimSuffix(filepath.Base(page), ".md") }

// guidePages returns the documentation pages for users, as paths from the root.
func guidePages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"docs/*.md", "docs/tutorial/*.md", "docs/how-to/*.md", "docs/reference/*.md", "docs/explanation/*.md", "docs/drivers/*.md", "README.md", "SECURITY.md"} {
		list, err := fs.Glob(os.DirFS("../.."), pattern)
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		all = append(all, list...)
	}
	return all
}

// The commands of every documentation page succeed, starting with an empty home. The test finds
// new pages by itself.
func TestDocumentedCommandsSucceed(t *testing.T) {
	pages := map[string][]fence{}
	for _, page := range guidePages(t) {
		name := nameOf(page)
		if page == "README.md" {
			name = "../README"
		}
		if sections, ok := runElsewhere[name]; ok && sections == nil {
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
		g := newPageRunner(t)
		defer g.end()
		g.startWithRequests()
		for _, name := range runTogether {
			if len(pages[name]) == 0 {
				t.Errorf("%s has no commands", name)
			}
			t.Run(name, func(t *testing.T) {
				g.t = t
				g.runPage(name, pages[name])
			})
			g.t = t
		}
	})
	for name, all := range pages {
		if slices.Contains(runTogether, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newPageRunner(t)
			defer g.end()
			if !slices.ContainsFunc(all, func(f fence) bool { return strings.HasPrefix(f.kind, "sh run") }) {
				g.startWithRequests()
			}
			g.runPage(name, all)
		})
	}
}

var (
	today       = regexp.MustCompile(`2026-11-21-(00\d)`) // a ref of a page
	pinPattern  = regexp.MustCompile(`sha256:[0-9a-f.]{3,}`)
	codePattern = regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}\b`) // the alphabet of Crockford
)

var listPattern = regexp.MustCompile(`"ref": "([^"]+)"`)

var configPattern = regexp.MustCompile(`--config (\S+)`)

var number = regexp.MustCompile(`[0-9]+`)

// inlineCode matches commands in the text of a page.
var inlineCode = regexp.MustCompile("`(messkit [^`\n]*)`")

// commandsIn returns the commands of a page: in its text, in fences and in indented lines.
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
			for _, m := range inlineCode.FindAllStringSubmatch(line, -1) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

// programPattern matches an indented command line outside a fence.
var programPattern = regexp.MustCompile(`^ {4,}(\$ |sudo )?(\./)?(messkit|curl|mosquitto_\w+|make|ssh|scp|apt|apt-get|systemctl|export|docker|go|pip|npm) `)

// A test runs every command of a page: all commands are in fences.
func TestDocumentedCommandsAreInFences(t *testing.T) {
	for _, page := range guidePages(t) {
		data, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		name, own := nameOf(page), 0
		for _, f := range pageFences.FindAllStringSubmatch(string(data), -1) {
			switch kind, _, _ := strings.Cut(f[1], " "); kind {
			case "sh":
				if sections, ok := runElsewhere[name]; ok && sections == nil {
					own++
				}
			case "yaml", "json", "text", "go", "python", "mermaid":
			case "console":
				if page != "README.md" && page != "docs/reference/command-line.md" { // TestReadmeExampleMatchesTerminal, TestDocumentedDashboardMatches
					t.Errorf("%s: put what is typed into ```sh, and what it prints into ```text", page)
				}
			default:
				t.Errorf("%s: ```%s: if it is typed, write ```sh", page, f[1])
			}
		}
		if want := map[string]int{"agentmail": 1, "cluster": 22, "mesh": 1, "mqtt": 6}[name]; own != want {
			t.Errorf("%s: %d fences with commands; its test runs %d", page, own, want)
		}
		for line := range strings.Lines(pageFences.ReplaceAllString(string(data), "")) {
			if programPattern.MatchString(line) {
				t.Errorf("%s: %q is typed: put it into a fence, that it is run", page, strings.TrimSpace(line))
			}
		}
	}
}

// commandUses returns the name and the flags of a command, as "keys issue" and "keys issue --save".
func commandUses(line string) (list []string, err error) {
	root := cli.NewRoot(&output.Env{Out: &bytes.Buffer{}})
	c, rest, err := root.Find(commandWords(line))
	if err == nil {
		err = c.ParseFlags(rest)
	}
	path := strings.TrimPrefix(c.CommandPath(), "messkit ")
	list = append(list, path)
	if !c.Runnable() {
		return nil, err // the line means its subcommands
	}
	c.Flags().Visit(func(f *pflag.Flag) { list = append(list, path+" --"+f.Name) })
	return list, err
}

// Every command on a page, also in its text, exists with its flags. A script or the test of a
// page runs it with the same flags.
func TestDocumentedCommandsExist(t *testing.T) {
	ran := map[string]bool{}
	runs := func(text string) {
		for line := range strings.Lines(text) {
			for _, part := range regexp.MustCompile(`\| |\$\(|&& |; |then `).Split(line, -1) {
				part, _, _ = strings.Cut(part, " #")
				_, args, ok := strings.Cut(" "+part, "messkit ")
				if !ok || strings.Contains(args, "=ran") {
					continue
				}
				args = strings.Split(args, " > ")[0]
				uses, err := commandUses("messkit " + strings.Trim(args, "&)'\n "))
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
				continue // a sketch, or the beginning of a receipt
			}
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " || ")
			n++
			uses, err := commandUses(line)
			if err != nil && !strings.Contains(err.Error(), "flag needs an argument") { // the text is about the flag
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

// The program contains every error message in a heading of the troubleshooting page.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/troubleshooting.md")
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
	got := regexp.MustCompile("(?m)^### `(.*)`$").FindAllStringSubmatch(string(text), -1)
	if len(got) < 30 {
		t.Errorf("%d symptoms", len(got))
	}
	for _, s := range got {
		if s[1] != "connection refused" && !strings.Contains(code.String(), s[1]) { // the kernel's message
			t.Errorf("no code contains the message %q", s[1])
		}
	}
}

// systemd accepts the unit of the service, and its exposure is low.
func TestSystemdUnitIsValid(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here; apt-get install systemd")
	}
	for _, u := range []struct {
		name, command string
		most          int // exposure, in tenths
	}{{"messkit", "run", 18}, {"messkit-exchange", "exchange", 15}} {
		file := "../../systemd/" + u.name + ".service"
		out, err := exec.Command("systemd-analyze", "security", "--offline=true", fmt.Sprintf("--threshold=%d", u.most), "--no-pager", file).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("Overall exposure level for "+u.name+".service: ")) {
			t.Errorf("%v: %s", err, out)
		}
		unit, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"ExecStart=/usr/local/bin/messkit " + u.command + " --config /etc/messkit/messkit.yaml --data /var/lib/messkit/.mess\n", "User=messkit\n", "StateDirectory=messkit\n", "LimitCORE=0\n"} {
			if !bytes.Contains(unit, []byte(want)) {
				t.Errorf("%s: %q is missing", u.name, want)
			}
		}
	}
}
