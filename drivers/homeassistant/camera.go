package homeassistant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

var _ drivers.Photographer = (*camera)(nil)

// photoBytes is the size limit for an image.
const photoBytes = 16 << 20

// camera is a camera entity.
type camera struct{ plain }

// Class returns the class of the device.
func (c *camera) Class() string { return "camera" }

// Photo takes an image.
func (c *camera) Photo(ctx context.Context) (drivers.Photo, error) {
	ctx, done, err := c.Begin(ctx)
	if err != nil {
		return drivers.Photo{}, err
	}
	defer done()
	p, err := c.entity.photo(ctx)
	switch {
	case ctx.Err() != nil:
		return drivers.Photo{}, c.EndReason(ctx)
	case err != nil:
		return drivers.Photo{}, fmt.Errorf("%s: %w", c.Name(), err)
	}
	return p, nil
}

func (e *entity) photo(ctx context.Context) (drivers.Photo, error) {
	if _, err := e.state(ctx); err != nil {
		return drivers.Photo{}, err // an unavailable camera would deliver its last image
	}
	at := e.now()
	a, err := e.web.Do(ctx, web.Call{Path: "/api/camera_proxy/" + url.PathEscape(e.cfg.Entity), Max: photoBytes})
	if err != nil {
		return drivers.Photo{}, err
	}
	mime := http.DetectContentType(a.Body)
	if mime != "image/jpeg" && mime != "image/png" {
		return drivers.Photo{}, errors.New("the camera delivers neither JPEG nor PNG; check its image in Home Assistant")
	}
	return drivers.Photo{Data: a.Body, MIME: mime, CapturedAt: at}, nil
}
