package sim

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"

	"github.com/messkit/messkit/drivers"
)

// jpegQuality keeps the edges of text clean; such an image has about 100 KB.
const jpegQuality = 88

// shoot renders the world during one verb of the device with the Life l.
func shoot(ctx context.Context, l *drivers.Base, w *World, draw func(*canvas, scene)) (drivers.Photo, error) {
	ctx, done, err := l.Begin(ctx)
	if err != nil {
		return drivers.Photo{}, err
	}
	defer done()
	s, c := w.scene(), newCanvas()
	draw(c, s)
	c.grain(s.now)
	if ctx.Err() != nil {
		return drivers.Photo{}, l.EndReason(ctx)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, c.img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return drivers.Photo{}, fmt.Errorf("%s: %w", l.Name(), err)
	}
	if ctx.Err() != nil { // after Halt or a cancel the caller no longer waits
		return drivers.Photo{}, l.EndReason(ctx)
	}
	return drivers.Photo{Data: b.Bytes(), MIME: "image/jpeg", CapturedAt: s.now}, nil
}
