package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/mess/messeaf"
)

// parsedOnly lists the examples that this test only parses, with the reason.
var parsedOnly = map[string]string{
	"messkit forget old-pi": "it wants an executor that is gone; forget.txtar has it",
	"messkit ask \"turn on the porch light\" --requires switch-on --confirm --wait":       "it waits for a yes; ask.txtar has it",
	"messkit thread verify fridge.zip --key xc3tBbVKfzdPiwGkF3CFsw/Pgkb0G52LEjmIQyphbFA=": "the key is another executor's; receipts.txtar has it",
	"messkit unreserve vacuum":                           "it wants agentmail; agentmail.txtar has it",
	"messkit thread import 2026-01-15-TEST.messe-af.zip": "it wants a thread that is not here; importing_test.go has it",
	"messkit init": "it asks at a terminal; init.txtar has it without",
	"messkit keys fingerprint --data ~/.mess": "it wants tls: self; tls.txtar has it",
	"messkit run": "it runs until it is ended; this test has started one", "messkit run --config messkit.yaml": "this test has started it",
	"messkit exchange --cluster-dev 3":                                                                  "it wants the program nats-server; TestTrialCluster runs it",
	"messkit exchange --config messkit.yaml":                                                            "it runs until it is ended",
	"messkit simulate-fleet --executors 1000 --rate 50 --for 1m":                                        "it takes a minute; simulate_fleet.txtar has a small one",
	"messkit simulate-fleet --executors 100 --rate 10 --protocol both --json":                           "it takes ten minutes",
	"messkit store copy ~/.mess nats://127.0.0.1:4222 --replicas 1":                                     "it wants NATS servers; store_copy.txtar copies folders",
	"messkit store export tls://n1:4222,tls://n2:4222 ~/threads --credentials-file mess.creds":          "it wants NATS servers; TestKilledExportGoesOn runs it",
	"messkit store export tls://n1:4222,tls://n2:4222 ~/threads --credentials-file mess.creds --follow": "it wants NATS servers; TestKilledExportGoesOn runs it",
	"messkit store upgrade nats://127.0.0.1:4222 --replicas 1":                                          "it wants NATS servers; TestRollingUpgrade runs it",
	"messkit store copy tls://n1:4222,tls://n2:4222 ~/back --credentials-file mess.creds":               "it wants NATS servers; store_copy.txtar copies folders",
	"messkit watch": "it runs until it is ended; watch.txtar has it",
	"messkit top":   "it runs until it is ended in a terminal; TestPage of internal/cli/top has its page",
	"messkit top http://node1:8420 http://node2:8420":                                                                "these exchanges are on other machines",
	"messkit watch --lines | tee today.txt":                                                                          "it runs until it is ended; watch.txtar has it",
	"messkit console --at https://192.168.1.7:8420":                                                                  "that address is of another machine",
	"messkit init --connect https://192.168.1.20:8420":                                                               "that exchange is on another machine",
	"messkit discover --mqtt mqtt://192.168.1.5 --mqtt-user messkit --mqtt-password-file /etc/messkit/mqtt.password": "that broker is on another machine",
}

// meshExamples is the prefix of the examples that need another agent; mesh.txtar runs them.
const meshExamples = "messkit mesh "

