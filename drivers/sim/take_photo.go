package sim

import (
	"context"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim/scene"
)

// takePhoto renders the world during one verb of the device with the Base b.
func takePhoto(ctx context.Context, b *drivers.Base, w *World, draw func(context.Context, scene.Scene) ([]byte, error)) (drivers.Photo, error) {
	return drivers.TakePhoto(ctx, b, func(ctx context.Context) (drivers.Photo, error) {
		s := w.scene()
		data, err := draw(ctx, s)
		if err != nil {
			return drivers.Photo{}, err
		}
		return drivers.Photo{Data: data, MIME: "image/jpeg", CapturedAt: s.Now}, nil
	})
}
