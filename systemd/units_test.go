// Package systemd_test starts the units of this folder in a container, with their
// sandbox, as systemd starts them on a board.
package systemd_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

const config = `agent: {id: porch-pi}
devices:
  porch-light: {driver: sim-lamp, area: porch}
`

// probe runs in the container beside the service. It writes what it sees to /out.
const probe = `
touch /out/booted
export MESSKIT_KEY_FILE=/var/lib/messkit/.mess/operator.key
for try in $(seq 200); do
	/usr/local/bin/messkit status >/out/status 2>&1 && break
	sleep 0.2
done
/usr/local/bin/messkit ask ASK >/out/answer 2>&1
grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd|Uid):' /proc/$(systemctl show -P MainPID UNIT)/status >/out/kernel
systemd-analyze security --no-pager UNIT | grep 'Overall exposure' >/out/exposure
systemctl stop UNIT
journalctl --no-pager -u UNIT >/out/journal
systemctl show -p Result -p ExecMainStatus -p NRestarts UNIT >/out/end
`

// TestUnitsStartInTheirSandbox boots systemd in a container for each unit. The service
// must answer, do what it is asked, and end in order, under the sandbox that the unit asks for.
func TestUnitsStartInTheirSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("this test boots a container")
	}
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("a container of systemd-nspawn needs root on Linux")
	}
	for _, program := range []string{"systemd-nspawn", "/usr/lib/systemd/systemd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not here; apt-get install systemd-container", program)
		}
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "messkit"), "../cmd/messkit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, u := range []struct{ name, ask, answer string }{
		{"messkit.service", "'turn on the porch light' --wait", "completed"},
		{"messkit-exchange.service", "'turn on the porch light'", "it waits: no executor"},
	} {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			out := boot(t, u.name, filepath.Join(dir, "messkit"), u.ask)
			for file, want := range map[string]string{
				"status":   `porch-pi|exchange`,
				"answer":   u.answer,
				"kernel":   `Uid:\s+991\s[\s\S]*CapEff:\s+0{16}\nCapBnd:\s+0{16}\nNoNewPrivs:\s+1\nSeccomp:\s+2\n`,
				"exposure": `service: 1\.\d OK`,
				"end":      `Result=success[\s\S]*ExecMainStatus=0|ExecMainStatus=0[\s\S]*Result=success`,
			} {
				text, err := os.ReadFile(filepath.Join(out, file))
				if err != nil || !regexp.MustCompile(want).Match(text) {
					t.Errorf("%s: %v: %s, want %s", file, err, text, want)
				}
			}
			if journal, err := os.ReadFile(filepath.Join(out, "journal")); t.Failed() {
				t.Logf("journal: %v: %s", err, journal)
			}
		})
	}
}

// boot runs systemd in a container until probe has ended, and returns the folder with
// what probe has written. It skips the test where the kernel allows no container.
func boot(t *testing.T, unit, binary, ask string) (out string) {
	root, out := t.TempDir(), t.TempDir()
	write := func(name, text string, mode fs.FileMode) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	service, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	write("etc/systemd/system/"+unit, string(service), 0o644)
	write("etc/systemd/system/probe.service", "[Unit]\nWants="+unit+"\nAfter="+unit+"\nSuccessAction=poweroff-force\nFailureAction=poweroff-force\n"+
		"[Service]\nType=oneshot\nExecStart=/bin/sh /etc/probe.sh\nTimeoutStartSec=120\n", 0o644)
	write("etc/probe.sh", strings.NewReplacer("UNIT", unit, "ASK", ask).Replace(probe), 0o755)
	write("etc/passwd", "root:x:0:0::/root:/bin/sh\nmesskit:x:991:991::/var/lib/messkit:/usr/sbin/nologin\n", 0o644)
	write("etc/group", "root:x:0:\nmesskit:x:991:\n", 0o644)
	write("etc/os-release", "ID=test\n", 0o644)
	write("etc/machine-id", "", 0o644)
	write("etc/messkit/messkit.yaml", config, 0o644)
	for _, link := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+link, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"usr", "out"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "systemd-nspawn", "--quiet", "--directory="+root, "--register=no", "--keep-unit", "--private-network", "--console=pipe",
		"--bind-ro=/usr", "--bind-ro="+filepath.Dir(binary)+":/usr/local/bin", "--bind="+out+":/out", "--boot", "systemd.unit=probe.service", "systemd.log_target=console")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.CombinedOutput()
	if _, missing := os.Stat(filepath.Join(out, "booted")); missing != nil {
		t.Skipf("systemd does not boot in a container here: %v: %s", err, bytes.TrimSpace(output))
	}
	return out
}
