package picture_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/picture"
)

func addSeeds(f *testing.F) {
	img := scene(40, 30, 5)
	for _, data := range [][]byte{
		jpegOf(f, img, 80), withEXIF(jpegOf(f, img, 80), 6, littleEndian), withoutTables(jpegOf(f, img, 80)),
		pngOf(f, img), withChunk(pngOf(f, img), "eXIf", exif(5, bigEndian)),
		gifOf(f, img), animation(f, 40, 30), bmpOf(f, img), tiffOf(f, img, nil),
		[]byte("RIFF\x00\x00\x00\x00WEBPVP8 EXIF"), []byte("BM????\x00\x00\x00\x00"),
		{0xff, 0xd8, 0xff, 0xff, 0xd9},
	} {
		f.Add(data)
	}
	for _, name := range []string{"progressive.jpg", "cmyk.jpg", "422.jpg", "lossy.webp", "lossless.webp", "alpha.webp", "turned.webp"} {
		f.Add(fixture(f, name))
	}
}

// FuzzFit: nothing panics, an error comes without data, and the result fits and is a valid
// picture. A second Fit does not change it.
func FuzzFit(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := picture.Inspect(data)
		if err == nil && info.Width*info.Height > 1<<18 {
			return // correct, but slow
		}
		lim := picture.Limits{MaxBytes: 3000}
		p, err := picture.Fit(t.Context(), data, lim)
		if err != nil {
			if p.Data != nil || !strings.HasPrefix(err.Error(), "picture: ") {
				t.Fatalf("%v, and %d bytes", err, len(p.Data))
			}
			return
		}
		if again, _ := fit(t, p.Data, lim); len(again.Changes) != 0 {
			t.Fatalf("first %q, then %q", p.Changes, again.Changes)
		}
	})
}

// FuzzInspect: an error comes without an Info, and no result is over the limit.
func FuzzInspect(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := picture.Inspect(data)
		switch {
		case err != nil && (info != picture.Info{} || !strings.HasPrefix(err.Error(), "picture: ")):
			t.Fatalf("%v, and %+v", err, info)
		case err == nil && (info.Width < 1 || info.Height < 1 || info.Width > picture.MaxPixels/info.Height):
			t.Fatalf("%+v", info)
		}
	})
}
