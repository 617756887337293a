package scene

import (
	"bytes"
	"context"
	"image/jpeg"
	"maps"
	"slices"
)

// jpegQuality keeps the edges of text clean; such an image has about 100 KB.
const jpegQuality = 88

// drawings maps the views to their drawings.
var drawings = map[string]func(*canvas, Scene){
	"fridge": drawFridge, "porch": drawPorch, "kitchen": drawKitchen, "living-room": drawLivingRoom,
}

// Views lists the views of cameras.
func Views() []string { return slices.Sorted(maps.Keys(drawings)) }

// Photo renders a view as a JPEG image.
func (s Scene) Photo(ctx context.Context, view string) ([]byte, error) {
	return s.render(ctx, drawings[view])
}

// Map renders the map of the vacuum as a JPEG image.
func (s Scene) Map(ctx context.Context) ([]byte, error) { return s.render(ctx, drawMap) }

func (s Scene) render(ctx context.Context, draw func(*canvas, Scene)) ([]byte, error) {
	c := newCanvas()
	draw(c, s)
	c.grain(s.Now)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, c.img, &jpeg.Options{Quality: jpegQuality})
	return b.Bytes(), err
}
