package dctjpeg

import "math/bits"

// Scale is the coarseness of a quantizer: its table is the table below times 2 to the power of
// Scale/128. Integer scales give the same result on each machine.
type Scale int

// Bounds of a Scale: about the qualities 98 and 2 of the IJG.
const (
	stepsPerOctave       = 128
	Finest         Scale = -5 * stepsPerOctave
	Coarsest       Scale = 5 * stepsPerOctave
)

// annexK is the table for brightness of T.81 annex K.1, in rows of eight. It is the unit for the
// quantizers of other encoders.
var annexK = [64]uint8{
	16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
	14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
	18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
	49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
}

// robidoux is the table of Nicolas Robidoux, in rows of eight. It is in the documentation of
// ImageMagick's -define jpeg:q-table, and is mozjpeg's default. It spends more on fine detail
// than that of annex K, and less on gradients. Photographs of the same bytes gain 1 to 2 points
// of SSIMULACRA2 if the table applies to color, too.
var robidoux = [64]uint16{
	16, 16, 16, 18, 25, 37, 56, 85, 16, 17, 20, 27, 34, 40, 53, 75,
	16, 20, 24, 31, 43, 62, 91, 135, 18, 27, 31, 40, 53, 74, 106, 156,
	25, 34, 43, 53, 69, 94, 131, 189, 37, 40, 62, 74, 94, 124, 169, 238,
	56, 53, 91, 106, 131, 169, 226, 311, 85, 75, 135, 156, 189, 238, 311, 418,
}

// quantTables is a quantizer for brightness and color, in the order of a scan.
type quantTables [2][64]int32

// golden is the fractional part of the golden ratio times 2 to the power of 32. Its multiples are
// evenly distributed. Each step rounds up from a different fraction on, so that the steps change
// at different scales, and sizes change gradually.
const golden = 2654435769

// tables returns the quantizer of a scale.
func (s Scale) tables() (q quantTables) {
	factor := s.factor()
	for class := range q {
		for k := range q[class] {
			v := (uint64(robidoux[zigzag[k]])*factor + uint64(uint32(k+1)*golden)) >> 32
			q[class][k] = int32(max(1, min(255, v)))
		}
	}
	return q
}

// factor returns 2 to the power of s/128, with 32 bits behind the point.
func (s Scale) factor() uint64 {
	octaves := (int(s) + 64*stepsPerOctave) / stepsPerOctave
	steps := (int(s) + 64*stepsPerOctave) % stepsPerOctave
	f := uint64(1) << 32
	for i := range 7 { // the binary digits of the part of an octave
		if steps>>(6-i)&1 == 1 {
			hi, lo := bits.Mul64(f, roots[i])
			f = hi<<32 | lo>>32
		}
	}
	if octaves >= 64 {
		return f << (octaves - 64)
	}
	return f >> (64 - octaves)
}

// roots contains the square root of 2, the root of that, and so on, with 32 bits behind the
// point.
var roots = [7]uint64{6074001000, 5107605667, 4683695048, 4485121744, 4389014833, 4341736423, 4318288544}

// floors returns the least coefficients, with factor 8, that the quantizer of a scale does not
// round to 0, for brightness and color.
func (s Scale) floors() (f [2][64]int32) {
	q := s.tables()
	for class := range f {
		for k := range f[class] {
			f[class][k] = 4 * q[class][k]
		}
	}
	return f
}
