package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/messkit/messkit/internal/test/freeport"
)

// imageUser is the user of the image.
const imageUser = 65532

// The image has nothing but the program. So the command of deploy/Dockerfile serves in an empty root folder,
// as the user of the image.
func TestImageRuns(t *testing.T) {
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("SKIP: only root starts a program in another root folder")
	}
	t.Parallel()
	page, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var command []string
	line := regexp.MustCompile(`(?m)^CMD (.*)$`).FindSubmatch(page)
	if line == nil || json.Unmarshal(line[1], &command) != nil || !strings.Contains(string(page), "\nUSER 65532:65532\n") {
		t.Fatalf("the command or the user of the image: %s", page)
	}
	root, err := os.MkdirTemp("", "messkit-image-") // a folder of the test is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) }) // only a folder of the system for temporary files keeps it
	address := freeport.Address(t)
	data, err := os.ReadFile(buildMesskit(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"data", "etc/messkit"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string][]byte{"messkit": data, "etc/messkit/exchange.yaml": []byte("exchange: {id: home, listen: '" + address + "', mqtt: {listen: off}}\n")} {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "data"} {
		if err := os.Chmod(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Join(root, "data"), imageUser, imageUser); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/messkit", command...)
	c.Dir, c.Env = "/", []string{"HOME=/data"}
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}, Pdeathsig: syscall.SIGKILL}
	var out text
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // killed above
		if t.Failed() {
			t.Log(out.String())
		}
	})
	soon(t, "the exchange of the image is ready", func() bool {
		answer, err := http.Get("http://" + address + "/readyz")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	if info, err := os.Stat(filepath.Join(root, "data", "operator.key")); err != nil || info.Sys().(*syscall.Stat_t).Uid != imageUser {
		t.Errorf("the key of the operator: %v, %v", info, err)
	}
}
