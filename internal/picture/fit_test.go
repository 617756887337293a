package picture_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/image/tiff"

	"github.com/messkit/messkit/internal/picture"
)

func TestFitReadsEveryFormat(t *testing.T) {
	img := scene(320, 200, 8)
	clear := as(image.NewNRGBA(img.Bounds()), img)
	clear.SetNRGBA(300, 150, color.NRGBA{})
	palette := as(image.NewPaletted(img.Bounds(), color.Palette{color.Black, color.RGBA{230, 20, 20, 255}, color.White}), img)
	for name, data := range map[string][]byte{
		"baseline JPEG":    jpegOf(t, img, 90),
		"progressive JPEG": fixture(t, "progressive.jpg"),
		"4:2:2 JPEG":       fixture(t, "422.jpg"),
		"1 x 4 JPEG":       fixture(t, "1x4.jpg"),
		"restarting JPEG":  fixture(t, "restarts.jpg"),
		"CMYK JPEG":        fixture(t, "cmyk.jpg"),
		"motion JPEG":      withoutTables(jpegOf(t, img, 90)),
		"PNG":              pngOf(t, img),
		"16-bit PNG":       pngOf(t, as(image.NewNRGBA64(img.Bounds()), img)),
		"transparent PNG":  pngOf(t, clear),
		"palette PNG":      pngOf(t, palette),
		"GIF":              gifOf(t, img),
		"animated GIF":     animation(t, 320, 200),
		"lossy WebP":       fixture(t, "lossy.webp"),
		"lossless WebP":    fixture(t, "lossless.webp"),
		"transparent WebP": fixture(t, "alpha.webp"),
		"BMP":              bmpOf(t, img),
		"palette BMP":      bmpOf(t, palette),
		"TIFF":             tiffOf(t, img, nil),
		"packed TIFF":      tiffOf(t, img, &tiff.Options{Compression: tiff.Deflate, Predictor: true}),
	} {
		for _, lim := range []picture.Limits{{}, {MaxBytes: 6000}, {MaxPx: 30}, {MaxBytes: 1500, MaxPx: 100}} {
			t.Run(fmt.Sprintf("%s %+v", name, lim), func(t *testing.T) {
				p, out := fit(t, data, lim)
				if !red(out, 0.08, 0.08) || red(out, 0.9, 0.9) {
					t.Errorf("red is not where it was: %v", p.Changes)
				}
				if p.Statistics.Flat || p.Statistics.Black {
					t.Errorf("statistics: %+v", p.Statistics)
				}
			})
		}
	}
}

// withoutTables returns a JPEG without Huffman tables, as in a motion JPEG.
func withoutTables(data []byte) []byte {
	for {
		at := bytes.Index(data, []byte{0xff, 0xc4})
		if at < 0 {
			return data
		}
		n := 2 + int(data[at+2])<<8 + int(data[at+3])
		data = slices.Concat(data[:at], data[at+n:])
	}
}

func TestFitKeepsGrayGray(t *testing.T) {
	for _, data := range [][]byte{
		jpegOf(t, as(image.NewGray(image.Rect(0, 0, 900, 700)), scene(900, 700, 20)), 95),
		pngOf(t, as(image.NewGray(image.Rect(0, 0, 900, 700)), scene(900, 700, 20))),
	} {
		for _, lim := range []picture.Limits{{}, {MaxBytes: 60_000}, {MaxPx: 300}} {
			p, out := fit(t, data, lim)
			if out.ColorModel() != color.GrayModel {
				t.Errorf("%+v: it is not gray: %v", lim, p.Changes)
			}
		}
	}
}

func TestFitMakesTransparentWhite(t *testing.T) {
	_, out := fit(t, pngOf(t, image.NewNRGBA(image.Rect(0, 0, 400, 300))), picture.Limits{MaxPx: 100})
	if r, g, b, _ := out.At(50, 30).RGBA(); min(r, g, b) < 0xfd00 {
		t.Errorf("background is %x %x %x, want white", r, g, b)
	}
}

