package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// maxScreenshot is the limit of a picture in the documentation, in bytes.
const maxScreenshot = 60 << 10

// TestScreenshots writes the pictures of the console in the documentation to the folder that
// MESSKIT_SCREENSHOTS names. make screenshots runs it.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MESSKIT_SCREENSHOTS")
	if dir == "" {
		t.Skip("MESSKIT_SCREENSHOTS names no folder; make screenshots sets it")
	}
	h := startMesskit(t)
	v := homeView{h, h.openHome(1280, 800)}
	save := func(name string) {
		t.Helper()
		v.p.Until(`document.fonts.ready.then(() => [...document.images].every((i) => i.complete || i.loading === "lazy"))`)
		writeScreenshot(t, v.p, filepath.Join(dir, "console-"+name+".png"))
	}
	h.waitStatus(h.request(`{"intent": "turn on the hall light"}`), "completed")
	h.waitStatus(h.request(`{"intent": "set the office light to 40 percent"}`), "completed")
	h.waitStatus(h.request(`{"intent": "what's in the fridge?"}`), "completed")
	fridge := h.request(`{"intent": "take a photo of the fridge"}`)
	h.waitStatus(fridge, "completed")
	h.waitStatus(h.request(`{"intent": "unlock the front door"}`), "needs_confirmation")
	v.p.Until(`document.querySelector(".needlist .answers button") && ` + tile("fridge-camera", "img") + `?.naturalWidth > 300`)
	save("home")
	v.p.Dark(true)
	save("dark")
	v.p.Dark(false)
	v.p.Size(390, 844)
	save("phone")
	v.p.Size(1280, 800)
	v.p.Go(h.url + "/#device=vm:office-light")
	v.p.Until(`document.querySelector(".device .chart path")`)
	save("device")
	v.p.Go(h.url + "/#task/" + fridge)
	v.p.Until(`document.querySelector("#detail .picture")?.naturalWidth > 300`)
	save("task")
	registerFleet(h)
	v.p.Go(h.url + "/#executors")
	v.p.Until(`document.querySelectorAll("#executors .vrow").length > 5 && document.querySelector("#devices").textContent.includes("Need help 5")`)
	save("executors")
	if faults := v.p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// writeScreenshot writes the window as PNG with as many of 256 colors as fit in maxScreenshot.
func writeScreenshot(t *testing.T, p *chromium.Tab, file string) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(p.Picture()))
	if err != nil {
		t.Fatal(err)
	}
	for colors := 256; colors >= 8; colors /= 2 {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, reduceColors(picture, colors)); err != nil {
			t.Fatal(err)
		}
		if b.Len() > maxScreenshot {
			continue
		}
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is larger than %d bytes with 8 colors", file, maxScreenshot)
}

// reduceColors returns a picture with its most frequent colors, at most the given number.
func reduceColors(picture image.Image, most int) *image.Paletted {
	bounds := picture.Bounds()
	key := func(x, y int) [3]uint8 {
		r, g, b, _ := picture.At(x, y).RGBA()
		return [3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
	}
	count := map[[3]uint8]int{} // by color with five bits for each part: its exact colors by frequency
	exact := map[[3]uint8]map[[3]uint8]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := key(x, y)
			coarse := [3]uint8{c[0] &^ 7, c[1] &^ 7, c[2] &^ 7}
			count[coarse]++
			if exact[coarse] == nil {
				exact[coarse] = map[[3]uint8]int{}
			}
			exact[coarse][c]++
		}
	}
	all := make([][3]uint8, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b [3]uint8) int { return cmp.Or(count[b]-count[a], slices.Compare(a[:], b[:])) })
	var colors color.Palette
	for _, coarse := range all[:min(most, len(all))] {
		var best [3]uint8
		for c, n := range exact[coarse] {
			if m := exact[coarse][best]; n > m || n == m && slices.Compare(c[:], best[:]) < 0 {
				best = c
			}
		}
		colors = append(colors, color.RGBA{best[0], best[1], best[2], 255})
	}
	out := image.NewPaletted(bounds, colors)
	nearest := map[[3]uint8]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := key(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(colors.Index(color.RGBA{c[0], c[1], c[2], 255}))
				nearest[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	return out
}
