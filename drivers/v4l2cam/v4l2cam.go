// Package v4l2cam takes images with cameras of the kernel's V4L2 interface: USB cameras
// (UVC), and CSI cameras whose driver delivers processed images. Use package rpicam for
// Raspberry Pi cameras with raw Bayer data.
//
// Source: the kernel's Documentation/userspace-api/media/v4l; streaming with mapped
// buffers, single-planar. The package does not use cgo. Not supported: Bayer formats,
// H.264, the multi-planar interface, controls (set exposure and focus with v4l2-ctl).
package v4l2cam

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Photographer   = (*Camera)(nil)
	_ drivers.ResourceHolder = (*Camera)(nil)
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{
		Name: "v4l2cam", Class: "camera", About: "USB or CSI camera of this host (V4L2)",
		Open: drivers.NewFactory(DefaultConfig, func(env drivers.Env, cfg Config) (*Camera, error) {
			return New(env.Name, cfg, System{}, env.Log, env.Now), nil
		}),
		Discover: Find,
	}
}

// Video gives access to the cameras of a host, or to simulated cameras in a test.
type Video interface {
	// Stream opens a camera and starts its stream; ctx limits only the opening.
	Stream(ctx context.Context, cfg Config) (Stream, error)
}

// Stream is an open camera stream.
type Stream interface {
	Picture() Picture // format of the frames
	// Frame waits for the next frame, which is valid until the next call.
	Frame(ctx context.Context) ([]byte, error)
	Close() error
}

// Camera is one camera. It is open only during an image, so other programs may use it in
// between, and it may be connected later.
type Camera struct {
	drivers.Passive
	cfg   Config
	video Video
	log   *slog.Logger
	now   func() time.Time

	turn chan struct{} // semaphore: one image at a time
}

// New returns a camera for a valid configuration. It opens no camera.
func New(name string, cfg Config, video Video, log *slog.Logger, now func() time.Time) *Camera {
	return &Camera{Passive: drivers.NewPassive(name), cfg: cfg, video: video, log: log, now: now, turn: make(chan struct{}, 1)}
}

// Resources returns the camera, with one identity for all its names.
func (c *Camera) Resources() []drivers.Resource {
	what := "the only camera"
	if c.cfg.Device != "" {
		what = "the camera " + c.cfg.Device
	}
	return []drivers.Resource{{Key: "device", Label: what, Identity: "camera " + drivers.FileIdentity(c.cfg.Device), Kind: "V4L2 camera", Sole: c.cfg.Device == ""}}
}

// Photo takes an image. A second caller waits for the first.
func (c *Camera) Photo(ctx context.Context) (drivers.Photo, error) {
	return drivers.TakePhotoWithin(ctx, &c.Base, c.cfg.Timeout, c.slow, func(ctx context.Context) (drivers.Photo, error) {
		select {
		case c.turn <- struct{}{}:
			defer func() { <-c.turn }()
		case <-ctx.Done():
			return drivers.Photo{}, ctx.Err()
		}
		return c.take(ctx)
	})
}

func (c *Camera) slow() error {
	return fmt.Errorf("no image in %v; check whether another program uses the camera, or the light is low; lower skip_frames, or raise timeout", c.cfg.Timeout)
}

// maxBroken is the number of successive broken frames after which the camera counts as
// broken.
const maxBroken = 10

// take streams until it has a complete image after the frames to drop.
func (c *Camera) take(ctx context.Context) (_ drivers.Photo, err error) {
	s, err := c.video.Stream(ctx, c.cfg)
	if err != nil {
		return drivers.Photo{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for range c.cfg.SkipFrames {
		if _, err := s.Frame(ctx); err != nil {
			return drivers.Photo{}, err
		}
	}
	for broken := 0; ; broken++ {
		frame, err := s.Frame(ctx)
		if err != nil {
			return drivers.Photo{}, err
		}
		at := c.now()
		data, err := s.Picture().encode(frame, c.cfg.Quality)
		if err == nil {
			return drivers.Photo{Data: data, MIME: "image/jpeg", CapturedAt: at}, nil
		}
		if broken >= maxBroken {
			return drivers.Photo{}, err
		}
	}
}
