package picture

import (
	"context"
	"fmt"
	"image"
)

// Layout is the memory layout of a raw frame's pixels, with the name that cameras use.
type Layout string

// The supported layouts of frames.
const (
	YUYV Layout = "yuyv" // 4:2:2, two pixels in four bytes
	NV12 Layout = "nv12" // 4:2:0, brightness before pairs of color
	RGB  Layout = "rgb"  // three bytes a pixel
)

// Frame is a picture in the memory layout of a camera, without padding.
type Frame struct {
	Layout        Layout
	Width, Height int // pixels
	Data          []byte
}

// FitFrame does the work of Fit for a raw frame.
func FitFrame(ctx context.Context, f Frame, lim Limits) (Picture, error) {
	lim, err := lim.checked()
	if err != nil {
		return Picture{}, err
	}
	img, err := f.image()
	if err != nil {
		return Picture{}, err
	}
	j := &job{format: format{name: string(f.Layout), mime: "image/x-" + string(f.Layout)}, data: f.Data, lim: lim}
	j.x = Explain{FromMIME: j.mime, FromBytes: len(f.Data), FromWidth: f.Width, FromHeight: f.Height, Budget: lim.MaxBytes}
	return j.pixels(ctx, img, measure(img))
}

// image converts a frame to an image.
func (f Frame) image() (image.Image, error) {
	if f.Width < 1 || f.Height < 1 || f.Width > MaxPixels/f.Height {
		return nil, fmt.Errorf("picture: a frame of %d x %d pixels; send 1 to %d megapixels", f.Width, f.Height, MaxPixels>>20)
	}
	if f.Layout != RGB && (f.Width%2 != 0 || f.Layout == NV12 && f.Height%2 != 0) {
		return nil, fmt.Errorf("picture: %s of %d x %d pixels; this layout needs even edges", f.Layout, f.Width, f.Height)
	}
	n := f.Width * f.Height
	size := map[Layout]int{YUYV: 2 * n, NV12: n + n/2, RGB: 3 * n}[f.Layout]
	switch {
	case size == 0:
		return nil, fmt.Errorf("picture: %q is no layout of frames; one of: %s, %s, %s", f.Layout, YUYV, NV12, RGB)
	case len(f.Data) < size:
		return nil, fmt.Errorf("picture: the frame ends too early, after %d bytes of %d; take it again", len(f.Data), size)
	case len(f.Data) > size:
		return nil, fmt.Errorf("picture: the frame has %d bytes and should have %d; give its real width and height", len(f.Data), size)
	}
	return f.read(image.Rect(0, 0, f.Width, f.Height)), nil
}

func (f Frame) read(r image.Rectangle) image.Image {
	n := r.Dx() * r.Dy()
	switch f.Layout {
	case YUYV:
		m := image.NewYCbCr(r, image.YCbCrSubsampleRatio422)
		for i := range n / 2 {
			four := f.Data[4*i:][:4]
			m.Y[2*i], m.Cb[i], m.Y[2*i+1], m.Cr[i] = four[0], four[1], four[2], four[3]
		}
		return m
	case NV12:
		m := image.NewYCbCr(r, image.YCbCrSubsampleRatio420)
		copy(m.Y, f.Data)
		for i := range n / 4 {
			m.Cb[i], m.Cr[i] = f.Data[n+2*i], f.Data[n+2*i+1]
		}
		return m
	}
	m := image.NewRGBA(r)
	for i := range n {
		copy(m.Pix[4*i:], f.Data[3*i:3*i+3])
		m.Pix[4*i+3] = 255
	}
	return m
}
