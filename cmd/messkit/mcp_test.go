package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
)

// mcpClient is the folder of the official TypeScript client of MCP, "" without it (make deps).
var mcpClient = func() string {
	dir, err := filepath.Abs("testdata/mcpclient")
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "sdk")); err != nil {
		return ""
	}
	if _, err := exec.LookPath("node"); err != nil {
		return ""
	}
	return dir
}()

// rpc speaks JSON-RPC with a command: rpc IN COMMAND... It sends the lines of the file IN, and
// waits for the answer to each line with an id. Then it closes the input. The output of the
// command goes to the files out and err.
func rpc(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: rpc IN COMMAND...")
	}
	c := exec.Command(args[1], args[2:]...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "MESSKIT_URL"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	var out, errs bytes.Buffer
	c.Stderr = &errs
	in, err := c.StdinPipe()
	ts.Check(err)
	from, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	answers := bufio.NewScanner(from)
	for line := range bytes.Lines([]byte(ts.ReadFile(args[0]))) {
		_, err := in.Write(line)
		ts.Check(err)
		var asked, answer struct {
			ID *int `json:"id"`
		}
		_ = json.Unmarshal(line, &asked) // a line that is not JSON expects no answer
		for asked.ID != nil && (answer.ID == nil || *answer.ID != *asked.ID) {
			if !answers.Scan() {
				ts.Fatalf("no answer to %s%s", line, errs.String())
			}
			fmt.Fprintln(&out, answers.Text())
			ts.Check(json.Unmarshal(answers.Bytes(), &answer)) // anything else violates the protocol
		}
	}
	ts.Check(in.Close())
	for answers.Scan() {
		fmt.Fprintln(&out, answers.Text())
	}
	ts.Check(c.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), errs.Bytes(), 0o600))
}

// The configurations in the guide are valid, and the guide names every tool.
func TestMCPGuideIsValid(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range mcp.Tools() {
		if !strings.Contains(string(text), "| `"+tool.Name+"` |") {
			t.Errorf("%s is not in the guide", tool.Name)
		}
	}
	blocks := regexp.MustCompile("(?s)```(json|yaml)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 3 || blocks[0][1] != "json" || !strings.Contains(blocks[0][2], `["mcp"]`) {
		t.Fatalf("the guide does not begin with an example: %q", blocks)
	}
	for _, b := range blocks {
		if b[1] == "yaml" {
			if err := (&config.Config{}).Read("docs/how-to/mcp.md", []byte(b[2])); err != nil {
				t.Error(err)
			}
			continue
		}
		var v struct {
			Servers map[string]struct {
				Command, URL string
				Args         []string
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(b[2]), &v); err != nil || len(v.Servers) != 1 {
			t.Errorf("%s: %v", b[2], err)
		}
		for _, s := range v.Servers {
			if s.URL != "" {
				if !strings.HasSuffix(s.URL, daemon.MCPPath) {
					t.Errorf("%s is not where it is", s.URL)
				}
				continue
			}
			c, rest, err := cli.NewRoot(new(output.Env)).Find(s.Args)
			if err != nil || s.Command != "messkit" || c.Name() != "mcp" || c.ParseFlags(rest) != nil {
				t.Errorf("%s %v: %v", s.Command, s.Args, err)
			}
		}
	}
}
