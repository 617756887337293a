package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// bashCompletionScript has bash itself complete a command line whose end is the cursor. It does not need
// the package bash-completion.
const bashCompletionScript = `
compopt() { :; }
source <(messkit completion bash) || exit
read -ra COMP_WORDS <<<"$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9
$(complete -p messkit | sed 's/.*-F \([^ ]*\).*/\1/') messkit
printf '%s\n' "${COMPREPLY[@]}"
`

// The completion scripts complete commands, refs, devices and capabilities of the running system.
func TestCompletionScripts(t *testing.T) {
	home, url := startAtTerminal(t)
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Env = append(os.Environ(), "HOME="+home, "MESSKIT_URL="+url)
		var got strings.Builder // the notes of a waiting request
		c.Stderr = &got
		out, err := c.Output()
		if err != nil {
			t.Errorf("%s %q: %v: %s%s", name, args, err, out, got.String())
		}
		return string(out)
	}
	ended := strings.TrimSpace(run("messkit", "ask", "turn on the porch light"))
	run("messkit", "ask", "is the porch light on?", "--wait") // the thread of the light has ended by then
	open := strings.TrimSpace(run("messkit", "ask", "turn on the hall light", "--not-before", "1h"))
	for _, c := range []struct {
		line      string
		with, not []string
	}{
		{"messkit sh", []string{"show"}, []string{"ask"}},
		{"messkit show ", []string{ended, open}, nil},
		{"messkit cancel ", []string{open}, []string{ended}},
		{"messkit reply ", nil, []string{open, ended}},
		{"messkit lock por", []string{"porch-camera", "porch-light"}, []string{"vacuum"}},
		{"messkit arm m", []string{"motion"}, []string{"access"}},
		{"messkit ask x --requires switch-", []string{"switch-on", "switch-off"}, []string{"take-photo"}},
		{"messkit ls --status needs", []string{"needs_input", "needs_confirmation"}, []string{"failed"}},
		{"messkit completion ", []string{"bash", "zsh", "fish"}, nil},
		{"messkit ls ", nil, []string{"messkit.yaml"}},
		{`messkit ask "the lamp's light" --priority=urgent --requires switch-`, []string{"switch-on", "switch-off"}, []string{"take-photo"}},
	} {
		shells := map[string][]string{"bash": {"-c", bashCompletionScript, "bash", c.line}}
		if _, err := exec.LookPath("fish"); err == nil {
			shells["fish"] = []string{"--no-config", "-c", "messkit completion fish | source; complete -C $argv[1]", c.line}
		}
		for name, args := range shells {
			var got []string
			for line := range strings.Lines(run(name, args...)) {
				word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
				word, _, _ = strings.Cut(word, "  ") // bash prints a description behind each of several candidates
				got = append(got, strings.TrimSpace(word))
			}
			for _, w := range c.with {
				if !slices.Contains(got, w) {
					t.Errorf("%s: %q: %q is missing in %q", name, c.line, w, got)
				}
			}
			for _, w := range c.not {
				if slices.Contains(got, w) {
					t.Errorf("%s: %q: %q is in %q", name, c.line, w, got)
				}
			}
		}
	}
	if _, err := exec.LookPath("zsh"); err == nil {
		run("zsh", "-fc", "autoload -U compinit && compinit -u -d $HOME/.zcompdump && source <(messkit completion zsh) && whence -w _messkit")
	}
}
