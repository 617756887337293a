package scene

import (
	"math/rand/v2"
	"time"
)

// grain makes some pixels brighter by one step of 255, different ones for each moment, so
// that no two images of a camera are identical, like the noise of a sensor. The change is
// invisible.
func (c *canvas) grain(at time.Time) {
	const side, places = 8, 64
	r := rand.New(rand.NewPCG(uint64(at.UnixNano()), 1))
	for range places {
		x0, y0 := side*r.IntN(width/side), side*r.IntN(height/side)
		for y := y0; y < y0+side; y++ {
			for x := x0; x < x0+side; x++ {
				p := c.img.Pix[c.img.PixOffset(x, y):]
				for i := range 3 {
					p[i] = max(p[i], p[i]+1) // 255 stays
				}
			}
		}
	}
}
