package config

import (
	"context"
	"fmt"
	"os"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/internal/strictyaml"
)

// maxPlaceholder is the largest file of a placeholder, in bytes: that of any image.
const maxPlaceholder = picture.MaxBytes

// placeholders reads the images that a camera sends in place of a missing picture.
func (d *Device) placeholders(n strictyaml.Node) error {
	if _, ok := d.Dev.(drivers.Photographer); !ok && d.Dev != nil && len(d.Gone) > 0 {
		return strictyaml.Problems{n.Problem("placeholders", "it takes no pictures; write them at a camera")}
	}
	var wrong strictyaml.Problems
	for _, file := range d.Gone {
		s, err := SketchOf(pathBeside(n.File(), file))
		if err != nil {
			wrong = append(wrong, n.Problem("placeholders", "%v", err))
			continue
		}
		d.Placeholders = append(d.Placeholders, s)
	}
	return wrong.Err()
}

// SketchOf returns the sketch of the image in a file.
func SketchOf(file string) (picture.Sketch, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return picture.Sketch{}, fmt.Errorf("%w; save the image that comes while the camera is unplugged, and write its path", err)
	case !info.Mode().IsRegular() || info.Size() > maxPlaceholder:
		return picture.Sketch{}, fmt.Errorf("%s: it is no picture of at most %d MB; write the path of one", file, maxPlaceholder>>20)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return picture.Sketch{}, err
	}
	s, err := picture.SketchOf(context.Background(), data)
	if err != nil {
		return picture.Sketch{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}
