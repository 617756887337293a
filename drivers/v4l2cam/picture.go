package v4l2cam

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"sync"
)

// Picture describes the frames of a stream.
type Picture struct {
	Format        string // mjpeg, yuyv or nv12
	Width, Height int
	Stride        int  // bytes from one row of luminance to the next
	Full          bool // luminance is 0 to 255; otherwise 16 to 235
}

// format is one supported format.
type format struct {
	name   string
	fourcc uint32 // linux/videodev2.h
}

// formats lists the formats by preference: JPEG first, then the format with the most color.
var formats = []format{{"mjpeg", code("MJPG")}, {"mjpeg", code("JPEG")}, {"yuyv", code("YUYV")}, {"nv12", code("NV12")}}

func code(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// size returns the number of bytes in a frame, or 0 if it varies.
func (p Picture) size() int {
	switch p.Format {
	case "yuyv":
		return p.Stride * p.Height
	case "nv12":
		return p.Stride * (p.Height + (p.Height+1)/2)
	}
	return 0
}

// encode converts a frame to a JPEG.
func (p Picture) encode(frame []byte, quality int) ([]byte, error) {
	if len(frame) < p.size() {
		return nil, fmt.Errorf("a frame has only %d bytes, but %d x %d in %s needs %d", len(frame), p.Width, p.Height, p.Format, p.size())
	}
	var img *image.YCbCr
	switch p.Format {
	case "mjpeg":
		return whole(frame)
	case "yuyv":
		img = p.yuyv(frame)
	case "nv12":
		img = p.nv12(frame)
	default:
		return nil, fmt.Errorf("unsupported frame format %q", p.Format)
	}
	if !p.Full {
		widen(img.Y, 16, 219)
		widen(img.Cb, 16, 224)
		widen(img.Cr, 16, 224)
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality})
	return b.Bytes(), err
}

// yuyv decodes two pixels in four bytes: Y Cb Y Cr.
func (p Picture) yuyv(frame []byte) *image.YCbCr {
	img := image.NewYCbCr(image.Rect(0, 0, p.Width, p.Height), image.YCbCrSubsampleRatio422)
	for y := range p.Height {
		row := frame[y*p.Stride : (y+1)*p.Stride]
		for x := 0; x+1 < p.Width && 2*x+3 < len(row); x += 2 {
			img.Y[y*img.YStride+x], img.Y[y*img.YStride+x+1] = row[2*x], row[2*x+2]
			img.Cb[y*img.CStride+x/2], img.Cr[y*img.CStride+x/2] = row[2*x+1], row[2*x+3]
		}
	}
	return img
}

// nv12 decodes all luminance, followed by alternating Cb and Cr for each square of four
// pixels.
func (p Picture) nv12(frame []byte) *image.YCbCr {
	img := image.NewYCbCr(image.Rect(0, 0, p.Width, p.Height), image.YCbCrSubsampleRatio420)
	for y := range p.Height {
		copy(img.Y[y*img.YStride:(y+1)*img.YStride], frame[y*p.Stride:(y+1)*p.Stride])
	}
	colors := frame[p.Stride*p.Height:]
	for y := range (p.Height + 1) / 2 {
		row := colors[y*p.Stride : (y+1)*p.Stride]
		for x := 0; x < (p.Width+1)/2 && 2*x+1 < len(row); x++ {
			img.Cb[y*img.CStride+x], img.Cr[y*img.CStride+x] = row[2*x], row[2*x+1]
		}
	}
	return img
}

// widen converts samples that begin at low and have a span to 0 to 255, the range of JPEG
// (ITU-R BT.601).
func widen(samples []byte, low, span int) {
	var table [256]byte
	for i := range table {
		table[i] = byte(min(255, max(0, ((i-low)*255+span/2)/span)))
	}
	for i, s := range samples {
		samples[i] = table[s]
	}
}

var errJPEG = errors.New("a frame is not a complete JPEG; check the cable, and the speed of the hub")

// whole removes the bytes after the end of a JPEG, which some cameras append, and adds the
// Huffman tables that many omit (as in AVI's MJPEG).
func whole(frame []byte) ([]byte, error) {
	end := bytes.LastIndex(frame, []byte{0xff, 0xd9})
	if len(frame) < 4 || frame[0] != 0xff || frame[1] != 0xd8 || end < 0 {
		return nil, errJPEG
	}
	frame = frame[:end+2]
	scan, tables, err := segments(frame)
	if err != nil {
		return nil, err
	}
	if tables {
		return bytes.Clone(frame), nil
	}
	return bytes.Join([][]byte{frame[:scan], standardTables(), frame[scan:]}, nil), nil
}

// standardTables returns the Huffman tables of ITU-T T.81, K.3, which Go's own encoder
// writes.
var standardTables = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewYCbCr(image.Rect(0, 0, 16, 16), image.YCbCrSubsampleRatio420), nil); err != nil {
		panic("v4l2cam: " + err.Error()) // a write to memory cannot fail
	}
	data := b.Bytes()
	at := bytes.Index(data, []byte{0xff, 0xc4})
	return data[at : at+2+int(data[at+2])<<8+int(data[at+3])]
})

// segments returns the position of the scan, and whether Huffman tables precede it (ITU-T
// T.81, B.1).
func segments(frame []byte) (scan int, tables bool, err error) {
	const dht, sos = 0xc4, 0xda
	for i := 2; i+4 <= len(frame); {
		if frame[i] != 0xff {
			return 0, false, errJPEG
		}
		switch marker := frame[i+1]; {
		case marker == 0xff: // a fill byte
			i++
			continue
		case marker == sos:
			return i, tables, nil
		case marker == dht:
			tables = true
		}
		n := int(frame[i+2])<<8 | int(frame[i+3])
		if n < 2 {
			return 0, false, errJPEG
		}
		i += 2 + n
	}
	return 0, false, errJPEG
}
