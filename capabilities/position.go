package capabilities

import (
	"math"
	"time"
)

// LatLng is the position of a home on the earth.
type LatLng struct {
	Lat float64 // degrees north
	Lng float64 // degrees east
}

// Known reports whether the coordinates are in their ranges.
func (p LatLng) Known() bool {
	return math.Abs(p.Lat) <= 90 && math.Abs(p.Lng) <= 180 // so that NaN is not
}

// SunriseElevation is the elevation of the sun at sunrise and sunset, in degrees:
// refraction, and half the width of the sun.
const SunriseElevation = -0.833

// Elevation returns how high the sun is at a time, in degrees over the horizon: the
// low-precision formula of the Astronomical Almanac, good for 0.01 degrees from
// 1950 to 2050.
func (p LatLng) Elevation(at time.Time) float64 {
	n := float64(at.UnixMilli())/86400e3 + 2440587.5 - 2451545 // days since J2000
	rad := func(degrees float64) float64 { return math.Mod(degrees, 360) * math.Pi / 180 }
	mean, anomaly := rad(280.460+0.9856474*n), rad(357.528+0.9856003*n)
	long := mean + rad(1.915)*math.Sin(anomaly) + rad(0.020)*math.Sin(2*anomaly)
	tilt := rad(23.439 - 0.0000004*n)
	right := math.Atan2(math.Cos(tilt)*math.Sin(long), math.Cos(long))
	decl := math.Asin(math.Sin(tilt) * math.Sin(long))
	hour := rad(math.Mod(18.697374558+24.06570982441908*n, 24)*15+p.Lng) - right
	lat := p.Lat * math.Pi / 180
	return math.Asin(math.Sin(lat)*math.Sin(decl)+math.Cos(lat)*math.Cos(decl)*math.Cos(hour)) * 180 / math.Pi
}

// Daylight reports whether the sun is up.
func (p LatLng) Daylight(at time.Time) bool { return p.Elevation(at) > SunriseElevation }

// NextCrossing returns when the sun next rises over, or sinks below, an elevation after
// from, to the second. Near the poles there may be none within a day.
func (p LatLng) NextCrossing(from time.Time, up bool, elevation float64) (time.Time, bool) {
	const pace = 10 * time.Minute
	over := func(at time.Time) bool { return p.Elevation(at) > elevation }
	for at := from; at.Before(from.Add(24 * time.Hour)); at = at.Add(pace) {
		if over(at) != up && over(at.Add(pace)) == up {
			low, high := at, at.Add(pace)
			for high.Sub(low) > time.Second {
				if mid := low.Add(high.Sub(low) / 2); over(mid) == up {
					high = mid
				} else {
					low = mid
				}
			}
			return high.Truncate(time.Second), true
		}
	}
	return time.Time{}, false
}
