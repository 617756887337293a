// Package httpcam drives cameras that deliver images over HTTP: as snapshots, or as a
// Motion JPEG stream (multipart/x-mixed-replace). Nearly every IP camera does, and so do
// the servers ustreamer, motion, mjpg-streamer and go2rtc.
//
// HTTP authentication is RFC 7617 (Basic) and RFC 7616 (Digest). Not supported: RTSP,
// H.264, login pages with cookies, client certificates. The driver never decodes an image;
// it reads its size.
package httpcam

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

var _ drivers.Photographer = (*Camera)(nil)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "httpcam", Class: "camera", About: "IP camera with a snapshot address or an MJPEG stream", Open: drivers.NewFactory(DefaultConfig, open), Find: Find}
}

// Camera is one camera. Its methods are safe for concurrent use; each image uses a
// connection of its own.
type Camera struct {
	drivers.Base
	cfg     Config
	account atomic.Pointer[httpclient.Account] // set by Start
	url     *url.URL
	log     *slog.Logger
	now     func() time.Time
	link    *drivers.Connection
}

// open is New, but returns an error if the password file is unreadable: before the first image.
func open(env drivers.Env, cfg Config) (*Camera, error) {
	if _, err := cfg.account(); err != nil {
		return nil, fmt.Errorf("%s: %w", env.Name, err)
	}
	return New(env, cfg)
}

// New returns a camera. Its errors are those of Config.Validate. It uses no network.
func New(env drivers.Env, cfg Config) (*Camera, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", env.Name, err)
	}
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: url: is invalid", env.Name) // err contains the whole address
	}
	u.Fragment = ""
	return &Camera{Base: drivers.NewBase(env.Name), cfg: cfg, url: u, log: env.Log, now: env.Now, link: drivers.NewConnection(u.Host)}, nil
}

// Connection returns the host of the device.
func (c *Camera) Connection() *drivers.Connection { return c.link }

// Start reads the password file. It sends no request, because the camera may be off.
func (c *Camera) Start() error {
	a, err := c.cfg.account()
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	c.account.Store(&a)
	c.MarkStarted()
	return nil
}

// Halt terminates requests under way and waits for them.
func (c *Camera) Halt() error { c.StopVerbs(); return nil }

// Photo takes an image: it requests a new snapshot, or opens the stream and reads a frame.
func (c *Camera) Photo(ctx context.Context) (drivers.Photo, error) {
	s := &imageRequest{fetcher: newFetcher(c.url, httpclient.Account{}), cfg: c.cfg, now: c.now}
	defer s.close()
	slow := func() error {
		if !s.answered {
			return fmt.Errorf("no image in %v; check that %s is reachable", c.cfg.Timeout, shown(c.url))
		}
		return fmt.Errorf("no complete image in %v, though %s answers; %s", c.cfg.Timeout, shown(c.url), s.streamAdvice())
	}
	return drivers.TakePhotoWithin(ctx, &c.Base, c.cfg.Timeout, slow, func(ctx context.Context) (drivers.Photo, error) {
		s.account = *c.account.Load()
		p, err := s.take(ctx)
		if err == nil {
			c.log.Debug("image taken", "bytes", len(p.Data), "took", c.now().Sub(p.CapturedAt))
		}
		return p, err
	})
}
