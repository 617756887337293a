package capabilities

import (
	"fmt"
	"math"
	"time"
)

// Position is where a home is on the earth.
type Position struct {
	Lat float64 // degrees north
	Lng float64 // degrees east
}

// Known reports whether the position can be.
func (p Position) Known() bool {
	return math.Abs(p.Lat) <= 90 && math.Abs(p.Lng) <= 180 // so that NaN is not
}

// horizon is the sun's elevation at which it is seen to rise and set, in degrees:
// refraction, and half its width.
const horizon = -0.833

// Elevation is how high the sun stands at a time, in degrees over the horizon: the
// low-precision formula of the Astronomical Almanac, good for 0.01 degrees from
// 1950 to 2050.
func (p Position) Elevation(at time.Time) float64 {
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

// twilight is its elevation at dawn and dusk, in degrees: civil twilight, until which
// things outside are seen without a lamp.
const twilight = -6

// Daylight reports whether the sun is up.
func (p Position) Daylight(at time.Time) bool { return p.Elevation(at) > horizon }

// next is when the sun rises over, or sinks below, an elevation the next time after
// from, to the second. There is none within a day near the poles.
func (p Position) next(from time.Time, up bool, elevation float64) (time.Time, bool) {
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

// sunAt reads a word for a rise or set of the sun, for dawn or for dusk.
func (w *words) sunAt(tokens []token, i int) (n int, which string) {
	if n = w.sun.longest(tokens, i); n == 0 {
		return 0, ""
	}
	return n, w.Sun[joined(tokens[i:i+n])]
}

// sun is the next rise or set of the sun after a time, or dawn or dusk; why says what is
// missing for that.
func (r *Resolver) sun(which string, from time.Time, tomorrow bool) (at time.Time, why string) {
	if why := r.home.Unset; why != "" {
		return at, "nobody knows how late it is: " + why + "; say a length of time, or set the clock"
	}
	if r.home.Where == nil {
		return at, "nobody here knows where on the earth this is; write it into the configuration (agent: position), or say a time"
	}
	if tomorrow {
		from = r.home.Now
		from = time.Date(from.Year(), from.Month(), from.Day()+1, 0, 0, 0, 0, from.Location())
	}
	elevation := horizon
	if which == "dawn" || which == "dusk" {
		elevation = twilight
	}
	at, ok := r.home.Where.next(from, which == "up" || which == "dawn", elevation)
	if !ok {
		return at, "the sun does not do that here within a day; say a time"
	}
	return at, ""
}

// environment holds a plan to what a request says of the light, at the time at which
// it begins. The words for it are MESS's own (1.0 section 3.2).
func (x *request) environment(p *Plan) (Outcome, bool) {
	if x.req.Constraints == nil {
		return Outcome{}, true
	}
	home := x.r.home
	for _, want := range x.req.Constraints.Environment {
		up := want == "daylight"
		at := home.Now
		if p.NotBefore.After(at) {
			at = p.NotBefore
		}
		no := func(format string, args ...any) (Outcome, bool) {
			return x.refuse(fmt.Sprintf("constraints.environment: %q: ", want)+fmt.Sprintf(format, args...), nil), false
		}
		switch {
		case !up && want != "darkness":
			return x.refuse(fmt.Sprintf("constraints.environment: nothing here can tell %q; ask when it is so, and leave it out", want), nil), false
		case home.Where == nil || home.Now.IsZero() || home.Unset != "":
			return no("nothing here can tell, as nobody knows where on the earth this is (agent: position), or how late; ask when it is so, and leave it out")
		case home.Where.Daylight(at) != up:
			return no("the sun stands at %.0f degrees; ask when it is so", home.Where.Elevation(at))
		}
	}
	return Outcome{}, true
}
