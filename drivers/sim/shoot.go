package sim

import (
	"context"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim/scene"
)

// shoot renders the world during one verb of the device with the Life l.
func shoot(ctx context.Context, l *drivers.Base, w *World, draw func(context.Context, scene.Scene) ([]byte, error)) (drivers.Photo, error) {
	return drivers.Shoot(ctx, l, func(ctx context.Context) (drivers.Photo, error) {
		s := w.scene()
		data, err := draw(ctx, s)
		if err != nil {
			return drivers.Photo{}, err
		}
		return drivers.Photo{Data: data, MIME: "image/jpeg", CapturedAt: s.Now}, nil
	})
}
