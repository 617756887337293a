package v4l2cam

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// System gives access to the cameras of this host.
type System struct{}

var _ Video = System{}

// camera is an open capture device.
type camera struct {
	fd   int
	path string
	card string
}

// Stream opens the camera that cfg names.
func (System) Stream(_ context.Context, cfg Config) (_ Stream, err error) {
	c, err := open(cfg.Device)
	if err != nil {
		return nil, err
	}
	s := &stream{fd: c.fd, what: fmt.Sprintf("%s (%s)", c.path, c.card)}
	if err := s.begin(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.what, err), s.Close())
	}
	return s, nil
}

// files returns the video devices of this host, cameras and others.
func files() []string {
	paths, _ := filepath.Glob("/dev/video*")       // the pattern is valid
	slices.SortFunc(paths, func(a, b string) int { // video2 before video10
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return paths
}

// cameras returns the cameras that this process can open.
func (System) cameras() []present {
	var list []present
	for _, path := range files() {
		c, err := openFile(path)
		if err != nil {
			continue // not a camera, or without permission
		}
		_ = unix.Close(c.fd) // read only
		list = append(list, present{lasting(path), c.card})
	}
	return list
}

// lasting returns a link to a device that is the same after a restart, or the device
// itself.
func lasting(path string) string {
	links, _ := filepath.Glob("/dev/v4l/by-id/*") // the pattern is valid
	for _, link := range links {
		if to, err := filepath.EvalSymlinks(link); err == nil && to == path {
			return link
		}
	}
	return path
}

// open opens a device by its file, or the only device with a part of its name.
func open(device string) (*camera, error) {
	if strings.HasPrefix(device, "/") {
		return openFile(device)
	}
	paths := files()
	var names []string
	var found []*camera
	var errs []error
	for _, path := range paths {
		c, err := openFile(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		names = append(names, fmt.Sprintf("%s %q", path, c.card))
		if device != "" && !strings.Contains(strings.ToLower(c.card), strings.ToLower(device)) {
			_ = unix.Close(c.fd) // read only
			continue
		}
		found = append(found, c)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	for _, c := range found {
		_ = unix.Close(c.fd) // read only
	}
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("the host has %d cameras (%s); write device: with one of them, preferably its link in /dev/v4l/by-id", len(found), strings.Join(names, ", "))
	case len(names) > 0:
		return nil, fmt.Errorf("no camera has the name %q; the cameras: %s", device, strings.Join(names, ", "))
	case len(paths) > 0:
		return nil, fmt.Errorf("messkit can open no camera: %w", errors.Join(errs...))
	}
	return nil, errors.New("no camera (/dev/video*); check that it is connected")
}

// errNoCamera reports that a device is not a camera, but an encoder or the metadata of a
// camera.
var errNoCamera = errors.New("is not a camera, or delivers raw images (see rpicam); v4l2-ctl --list-devices lists the cameras")

func openFile(path string) (*camera, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s is not there; check that the camera is connected", path)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s: %w; add the user of messkit to the group video", path, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var caps capability
	if err := control(fd, queryCap, &caps); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w (%w)", path, errNoCamera, err), unix.Close(fd))
	}
	can := caps.Capabilities
	if can&capDevice != 0 {
		can = caps.DeviceCaps
	}
	if can&capCapture == 0 || can&capStreaming == 0 {
		return nil, errors.Join(fmt.Errorf("%s %w", path, errNoCamera), unix.Close(fd))
	}
	return &camera{fd, path, text(caps.Card[:])}, nil
}

func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}
