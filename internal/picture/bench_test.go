package picture_test

import (
	"testing"

	"github.com/messkit/messkit/internal/picture"
)

func BenchmarkFit(b *testing.B) {
	for _, c := range []struct {
		name  string
		w, h  int
		noise float64
	}{
		{"2MP", 1920, 1080, 10}, {"12MP", 4000, 3000, 10}, {"12MP noisy", 4000, 3000, 30},
	} {
		data := jpegOf(b, scene(c.w, c.h, c.noise), 95)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var p picture.Picture
			for b.Loop() {
				var err error
				if p, err = picture.Fit(b.Context(), data, picture.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(p.Data)), "bytes")
			b.ReportMetric(float64(max(p.Width, p.Height)), "px")
		})
	}
}
