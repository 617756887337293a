package dctjpeg_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/picture/dctjpeg"
)

// scene draws a picture with edges, gradients, fine detail and noise, without any symmetry.
func scene(w, h int, noise float64) *image.YCbCr {
	img := image.NewYCbCr(image.Rect(0, 0, w, h), image.YCbCrSubsampleRatio420)
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	fill := func(pix []uint8, stride, w, h int, f func(x, y float64) float64) {
		for y := range h {
			for x := range w {
				v := f(float64(x)/float64(w), float64(y)/float64(h)) + noise*r.NormFloat64()
				pix[y*stride+x] = uint8(max(0, min(255, v)))
			}
		}
	}
	fill(img.Y, img.YStride, w, h, func(x, y float64) float64 {
		v := 40 + 150*x*y + 30*math.Sin(40*x)*math.Cos(23*y)
		if x < 0.3 && y < 0.2 {
			v += 60
		}
		return v
	})
	fill(img.Cb, img.CStride, (w+1)/2, (h+1)/2, func(x, _ float64) float64 { return 60 + 130*x })
	fill(img.Cr, img.CStride, (w+1)/2, (h+1)/2, func(_, y float64) float64 { return 200 - 120*y })
	return img
}

func grayOf(img *image.YCbCr) *image.Gray {
	return &image.Gray{Pix: img.Y, Stride: img.YStride, Rect: img.Rect}
}

func encoded(t testing.TB, img image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cjpeg encodes a JPEG with libjpeg, of a kind that Go does not write.
func cjpeg(t testing.TB, img image.Image, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("cjpeg"); err != nil {
		t.Skip("SKIP: cjpeg is not there (apt-get install libjpeg-turbo-progs)")
	}
	b := img.Bounds()
	var ppm bytes.Buffer
	ppm.WriteString("P6 " + strconv.Itoa(b.Dx()) + " " + strconv.Itoa(b.Dy()) + " 255\n")
	for y := range b.Dy() {
		for x := range b.Dx() {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			ppm.Write([]byte{c.R, c.G, c.B})
		}
	}
	cmd := exec.Command("cjpeg", args...)
	cmd.Stdin = &ppm
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cjpeg %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// djpeg returns the brightness of a picture as libjpeg decodes it.
func djpeg(t testing.TB, data []byte) *image.Gray {
	t.Helper()
	if _, err := exec.LookPath("djpeg"); err != nil {
		t.Skip("SKIP: djpeg is not there (apt-get install libjpeg-turbo-progs)")
	}
	cmd := exec.Command("djpeg", "-grayscale", "-dct", "int")
	cmd.Stdin = bytes.NewReader(data)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("djpeg: %v %s", err, stderr.Bytes())
	}
	img := image.NewGray(image.Rectangle{})
	r := bytes.NewReader(out)
	var most int
	if _, err := fmt.Fscanf(r, "P5\n%d %d\n%d\n", &img.Rect.Max.X, &img.Rect.Max.Y, &most); err != nil {
		t.Fatal(err)
	}
	img.Stride = img.Rect.Max.X
	img.Pix = out[len(out)-r.Len():]
	return img
}

// judged decodes a picture with image/jpeg.
func judged(t testing.TB, data []byte) image.Image {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("image/jpeg: %v", err)
	}
	return img
}

func parse(t testing.TB, data []byte) *dctjpeg.Source {
	t.Helper()
	s, err := dctjpeg.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// psnr returns the peak signal-to-noise ratio of the brightness of two pictures of one size, in
// dB.
func psnr(t testing.TB, a, b image.Image) float64 {
	t.Helper()
	if a.Bounds().Size() != b.Bounds().Size() {
		t.Fatalf("%v, want %v", a.Bounds(), b.Bounds())
	}
	sum, n := 0.0, 0
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			d := luma(a, x, y) - luma(b, x, y)
			sum += d * d
			n++
		}
	}
	return 10 * math.Log10(255*255/(sum/float64(n)+1e-9))
}

func luma(img image.Image, x, y int) float64 {
	p := img.Bounds().Min
	return float64(color.GrayModel.Convert(img.At(p.X+x, p.Y+y)).(color.Gray).Y)
}
