package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/freeport"
)

var meshBlocks = regexp.MustCompile("(?s)```(yaml|json|sh)\n(.*?)```")

// The commands of the guide to meshes start two agents, and one shows the other the content of
// the fridge.
func TestMeshGuideRuns(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/mesh.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := meshBlocks.FindAllStringSubmatch(string(page), 4)
	if len(blocks) < 4 || blocks[0][1]+blocks[1][1]+blocks[2][1]+blocks[3][1] != "yamlyamljsonsh" {
		t.Fatalf("the page does not begin with two configurations, a registry and commands: %q", blocks)
	}
	home := t.TempDir()
	ports := strings.NewReplacer("8421", unusedPort(t), "8422", unusedPort(t))
	for i, name := range []string{"arm.yaml", "hub.yaml", "registry.json"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(ports.Replace(blocks[i][2])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bin := buildMesskit(t)
	for _, command := range []string{"run --config arm.yaml", "exchange --config hub.yaml"} {
		p, err := start(home, "sh", "-c", "cd "+home+" && exec "+bin+" "+command)
		if err != nil || p.url == "" {
			t.Fatalf("%v\n%s", err, &p.stderr)
		}
		t.Cleanup(func() {
			if err := p.stop(); err != nil {
				t.Error(err)
			}
		})
	}
	c := exec.CommandContext(t.Context(), "bash", "-ec", blocks[3][2])
	c.Dir = home
	c.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"), "MESSKIT_URL="+ports.Replace("http://127.0.0.1:8422"), "MESSKIT_KEY_FILE=hub/operator.key")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"saved ", "to arm_01: sent", "arm_01: In the fridge", "circuit closed", "arm_01 > hub"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	pictures, _ := filepath.Glob(filepath.Join(home, "*.jpg"))
	if len(pictures) != 1 {
		t.Errorf("%v\n%s", pictures, out)
	}
}

// unusedPort returns a free port.
func unusedPort(t *testing.T) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(freeport.Address(t))
	return port
}
