package picture_test

import (
	"bytes"
	"image"
	"math"
	"strings"
	"testing"

	"github.com/disintegration/imaging"

	"github.com/messkit/messkit/internal/picture"
)

// ssim returns the structural similarity (Wang and others, 2004) of the brightness of two
// pictures, over windows of 8 x 8 pixels. It scales the second picture to the first.
func ssim(t *testing.T, a, b image.Image) float64 {
	t.Helper()
	size := a.Bounds().Size()
	if b.Bounds().Size() != size {
		b = imaging.Resize(b, size.X, size.Y, imaging.CatmullRom)
	}
	x, y := as(image.NewGray(image.Rect(0, 0, size.X, size.Y)), a), as(image.NewGray(image.Rect(0, 0, size.X, size.Y)), b)
	sum, n := 0.0, 0
	for wy := 0; wy+8 <= size.Y; wy += 4 {
		for wx := 0; wx+8 <= size.X; wx += 4 {
			var sx, sy, xx, yy, xy float64
			for i := range 64 {
				p, q := float64(x.GrayAt(wx+i%8, wy+i/8).Y), float64(y.GrayAt(wx+i%8, wy+i/8).Y)
				sx, sy, xx, yy, xy = sx+p, sy+q, xx+p*p, yy+q*q, xy+p*q
			}
			mx, my := sx/64, sy/64
			const c1, c2 = 6.5025, 58.5225
			sum += (2*mx*my + c1) * (2*(xy/64-mx*my) + c2) / ((mx*mx + my*my + c1) * (xx/64 - mx*mx + yy/64 - my*my + c2))
			n++
		}
	}
	return sum / float64(n)
}

