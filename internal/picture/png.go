package picture

import (
	"encoding/binary"
	"image"
	"iter"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// pngChunk is one chunk (PNG 1.2 section 3.2).
type pngChunk struct {
	kind  string
	body  []byte
	whole []byte // with length, kind and checksum
}

// pngChunks iterates over the chunks of a PNG. It ends where the file is broken.
func pngChunks(data []byte) iter.Seq[pngChunk] {
	return func(yield func(pngChunk) bool) {
		const around = 12 // length, kind, checksum
		for at := len(pngMagic); at+around <= len(data); {
			n := int(binary.BigEndian.Uint32(data[at:]))
			if n < 0 || n > len(data)-at-around {
				return
			}
			c := pngChunk{string(data[at+4 : at+8]), data[at+8 : at+8+n], data[at : at+around+n]}
			if !yield(c) || c.kind == "IEND" {
				return
			}
			at += around + n
		}
	}
}

// pngWeight returns the bytes of a decoded pixel. The decoder stores an interlaced picture twice.
func pngWeight(data []byte, c image.Config) float64 {
	const interlace = len(pngMagic) + 8 + 12
	w := modelBytes(c.ColorModel)
	if len(data) > interlace && data[interlace] != 0 {
		w *= 2
	}
	return w
}

// pngEnds reports whether a PNG has an IEND chunk.
func pngEnds(data []byte) bool {
	for c := range pngChunks(data) {
		if c.kind == "IEND" {
			return true
		}
	}
	return false
}

// stripPNG keeps the chunks with the picture.
func stripPNG(data []byte) []byte {
	out := append(make([]byte, 0, len(data)), pngMagic...)
	for c := range pngChunks(data) {
		switch c.kind {
		case "IHDR", "PLTE", "tRNS", "IDAT", "IEND":
			out = append(out, c.whole...)
		}
	}
	return out
}
