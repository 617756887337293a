package terminal

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
)

// sixelColors is the number of color registers: xterm and all later terminals have 256.
const sixelColors = 256

// sixelRows is the height of a band: one character is six pixels, one above the
// other.
const sixelRows = 6

// sixel encodes m for terminals that understand DEC's sixels.
func sixel(m image.Image) []byte {
	flat := image.NewNRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(flat, flat.Bounds(), image.Black, image.Point{}, draw.Src) // the background of transparent pixels
	draw.Draw(flat, flat.Bounds(), m, m.Bounds().Min, draw.Over)
	palette, pixels := quantize(flat, sixelColors)
	size := flat.Bounds().Size()
	var b bytes.Buffer
	// P2=1 keeps the pixels that no color sets. The raster attributes make pixels square.
	fmt.Fprintf(&b, "\x1bP0;1;0q\"1;1;%d;%d", size.X, size.Y)
	for i, c := range palette {
		percent := func(v uint8) int { return (int(v)*100 + 127) / 255 }
		fmt.Fprintf(&b, "#%d;2;%d;%d;%d", i, percent(c.R), percent(c.G), percent(c.B))
	}
	for top := 0; top < size.Y; top += sixelRows {
		band(&b, pixels[top*size.X:min((top+sixelRows)*size.X, len(pixels))], size.X, len(palette))
	}
	b.WriteString("\x1b\\")
	return b.Bytes()
}

// band encodes six rows: each of their colors, one over the other.
func band(b *bytes.Buffer, pixels []uint8, width, colors int) {
	bits := make([][]byte, colors) // by color: the rows with it, in each column
	for i, c := range pixels {
		if bits[c] == nil {
			bits[c] = make([]byte, width)
		}
		bits[c][i%width] |= 1 << (i / width)
	}
	end := ""
	for c, row := range bits {
		if row == nil {
			continue
		}
		fmt.Fprintf(b, "%s#%d", end, c)
		runs(b, row)
		end = "$" // back to the left, for the next color
	}
	b.WriteByte('-')
}

// runs encodes one color of a band, with runs of the same and without the empty columns at its
// end.
func runs(b *bytes.Buffer, row []byte) {
	row = bytes.TrimRight(row, "\x00")
	for i := 0; i < len(row); {
		n := 1
		for i+n < len(row) && row[i+n] == row[i] {
			n++
		}
		ch := row[i] + '?'
		if n > 3 {
			fmt.Fprintf(b, "!%d%c", n, ch)
		} else {
			b.Write(bytes.Repeat([]byte{ch}, n))
		}
		i += n
	}
}