func decoded(t *testing.T, data []byte) image.Image {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// Fit takes each way for the pictures that suit it, and Explain names the way.
func TestFitChoosesMethod(t *testing.T) {
	photo := jpegOf(t, scene(1600, 1200, 6), 95)
	for i, c := range []struct {
		name string
		data []byte
		lim  picture.Limits
		way  picture.Way
		ssim float64 // minimum, for upright pictures
		want string  // part of the explanation
	}{
		{"a JPEG that fits", jpegOf(t, scene(400, 304, 6), 80), picture.Limits{}, picture.WayKept, 1, "it fits already"},
		{"one that lies on its side", withEXIF(jpegOf(t, scene(400, 304, 6), 80), 6, littleEndian), picture.Limits{}, picture.WayTurned, 0, "ends with whole blocks"},
		{"one with incomplete blocks", withEXIF(jpegOf(t, scene(401, 303, 6), 80), 3, littleEndian), picture.Limits{}, picture.WayBlocks, 0, "8/8"},
		{"a photograph", photo, picture.Limits{MaxBytes: 200_000}, picture.WayBlocks, 0.93, "progressive, color halved"},
		{"few bytes", photo, picture.Limits{MaxBytes: 20_000}, picture.WayBlocks, 0.7, "/8"},
		{"the fewest bytes", photo, picture.Limits{MaxBytes: 5 << 10}, picture.WayBlocks, 0.5, "/8"},
		{"few pixels", photo, picture.Limits{MaxPx: 500}, picture.WayEncoded, 0.6, "no number of eighths is near 500 pixels"},
		{"half the pixels", photo, picture.Limits{MaxPx: 800}, picture.WayBlocks, 0.6, "4/8"},
		{"a screen as BMP", bmpOf(t, screen(900, 700)), picture.Limits{}, picture.WayPNG, 1, "many pixels are like their neighbors"},
		{"a screen that is too much as PNG", pngOf(t, screen(900, 700)), picture.Limits{MaxBytes: 9_000}, picture.WayEncoded, 0, "color in full"},
		{"a photograph as PNG", pngOf(t, scene(800, 600, 12)), picture.Limits{MaxBytes: 100_000}, picture.WayEncoded, 0.9, "color halved"},
	} {
		if testing.Short() && i%3 != 0 {
			continue
		}
		p, _ := fit(t, c.data, c.lim)
		x := p.Explain
		if x.Way != c.way || !strings.Contains(x.String(), c.want) {
			t.Errorf("%s: want %s and %q, got:\n%s", c.name, c.way, c.want, x)
		}
		if x.Bytes != len(p.Data) || x.Width != p.Width || x.FromBytes != len(c.data) {
			t.Errorf("%s: the reported sizes are not those of the image:\n%s", c.name, x)
		}
		if c.ssim > 0 {
			if s := ssim(t, decoded(t, c.data), decoded(t, p.Data)); s < c.ssim-1e-6 {
				t.Errorf("%s: SSIM %.3f, want %.3f\n%s", c.name, s, c.ssim, x)
			}
		}
		if x.Passes > 0 && x.Quantizer > 0.11 && math.Abs(float64(x.Predicted)/float64(x.Bytes)-1) > 0.15 {
			t.Errorf("%s: foretold %d bytes, and it has %d", c.name, x.Predicted, x.Bytes)
		}
	}
}

// A larger limit never gives a worse picture.
func TestLargerLimitIsNeverWorse(t *testing.T) {
	img := scene(1600, 1200, 10)
	data, before := jpegOf(t, img, 96), 0.0
	limits := []int{5 << 10, 20_000, 60_000, 150_000, 400_000}
	if testing.Short() {
		limits = limits[1:3]
	}
	for _, n := range limits {
		p, out := fit(t, data, picture.Limits{MaxBytes: n})
		s := ssim(t, img, out)
		if s < before || len(p.Data) < n*9/10 && p.Explain.Quantizer > 0.11 {
			t.Errorf("%d bytes of %d: SSIM %.3f after %.3f\n%s", len(p.Data), n, s, before, p.Explain)
		}
		before = s
	}
}

func TestFitReadsFrames(t *testing.T) {
	const w, h = 64, 48
	yuyv, nv12, rgb := make([]byte, 2*w*h), make([]byte, w*h*3/2), make([]byte, 3*w*h)
	for i := range w * h { // red, except for a black right half
		y, cb, cr := byte(81), byte(90), byte(240)
		if i%w >= w/2 {
			y, cb, cr = 16, 128, 128
		}
		yuyv[2*i], yuyv[2*i+1] = y, cb
		if i%2 == 1 {
			yuyv[2*i+1] = cr
		}
		nv12[i] = y
		nv12[w*h+(i/w/2)*w+i%w&^1], nv12[w*h+(i/w/2)*w+i%w|1] = cb, cr
		if i%w < w/2 {
			rgb[3*i] = 230
		}
	}
	for layout, data := range map[picture.Layout][]byte{picture.YUYV: yuyv, picture.NV12: nv12, picture.RGB: rgb} {
		p, err := picture.FitFrame(t.Context(), picture.Frame{Layout: layout, Width: w, Height: h, Data: data}, picture.Limits{})
		if err != nil {
			t.Errorf("%s: %v", layout, err)
			continue
		}
		if out := decoded(t, p.Data); !red(out, 0.2, 0.5) || red(out, 0.8, 0.5) || p.Width != w || p.Height != h {
			t.Errorf("%s: another picture: %+v", layout, p.Explain)
		}
		for _, f := range []picture.Frame{
			{Layout: layout, Width: w, Height: h + 2, Data: data},
			{Layout: layout, Width: w, Height: h - 2, Data: data},
			{Layout: layout, Width: -1, Height: h, Data: data},
			{Layout: layout, Width: 1 << 40, Height: 1 << 40, Data: data},
			{Layout: "grey", Width: w, Height: h, Data: data},
		} {
			if p, err := picture.FitFrame(t.Context(), f, picture.Limits{}); err == nil || p.Data != nil || !strings.HasPrefix(err.Error(), "picture: ") {
				t.Errorf("%s %d x %d: %v", f.Layout, f.Width, f.Height, err)
			}
		}
	}
}

// shrunk gives the same result as imaging for each kind of pixels.
func TestFitShrinksLikeImaging(t *testing.T) {
	photo := scene(401, 299, 0.1)
	for name, img := range map[string]image.Image{
		"RGBA": photo,
		"Gray": as(image.NewGray(photo.Rect), photo),
	} {
		for _, px := range []int{400, 300, 131, 16} {
			_, got := fit(t, pngOf(t, img), picture.Limits{MaxPx: px})
			want := imaging.Resize(img, got.Bounds().Dx(), got.Bounds().Dy(), imaging.CatmullRom)
			if s := ssim(t, want, got); s < 0.97 {
				t.Errorf("%s at %d pixels: SSIM %.3f of what imaging makes, want 0.97 and more", name, px, s)
			}
		}
	}
	webp := fixture(t, "lossy.webp")
	_, got := fit(t, webp, picture.Limits{MaxPx: 16})
	want := imaging.Resize(decoded(t, webp), got.Bounds().Dx(), got.Bounds().Dy(), imaging.CatmullRom)
	if s := ssim(t, want, got); s < 0.97 {
		t.Errorf("a YCbCr picture: SSIM %.3f of what imaging makes, want 0.97 and more", s)
	}
}