func TestFitOddSizes(t *testing.T) {
	for _, size := range []image.Point{{1, 1}, {1, 3000}, {3000, 1}, {17, 5}, {66_000, 1}} {
		img := image.NewGray16(image.Rectangle{Max: size})
		for i := range img.Pix {
			img.Pix[i] = byte(i * i)
		}
		for _, lim := range []picture.Limits{{}, {MaxBytes: 1024}, {MaxPx: 16}} {
			t.Run(fmt.Sprintf("%v %+v", size, lim), func(t *testing.T) {
				fit(t, pngOf(t, img), lim)
				fit(t, bmpOf(t, as(image.NewGray(img.Rect), img)), lim)
			})
		}
	}
}

func TestFitUsesMostOfLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		w, h  int
		noise float64
		lim   picture.Limits
		bytes int // not less
		edge  int // not less
	}{
		{"quality alone", 1300, 900, 4, picture.Limits{MaxBytes: 55_000}, 45_000, 1300},
		{"a useful edge", 2400, 500, 12, picture.Limits{MaxBytes: 42_000}, 35_000, 2000},
		{"noise", 1300, 900, 40, picture.Limits{MaxBytes: 120_000}, 100_000, 500},
		{"few bytes", 1300, 900, 12, picture.Limits{MaxBytes: 20_000}, 14_000, 250},
		{"few pixels", 1300, 900, 12, picture.Limits{MaxPx: 400}, 10_000, 400},
	} {
		p, _ := fit(t, jpegOf(t, scene(c.w, c.h, c.noise), 97), c.lim)
		if len(p.Data) < c.bytes || max(p.Width, p.Height) < c.edge {
			t.Errorf("%s: %d bytes, %d x %d: %q; want at least %d bytes and %d pixels",
				c.name, len(p.Data), p.Width, p.Height, p.Changes, c.bytes, c.edge)
		}
	}
}

func TestFitKeepsFittingImage(t *testing.T) {
	gray16 := as(image.NewGray16(image.Rect(0, 0, 90, 60)), scene(90, 60, 5))
	for name, data := range map[string][]byte{
		"baseline":    jpegOf(t, scene(300, 200, 5), 70),
		"progressive": fixture(t, "progressive.jpg"),
		"PNG":         pngOf(t, scene(300, 200, 0)),
		"16-bit PNG":  pngOf(t, gray16),
	} {
		if p, _ := fit(t, data, picture.Limits{}); !bytes.Equal(p.Data, data) || len(p.Changes) != 0 {
			t.Errorf("%s: changed: %q", name, p.Changes)
		}
	}
	made, _ := fit(t, jpegOf(t, scene(800, 600, 30), 95), picture.Limits{MaxBytes: 50_000})
	if p, _ := fit(t, made.Data, picture.Limits{MaxBytes: 50_000}); len(p.Changes) != 0 {
		t.Errorf("a fitted image is changed again: %q", p.Changes)
	}
}

// Fit leaves out the restart markers of restarts.jpg. Go's decoder, and so that of each executor,
// cannot read them.
func TestFitRemovesRestartMarkers(t *testing.T) {
	p, got := fit(t, fixture(t, "restarts.jpg"), picture.Limits{})
	if want := decoded(t, fixture(t, "progressive.jpg")); !reflect.DeepEqual(got, want) {
		t.Error("the pixels have changed")
	}
	if p.Explain.Way != picture.WayKept || !slices.Equal(p.Changes, []string{"left out its restart markers, without loss"}) {
		t.Errorf("did %q\n%s", p.Changes, p.Explain)
	}
}

func TestFitRepairsCameraImages(t *testing.T) {
	data := jpegOf(t, scene(300, 200, 5), 70)
	for _, c := range []struct {
		name string
		data []byte
		did  string
	}{
		{"zeros behind the end", append(bytes.Clone(data), make([]byte, 700)...), "cut off what came after its end"},
		{"a second picture behind the end", append(bytes.Clone(data), withEXIF(data, 1, bigEndian)...), "cut off what came after its end"},
		{"no tables", withoutTables(data), "added the tables that its camera left out"},
	} {
		p, _ := fit(t, c.data, picture.Limits{})
		if !slices.Equal(p.Changes, []string{c.did}) {
			t.Errorf("%s: did %q, want %q", c.name, p.Changes, c.did)
		}
		if c.did[0] == 'c' && !bytes.Equal(p.Data, data) {
			t.Errorf("%s: %d bytes, want %d", c.name, len(p.Data), len(data))
		}
	}
}
