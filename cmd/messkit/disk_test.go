package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// insideEnv marks the test process that has its own mount namespace.
const insideEnv = "MESSKIT_OWN_MOUNTS"

// hasOwnMounts reports whether this process may mount, which needs its own mount namespace: the
// kernel then removes all mounts when the process ends. In another namespace it runs the test
// again inside a new one.
func hasOwnMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) == "" {
		needRoot(t)
	}
	return mayMount(t)
}

// mayMount is hasOwnMounts for a test that mounts only file systems in memory.
func mayMount(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("simulated disks need root")
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	if end, ok := t.Deadline(); ok {
		c.Args = append(c.Args, "-test.timeout="+time.Until(end).String())
	}
	c.Env = append(os.Environ(), insideEnv+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := c.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM):
		t.Skip("simulated disks: root may not make mount namespaces here (CAP_SYS_ADMIN)")
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+t.Name()+" ")):
		t.Skipf("%s", out)
	default:
		t.Logf("%s", out)
	}
	return false
}

// needRoot skips the test on a host that cannot simulate disks, and names the missing tools.
func needRoot(t *testing.T) {
	t.Helper()
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		missing = append(missing, "/dev/loop-control")
	}
	for _, tool := range []string{"mkfs.btrfs", "mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if len(missing) > 0 {
		t.Skipf("simulated power cuts need %s", strings.Join(missing, ", "))
	}
}

// disk simulates power cuts: an ext4 image in a file on btrfs, whose clone is the content of the
// disk at that moment. Data that only the page cache of ext4 has is not in the clone. The clone
// keeps the order of writes, which a real card may change.
type disk struct {
	t     *testing.T
	dir   string
	image string // the ext4 image
	live  string // mount point
}

// newDisk makes an empty disk and mounts it.
func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{t: t, dir: t.TempDir()}
	outer := filepath.Join(d.dir, "btrfs")
	img := d.blank(d.dir, "btrfs.img", 8<<30)
	d.run("mkfs.btrfs", "-q", img)
	d.mount(img, outer, "loop")
	// The image of the disk lies on btrfs, which clones files.
	d.image, d.live = d.blank(outer, "ext4.img", 1<<30), filepath.Join(d.dir, "live")
	d.run("mkfs.ext4", "-q", d.image)
	// The mount options commit metadata every second, the shortest interval of ext4.
	// noauto_da_alloc turns off the heuristics by which ext4 syncs data for programs that forget
	// it.
	d.mount(d.image, d.live, "loop,commit=1,noauto_da_alloc")
	return d
}

// blank makes a sparse file.
func (d *disk) blank(dir, name string, size int64) string {
	d.t.Helper()
	name = filepath.Join(dir, name)
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size)); err != nil {
		d.t.Fatal(err)
	}
	return name
}

func (d *disk) run(command string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(command, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v: %s", command, args, err, out)
	}
}

// mount mounts an image until the test ends.
func (d *disk) mount(image, at, options string) {
	d.t.Helper()
	if err := os.MkdirAll(at, 0o700); err != nil {
		d.t.Fatal(err)
	}
	out, err := exec.Command("mount", "-o", options, image, at).CombinedOutput()
	switch {
	case bytes.Contains(out, []byte("unknown filesystem type")):
		d.t.Skipf("simulated power cuts: this kernel cannot mount %s: %s", filepath.Base(image), bytes.TrimSpace(out))
	case err != nil:
		d.t.Fatalf("mount %s: %v: %s", image, err, out)
	}
	d.t.Cleanup(func() {
		// The test may have unmounted it before. MNT_DETACH delays the unmount while a process
		// uses it.
		_ = unix.Unmount(at, unix.MNT_DETACH)
	})
}

// clone clones an image in its current state.
func (d *disk) clone(image, name string) string {
	d.t.Helper()
	to, err := os.Create(filepath.Join(filepath.Dir(d.image), name))
	if err != nil {
		d.t.Fatal(err)
	}
	from, err := os.Open(image)
	if err != nil {
		d.t.Fatal(err)
	}
	err = unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
	if err := errors.Join(err, from.Close(), to.Close()); err != nil {
		d.t.Fatal(err)
	}
	return to.Name()
}

// withMounted mounts a clone while f runs; the mount replays the journal of ext4.
func (d *disk) withMounted(clone string, f func(dir string)) {
	d.t.Helper()
	at := clone + ".mounted"
	if err := os.MkdirAll(at, 0o700); err != nil {
		d.t.Fatal(err)
	}
	d.run("mount", "-o", "loop", clone, at)
	defer func() {
		if err := errors.Join(unix.Unmount(at, 0), os.Remove(at), os.Remove(clone)); err != nil {
			d.t.Fatalf("%s: %v", clone, err)
		}
	}()
	f(at)
}
