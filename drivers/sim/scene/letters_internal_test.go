package scene

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"image"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// TestLettersMatchGoRegular compares the letters with the font. With
// MESSKIT_LETTERS=letters.gz it writes the file.
func TestLettersMatchGoRegular(t *testing.T) {
	want := outlines(t)
	if file := os.Getenv("MESSKIT_LETTERS"); file != "" {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			_, err = z.Write(want)
		}
		if err == nil {
			err = z.Close()
		}
		if err == nil {
			err = os.WriteFile(file, b.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v; want %d; MESSKIT_LETTERS=letters.gz with this test writes them", len(got), err, len(want))
	}
	if len(letters()) < 700 {
		t.Errorf("%d letters", len(letters()))
	}
}

// outlines returns the outlines of the font in the format of letters.
func outlines(t *testing.T) []byte {
	t.Helper()
	f, err := sfnt.Parse(goregular.TTF)
	if err != nil || f.UnitsPerEm() != em {
		t.Fatal(err, f.UnitsPerEm())
	}
	var (
		b    sfnt.Buffer
		all  []byte
		last rune
	)
	for r := range rune(0x110000) {
		g, err := f.GlyphIndex(&b, r)
		if err != nil {
			t.Fatal(err)
		}
		if r == 0 {
			g = 0 // the replacement for unknown letters
		} else if g == 0 {
			continue
		}
		width, err := f.GlyphAdvance(&b, g, em, font.HintingNone)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := f.LoadGlyph(&b, g, em, nil)
		if err != nil {
			t.Fatal(err)
		}
		var (
			one []byte
			at  fixed.Point26_6
		)
		for _, line := range lines {
			op := map[sfnt.SegmentOp]int{sfnt.SegmentOpMoveTo: moveTo, sfnt.SegmentOpLineTo: lineTo, sfnt.SegmentOpQuadTo: quadTo}[line.Op]
			one = append(one, byte(op))
			for _, p := range line.Args[:points[op]] {
				one = binary.AppendVarint(binary.AppendVarint(one, int64(p.X-at.X)), int64(p.Y-at.Y))
				at = p
			}
		}
		for _, n := range []int{int(r - last), int(width), len(one)} {
			all = binary.AppendUvarint(all, uint64(n))
		}
		all, last = append(all, one...), r
	}
	return all
}

// The text looks like the text of the font's own library.
func TestTextMatchesFontLibrary(t *testing.T) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []float64{12, 22, 25, 36} {
		face, err := opentype.NewFace(regular, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"Hamburgefonstiv & 0123456789 % (simulated)", "Käse, žluťoučký, ČÅßøñ", "молоко ΑΒΓ", "見 none", "", " "} {
			got, want := newCanvas(), newCanvas()
			got.text(40.7, 60.2, size, 0, rgb(0xffffff), s)
			d := font.Drawer{Dst: want.img, Src: image.White, Face: face, Dot: fixed.P(40, 60)}
			d.DrawString(s)
			if l := lengthOf(s, size); 40+l != float64(d.Dot.X)/64 {
				t.Errorf("%q at %v has %v pixels, want %v", s, size, l, float64(d.Dot.X)/64-40)
			}
			// Edges have other rounding: few pixels differ, and not much.
			most, differ, white := 0, 0, 0
			for i, g := range got.img.Pix[:100*got.img.Stride] {
				w := int(want.img.Pix[i])
				d := max(int(g)-w, w-int(g))
				most, differ, white = max(most, d), differ+d, white+w
			}
			if most > 40 || 100*differ > white || (white == 0) != (strings.TrimSpace(s) == "") {
				t.Errorf("%q at %v: a pixel differs by %d, and all by %d of %d", s, size, most, differ, white)
			}
		}
	}
}

// The parts outside of the image are cut off.
func TestTextAtTheEdges(t *testing.T) {
	for _, at := range [][2]float64{{-20, 5}, {width - 10, 20}, {10, height + 8}} {
		c := newCanvas()
		c.text(at[0], at[1], 30, 0, rgb(0xffffff), "at the edge")
		if bytes.Equal(c.img.Pix, newCanvas().img.Pix) {
			t.Errorf("nothing is written at %v", at)
		}
	}
	c := newCanvas()
	c.text(-500, -500, 30, 0, rgb(0xffffff), "nowhere")
	if !bytes.Equal(c.img.Pix, newCanvas().img.Pix) {
		t.Error("something is written")
	}
}
