package hil_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Kernel is an unpacked kernel of Debian.
type Kernel struct {
	Folder  string // of the package
	File    string // the kernel itself
	Modules string // lib/modules/VERSION
}

// archive downloads packages of one architecture from Debian's archive, with apt in its own
// folders. It installs nothing and does not need root.
type archive struct {
	dir  string // cache
	arch string // Debian's name: amd64, arm64
}

// Debian returns the kernel of an architecture (amd64, arm64), from the cache or
// from the archive that this machine installs its packages from.
func Debian(arch string) (*Kernel, error) {
	dir, err := Cache()
	if err != nil {
		return nil, err
	}
	if k, err := unpacked(filepath.Join(dir, "linux-"+arch)); err == nil {
		return k, nil
	}
	for _, program := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if err := need(program, "a Debian or one of its descendants"); err != nil {
			return nil, err
		}
	}
	a := archive{filepath.Join(dir, "apt-"+arch), arch}
	if err := a.fetch(filepath.Join(dir, "linux-"+arch)); err != nil {
		return nil, &MissingError{"Debian's kernel for " + arch, fmt.Sprintf("from Debian's archive, some 70 MB: %v", err)}
	}
	return unpacked(filepath.Join(dir, "linux-"+arch))
}

// unpacked returns the kernel in a folder.
func unpacked(folder string) (*Kernel, error) {
	image, _ := filepath.Glob(filepath.Join(folder, "boot/vmlinuz-*"))
	modules, _ := filepath.Glob(filepath.Join(folder, "lib/modules/*"))
	if len(image) != 1 || len(modules) != 1 {
		return nil, fmt.Errorf("%s: holds %d kernels and %d folders of modules; remove it, and it is fetched again", folder, len(image), len(modules))
	}
	return &Kernel{folder, image[0], modules[0]}, nil
}

// fetch gets the newest kernel and unpacks it into folder.
func (a archive) fetch(folder string) error {
	if err := a.prepare(); err != nil {
		return err
	}
	if _, err := a.apt("apt-get", "update", "-qq"); err != nil {
		return err
	}
	name, err := a.kernel()
	if err != nil {
		return err
	}
	if _, err := a.apt("apt-get", "download", "-qq", name); err != nil {
		return err
	}
	debs, _ := filepath.Glob(filepath.Join(a.dir, name+"_*.deb"))
	if len(debs) == 0 {
		return fmt.Errorf("%s was not downloaded", name)
	}
	half, err := os.MkdirTemp(filepath.Dir(folder), "half-")
	if err != nil {
		return err
	}
	if _, err := run(a.dir, "dpkg-deb", "-x", debs[0], half); err != nil {
		return errors.Join(err, os.RemoveAll(half))
	}
	for _, deb := range debs {
		_ = os.Remove(deb) // dpkg-deb has unpacked it
	}
	_ = os.RemoveAll(folder) // an incomplete earlier folder, if any
	return os.Rename(half, folder)
}

// prepare makes the folders for apt, with this machine's sources of Debian packages.
func (a archive) prepare() error {
	for _, d := range []string{"state/lists/partial", "cache/archives/partial", "sources"} {
		if err := os.MkdirAll(filepath.Join(a.dir, d), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(a.dir, "status"), nil, 0o644); err != nil {
		return err
	}
	all, _ := filepath.Glob("/etc/apt/sources.list.d/*")
	n := 0
	for _, name := range append(all, "/etc/apt/sources.list") {
		text, err := os.ReadFile(name)
		if err != nil || !isDebian(text) {
			continue
		}
		n++
		if err := os.WriteFile(filepath.Join(a.dir, "sources", filepath.Base(name)), text, 0o644); err != nil {
			return err
		}
	}
	if n == 0 {
		return errors.New("no file in /etc/apt names an archive of Debian's")
	}
	return nil
}

// isDebian reports whether a list of sources is for Debian itself. Other archives do not have
// every architecture.
func isDebian(list []byte) bool {
	return bytes.Contains(list, []byte("debian-archive-keyring")) || bytes.Contains(list, []byte("deb.debian.org"))
}

// apt runs apt in the archive's own folders.
func (a archive) apt(program string, args ...string) ([]byte, error) {
	options := []string{
		"Dir::State=" + filepath.Join(a.dir, "state"), "Dir::Cache=" + filepath.Join(a.dir, "cache"),
		"Dir::State::status=" + filepath.Join(a.dir, "status"), "Dir::Etc::SourceList=/dev/null",
		"Dir::Etc::SourceParts=" + filepath.Join(a.dir, "sources"), "APT::Architecture=" + a.arch,
		"APT::Architectures=" + a.arch, "Acquire::Languages=none", "APT::Sandbox::User=root",
	}
	var all []string
	for _, o := range options {
		all = append(all, "-o", o)
	}
	return run(a.dir, program, append(all, args...)...)
}

// kernel returns the name of the package that linux-image-ARCH depends on.
func (a archive) kernel() (string, error) {
	out, err := a.apt("apt-cache", "depends", "linux-image-"+a.arch)
	if err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if name, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "Depends: linux-image-"); ok {
			return "linux-image-" + name, nil
		}
	}
	return "", fmt.Errorf("linux-image-%s stands for no kernel", a.arch)
}
