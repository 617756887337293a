package homeassistant

import (
	"context"
	"net/url"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

var _ drivers.Photographer = (*camera)(nil)

// camera is a camera entity.
type camera struct{ statelessDevice }

// Class returns the class of the device.
func (c *camera) Class() string { return "camera" }

// Photo takes an image.
func (c *camera) Photo(ctx context.Context) (drivers.Photo, error) {
	return drivers.TakePhoto(ctx, &c.Base, c.entity.photo)
}

func (e *entity) photo(ctx context.Context) (drivers.Photo, error) {
	if _, err := e.state(ctx); err != nil {
		return drivers.Photo{}, err // an unavailable camera would deliver its last image
	}
	call := httpclient.Call{Path: "/api/camera_proxy/" + url.PathEscape(e.cfg.Entity)}
	return e.web.Photo(ctx, call, e.now(), "the camera delivers neither JPEG nor PNG; check its image in Home Assistant")
}