// preconditions maps an example to the shell commands that create its preconditions. The last line of
// their output is the ref that replaces the ref of the example.
var preconditions = map[string]string{
	"messkit thread check 2026-01-15-TEST.messe-af.zip":            exportedFiles + `--to 2026-01-15-TEST.messe-af.zip`,
	"messkit thread list backup.zip":                               exportedFiles + `--to backup.zip`,
	"messkit keys roles kitchen-pi executor":                       `messkit keys issue kitchen-pi executor`,
	"messkit picture fit frame.bin small.jpg --frame yuyv:640x480": `head -c 614400 /dev/zero > frame.bin`,
	"messkit journal show 2026-11-21-003 --json":                   done,
	"messkit clear":                                                 `messkit stop`,
	"messkit keys revoke old-phone":                                 `messkit keys issue old-phone requester`,
	"messkit unlock porch-light":                                    `messkit lock porch-light`,
	"messkit resume":                                                `messkit hold`,
	"messkit show 2026-11-21-003 --save .":                          done,
	"messkit thread show 2026-11-21-003":                            done,
	"messkit cancel 2026-11-21-003 --reason \"somebody is asleep\"": `asked needs_input`,
	"messkit reply 2026-11-21-003 both":                             `asked needs_input`,
	"messkit reply 2026-11-21-003 area=both":                        `asked needs_input`,
	"messkit reply 2026-11-21-003 --yes --wait":                     `asked needs_confirmation`,
	"messkit reply 2026-11-21-003/question-005 --yes":               `asked needs_confirmation`,
	"messkit reply 2026-11-21-003 --accept": `messkit ask "vacuum the kitchen" >&2; curl -sf -X PATCH "$MESSKIT_URL/api/v1/exchanges/home/requests/last" -H "Authorization: Bearer $(cat .mess/operator.key)" ` +
		`-d '{"mess": [{"suggestion": {"type": "alternative", "proposed": "half of it"}}]}' >&2; messkit ls --json | ref needs_input`,
}

// done makes a request and returns the ref of the completed thread. exportedFiles writes the newest
// completed thread to a file.
const (
	done          = `messkit ask "what's in the fridge?" --wait >&2; messkit ls --json | ref completed`
	exportedFiles = `messkit thread export $(messkit ls --status completed | grep -o '[0-9]*-[0-9]*-[0-9]*-[0-9]*' | head -1) `
)

var refPattern = regexp.MustCompile(`\d{4}-\d\d-\d\d-\d{3}`)

// Each example of each command runs against the simulated home without an error.
func TestExamplesAreRun(t *testing.T) {
	if testing.Short() {
		t.Skip("each is a program")
	}
	binary, home := buildMesskit(t), t.TempDir()
	for name, text := range map[string]string{
		"messkit.yaml":  simulatedHome("kitchen-pi"),
		"kitchen.yaml":  simulatedHome("kitchen-pi"),
		"sentences.txt": "turn on the porch light\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := start(home, binary, "run", "--config", filepath.Join(home, "messkit.yaml"), "--listen", freeport.Address(t), "--mqtt", "off", "--confirm", "script")
	if err != nil || p.url == "" {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	t.Cleanup(func() {
		if err := p.kill(); err != nil {
			t.Error(err)
		}
	})
	s := shell{t: t, dir: home, bin: filepath.Dir(binary), url: strings.TrimSuffix(p.url, "/api/v1/exchanges/home")}
	s.run(t.Context(), `messkit ask "take a photo of the porch" --wait --save . && mv *.jpg photo.jpg`)
	eventually(t, "the folder of the completed thread", func() bool {
		threads, err := filepath.Glob(filepath.Join(home, ".mess", string(messeaf.Finished), "*"))
		return err == nil && len(threads) > 0
	})
	s.run(t.Context(), "mkdir backup && cp -r .mess backup/mess")
	seen := map[string]bool{}
	eachCommand(func(c *cobra.Command) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
			if line == "" || strings.HasPrefix(line, "{") || seen[line] {
				continue
			}
			if seen[line] = true; parsedOnly[line] != "" || strings.HasPrefix(line, meshExamples) {
				continue // TestEveryCommandHasDescriptionAndExamples parses it
			}
			s.runExample(line)
		}
	})
	for line := range parsedOnly {
		if !seen[line] {
			t.Errorf("%q is no example any more", line)
		}
	}
	for line := range preconditions {
		if !seen[line] {
			t.Errorf("%q is no example any more", line)
		}
	}
}

// simulatedHome returns the simulated home with that executor ID.
func simulatedHome(id string) string {
	return strings.Replace(string(config.SimulatedHome), "\ndevices:\n", "\nagent: {id: "+id+"}\ndevices:\n", 1)
}

// shell runs command lines in a folder, which is also the home folder.
type shell struct {
	t             *testing.T
	dir, bin, url string
}

