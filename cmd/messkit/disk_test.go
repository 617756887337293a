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

// insideEnv marks the test process that has mounts of its own.
const insideEnv = "MESSKIT_OWN_MOUNTS"

// inOwnMounts reports whether this process may mount: it is in a mount
// namespace of its own, so that nothing stays mounted however it ends. From
// outside of one, the test is run again inside.
func inOwnMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) == "" {
		needRoot(t)
	}
	return mayMount(t)
}

// mayMount is inOwnMounts for a test that mounts what is in memory alone.
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

// needRoot skips where disks cannot be simulated, and says what is missing.
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

// disk is a disk whose power can be cut: an ext4 image in a file on btrfs, of
// which a clone is what the disk holds at that moment. What only the page cache
// of ext4 has is not in it. The clone keeps the order of writes, which a real
// card may not.
type disk struct {
	t     *testing.T
	dir   string
	image string // the ext4 image
	live  string // where it is mounted
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
	// Metadata is committed every second, as often as ext4 can; data is not, and
	// ext4 does not guess where a program has forgotten to sync.
	d.mount(d.image, d.live, "loop,commit=1,noauto_da_alloc")
	return d
}

// blank makes a file that takes no room yet.
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

// mount mounts until the test ends.
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
		// It may have been unmounted before; if it is in use, it goes later.
		_ = unix.Unmount(at, unix.MNT_DETACH)
	})
}

// cut clones an image as it is now.
func (d *disk) cut(image, name string) string {
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

// look mounts a clone, on which ext4 recovers, while f runs.
func (d *disk) look(clone string, f func(dir string)) {
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
