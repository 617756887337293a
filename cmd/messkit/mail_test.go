package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/config"
)

var mailBlocks = regexp.MustCompile("(?s)```(sh|yaml|json)\n(.*?)```")

// The commands on the page on Agent Mail assign a task, get its image, and confirm a task. Every
// configuration on the page is valid.
func TestAgentMailPageRuns(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/agentmail.md")
	if err != nil {
		t.Fatal(err)
	}
	var script, first, confirmation string
	for _, b := range mailBlocks.FindAllStringSubmatch(string(text), -1) {
		if b[1] == "sh" {
			script += b[2]
			continue
		}
		if b[1] == "json" {
			confirmation += b[2]
			continue
		}
		if first == "" {
			first = b[2]
		}
		if err := (&config.Config{}).Read("docs/how-to/agentmail.md", []byte(b[2])); err != nil {
			t.Errorf("%v\n%s", err, b[2])
		}
	}
	if script == "" || !strings.Contains(first, "agentmail:") {
		t.Fatal("the page does not begin with an example")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("this machine has no curl")
	}
	home := t.TempDir()
	file := filepath.Join(home, "messkit.yaml")
	if err := os.WriteFile(file, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := buildMesskit(t)
	p, err := start(home, bin, "run", "--config", file, "--listen", "127.0.0.1:0", "--mqtt", "off")
	if err != nil || p.url == "" {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// The page polls once; the test polls until it has the last message.
	c := exec.CommandContext(ctx, "bash", "-ec", script+`
until curl -s "$MESSKIT_URL/agentmail?wait=5s" -H "Authorization: Bearer $(cat orchestrator.key)" | grep task_completion; do :; done
mail() { curl -s "$MESSKIT_URL/agentmail$1" -H "Authorization: Bearer $(cat orchestrator.key)" "${@:2}"; }
sed 's/bd-42/bd-43/; s/msg-1/msg-43/; s/"priority_value": 2/&, "metadata": {"mess": {"confirm_before": true}}/' task.json > before.json
mail "" -d @before.json
until mail "?wait=5s" > heard.json; hash=$(grep -o '"action_hash":"[^"]*"[^{]*"confirm_within' heard.json | cut -d'"' -f4); [ -n "$hash" ]; do :; done
mail "" -d "$(sed "s/573eeb31\.\.\./$hash/; s/2026-11-22T09:01:00Z/$(date -u +%FT%TZ -d +5sec)/" <<< "$YES")"
until mail "?wait=5s" | grep '"type":"task_completion","task_id":"bd-43","status":"complete"'; do :; done`)
	c.Dir = home
	c.Env = append(os.Environ(), "HOME="+home, "YES="+confirmation, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"), "MESSKIT_URL="+strings.TrimSuffix(p.url, "/api/v1/exchanges/home"))
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, &errs, out)
	}
	for _, want := range []string{`"task_id":"bd-42","ref":"2`, `"type":"status_update"`, `"status":"complete"`, `data:image/jpeg;base64,`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in %.2000s", want, out)
		}
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// No mail may contain a secret value of the configuration, or the content of a file that it names
// as a secret.
func TestMailContainsNoSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range config.SecretsIn("", []byte(`
exchange:
  enrol: code-to-enrol
  mesh: {token: token-of-arm, peers: {hub: {url: "http://192.0.2.1:1", accept: token-of-hub, key_file: `+file+`}}}
devices:
  cam: {driver: rtsp, password: let-me-see, name: not-this, template: {token: X-Header}, key_file: /not/there}
`)) {
		got = append(got, string(s))
	}
	slices.Sort(got)
	if want := []string{"code-to-enrol", "from-a-file", "let-me-see", "token-of-arm", "token-of-hub"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