// runExample runs one example. An example that writes a configuration runs in a separate folder, so
// the home stays unchanged.
func (s shell) runExample(line string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	need := preconditions[line]
	if need == "" && strings.Contains(line, "2026-11-21-003") {
		need = done
	}
	if need != "" {
		got := strings.Fields(s.prepare(ctx, need))
		if len(got) > 0 && refPattern.MatchString(line) {
			ref := got[len(got)-1]
			if strings.HasPrefix(line, "messkit thread ") {
				s.waitFolder(ctx, ref)
			}
			if strings.Contains(line, "/question-") {
				line = refPattern.ReplaceAllString(line, ref)
				line = regexp.MustCompile(`/question-\d+`).ReplaceAllString(line, s.openQuestion(ctx, ref))
			} else {
				line = refPattern.ReplaceAllString(line, ref)
			}
		}
	}
	if strings.HasPrefix(line, "messkit init") {
		empty := filepath.Join(s.t.TempDir(), "empty")
		s.run(ctx, "mkdir "+empty)
		line = "cd " + empty + " && " + line
	}
	s.run(ctx, line)
	if strings.HasPrefix(line, "messkit stop") && !strings.Contains(line, "--show") {
		s.run(ctx, "messkit clear")
	}
	if strings.HasPrefix(line, "messkit lock porch-light") {
		s.run(ctx, "messkit unlock porch-light")
	}
	if strings.HasPrefix(line, "messkit disarm") {
		s.run(ctx, "messkit arm")
	}
	if strings.HasPrefix(line, "messkit hold") {
		s.run(ctx, strings.Join(append([]string{"messkit resume"}, slices.DeleteFunc(strings.Fields(line)[2:], func(w string) bool { return w != "kitchen-pi" })...), " "))
	}
}

// prepare creates the preconditions of an example. Its result ends with the ref of the thread, if
// there is one.
func (s shell) prepare(ctx context.Context, need string) string {
	s.t.Helper()
	status, asks := strings.CutPrefix(need, "asked ")
	if !asks {
		if what, ref, ok := strings.Cut(need, "; messkit ls --json | ref "); ok {
			s.run(ctx, what)
			return s.waitRef(ctx, ref)
		}
		return s.run(ctx, need)
	}
	if status == "needs_input" {
		s.run(ctx, `messkit ask "vacuum the kitchen"`)
	} else {
		s.run(ctx, `messkit ask "turn on the porch light" --confirm`)
	}
	return s.waitRef(ctx, status)
}

// waitRef waits for a thread with the status, and returns the ref of the newest one.
func (s shell) waitRef(ctx context.Context, status string) string {
	s.t.Helper()
	for ctx.Err() == nil {
		var list []struct{ Ref, Status string }
		if err := json.Unmarshal([]byte(s.run(ctx, "messkit ls --json --status "+status)), &list); err == nil && len(list) > 0 {
			newest := slices.MaxFunc(list, func(a, b struct{ Ref, Status string }) int { return strings.Compare(a.Ref, b.Ref) })
			return newest.Ref
		}
	}
	s.t.Fatalf("no thread has the status %s", status)
	return ""
}

// waitFolder waits until the exchange has written the folder of a thread. The exchange writes it in
// an idle moment.
func (s shell) waitFolder(ctx context.Context, ref string) {
	s.t.Helper()
	for !strings.Contains(s.run(ctx, "messkit thread list"), ref) {
		if ctx.Err() != nil {
			s.t.Fatalf("%s is in no folder", ref)
		}
	}
}

// openQuestion returns the ID of the open question of a thread, with a leading slash.
func (s shell) openQuestion(ctx context.Context, ref string) string {
	s.t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(ref)+`(/[a-z_]+-\d+)`).FindAllStringSubmatch(s.run(ctx, "messkit show --json "+ref), -1)
	if len(found) == 0 {
		s.t.Fatalf("%s has no messages", ref)
	}
	return found[len(found)-1][1]
}

// run runs a line, which must succeed, and returns its output.
func (s shell) run(ctx context.Context, line string) string {
	s.t.Helper()
	c := exec.CommandContext(ctx, "bash", "-c", line)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "HOME="+s.dir, "PATH="+s.bin+":"+os.Getenv("PATH"), "MESSKIT_URL="+s.url, "MESSKIT_KEY_FILE=", "TZ=UTC")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		s.t.Errorf("%s: %v\n%s%s", line, err, &out, fmt.Sprint(&errs))
	}
	return out.String()
}
