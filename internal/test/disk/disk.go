// Package disk simulates disks whose power fails, for tests. It needs root, loop devices, btrfs and
// ext4, and skips a test without them. Only tests import it.
package disk

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

// HasOwnMounts reports whether this process may mount, which needs its own mount namespace: the
// kernel then removes all mounts when the process ends. In another namespace it runs the test
// again inside a new one. It skips the test where it cannot simulate disks.
func HasOwnMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideEnv) == "" {
		needRoot(t)
	}
	return MayMount(t)
}

// MayMount is HasOwnMounts for a test that mounts only file systems in memory.
func MayMount(t *testing.T) bool {
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

// Disk simulates power cuts: an ext4 image in a file on btrfs, whose clone is the content of the
// disk at that moment. Data that only the page cache of ext4 has is not in the clone. The clone
// keeps the order of writes, which a real card may change.
type Disk struct {
	Image string // the ext4 image
	Live  string // its mount point

	t   *testing.T
	dir string
}

// options commit metadata every second, the shortest interval of ext4. noauto_da_alloc turns off the
// heuristics by which ext4 syncs data for programs that forget it.
const options = "loop,commit=1,noauto_da_alloc"

// New makes an empty disk of a size in bytes, and mounts it until the test ends.
func New(t *testing.T, size int64) *Disk {
	t.Helper()
	d := &Disk{t: t, dir: t.TempDir()}
	outer := filepath.Join(d.dir, "btrfs")
	img := d.blank(d.dir, "btrfs.img", 8<<30)
	d.run("mkfs.btrfs", "-q", img)
	d.mount(img, outer, "loop")
	// The image of the disk lies on btrfs, which clones files.
	d.Image, d.Live = d.blank(outer, "ext4.img", size), filepath.Join(d.dir, "live")
	d.run("mkfs.ext4", "-q", d.Image)
	d.mount(d.Image, d.Live, options)
	return d
}

// blank makes a sparse file.
func (d *Disk) blank(dir, name string, size int64) string {
	d.t.Helper()
	name = filepath.Join(dir, name)
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size)); err != nil {
		d.t.Fatal(err)
	}
	return name
}

func (d *Disk) run(command string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(command, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v: %s", command, args, err, out)
	}
}

// mount mounts an image until the test ends.
func (d *Disk) mount(image, at, options string) {
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

// Sync writes to the disk what only the page cache has.
func (d *Disk) Sync() {
	d.t.Helper()
	f, err := os.Open(d.Live)
	if err == nil {
		err = errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// Fill fills the disk until nothing can be written to it.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.Create(filepath.Join(d.Live, filler))
	if err != nil {
		d.t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err = f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			break
		}
	}
	if err := f.Close(); err != nil || len(block) > 0 {
		d.t.Fatal(errors.Join(err, errors.New("the disk is not full")))
	}
}

// Free removes what Fill has written.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.Live, filler)); err != nil {
		d.t.Fatal(err)
	}
}

// filler is the file that Fill writes.
const filler = "filler"

// Clone clones an image in its current state, and returns the file.
func (d *Disk) Clone(image, name string) string {
	d.t.Helper()
	to, err := os.Create(filepath.Join(filepath.Dir(d.Image), name))
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

// Replace mounts a clone in place of the disk, which is gone then. Live is another folder afterwards.
func (d *Disk) Replace(clone string) {
	d.t.Helper()
	// A process may still use the disk for a moment.
	if err := errors.Join(unix.Unmount(d.Live, unix.MNT_DETACH), os.Remove(d.Image)); err != nil {
		d.t.Fatal(err)
	}
	d.Image, d.Live = clone, clone+".mounted"
	d.mount(d.Image, d.Live, options)
}

// WithMounted mounts a clone while f runs, and removes it; the mount replays the journal of ext4.
func (d *Disk) WithMounted(clone string, f func(dir string)) {
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
