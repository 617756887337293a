package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/output"
)

func (g *pageRunner) addOutput(out string) {
	g.printed += out
	for _, pin := range pinPattern.FindAllString(out, -1) {
		if len(pin) == len("sha256:")+64 {
			g.pin = pin
		}
	}
	if code := codePattern.FindString(out); code != "" {
		g.code = code
	}
}

// runUntil runs a command until it has printed the text of the page, or any text if the page has
// none.
func (g *pageRunner) runUntil(command, below string) {
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
		if below == "" { // cause an event that the command can print
			g.run("messkit ask \"is the porch light on?\" > /dev/null\n")
		}
		printed := out.String()
		if printed != "" && len(missingLines(below, printed)) == 0 {
			break
		}
		if time.Now().After(end) {
			g.t.Fatalf("%s: it never prints %q, but\n%s", command, missingLines(below, printed), printed)
		}
	}
	_ = c.Process.Signal(os.Interrupt)
	<-ended
	g.addOutput(out.String())
}

// runWithAnswers runs commands that ask questions, and sends the answers.
func (g *pageRunner) runWithAnswers(body string, answers []string) {
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
			ref = listPattern.FindStringSubmatch(list)
		}
		if data, err := g.bash(ctx, g.exports+"messkit reply "+ref[1]+" "+answer).CombinedOutput(); err != nil {
			g.t.Fatalf("reply %s %s: %v: %s", ref[1], answer, err, data)
		}
	}
	if err := <-done; err != nil {
		g.t.Fatalf("%s%v: %s\n%s", body, err, out, g.log.String())
	}
	g.addOutput(string(out))
}

// simulateDevices puts simulated devices into the configurations that commands name.
func (g *pageRunner) simulateDevices(body string) {
	g.t.Helper()
	for _, m := range configPattern.FindAllStringSubmatch(body, -1) {
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
		g.writeFile(m[1], string(data))
	}
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// checkWords checks the words of commands that the test does not run.
func (g *pageRunner) checkWords(body string) {
	g.t.Helper()
	for line := range strings.Lines(body) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "messkit" {
			continue
		}
		root := cli.NewRoot(&output.Env{Out: &bytes.Buffer{}})
		c, rest, err := root.Find(commandWords(line))
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

func commandWords(line string) []string {
	_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
	return splitWords(line)
}

// compare finds each line of the page in the output since the last comparison. It ignores
// numbers.
func (g *pageRunner) compare(body string) {
	g.t.Helper()
	for _, line := range missingLines(body, g.printed) {
		g.t.Errorf("%q is not in what was printed:\n%s", line, g.printed)
	}
	g.printed = ""
}

// missingLines returns the lines of body that printed does not contain. It ignores numbers; … matches
// any text within a line.
func missingLines(body, printed string) (all []string) {
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
