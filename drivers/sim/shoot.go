package sim

import (
	"bytes"
	"context"
	"image/jpeg"

	"github.com/messkit/messkit/drivers"
)

// jpegQuality keeps the edges of text clean; such an image has about 100 KB.
const jpegQuality = 88

// shoot renders the world during one verb of the device with the Life l.
func shoot(ctx context.Context, l *drivers.Base, w *World, draw func(*canvas, scene)) (drivers.Photo, error) {
	return drivers.Shoot(ctx, l, func(ctx context.Context) (drivers.Photo, error) {
		s, c := w.scene(), newCanvas()
		draw(c, s)
		c.grain(s.now)
		if ctx.Err() != nil {
			return drivers.Photo{}, ctx.Err()
		}
		var b bytes.Buffer
		err := jpeg.Encode(&b, c.img, &jpeg.Options{Quality: jpegQuality})
		return drivers.Photo{Data: b.Bytes(), MIME: "image/jpeg", CapturedAt: s.now}, err
	})
}
