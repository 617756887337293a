// Package dctjpeg makes a JPEG fit in a number of bytes without ever making
// pixels of it: it reads the coefficients of its blocks (ITU T.81), scales the
// blocks by N/8, and quantises them as finely as fits.
//
// Of a picture only a few rows are in memory at a time, and of the scaled one
// only the coefficients that can matter. The same bytes come out on every
// machine: whatever decides over a coefficient is counted in whole numbers.
//
// It knows no file, clock or metadata other than what says how the picture is
// coded, and no other format. Colour profiles, and more than 8 bits a sample,
// are not supported.
package dctjpeg

import (
	"errors"
	"fmt"
)

var (
	// ErrCut is a file that ends before its picture does.
	ErrCut = errors.New("it is cut off")
	// ErrBroken is a file that no encoder writes.
	ErrBroken = errors.New("it is broken")
	// ErrUnsupported is a kind of JPEG that is not read here.
	ErrUnsupported = errors.New("this kind is not supported")
	// ErrBudget is a number of bytes in which the blocks do not fit, however
	// coarse.
	ErrBudget = errors.New("it does not fit")
)

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBroken, fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// Model is what the components of a picture mean.
type Model uint8

// The models of colour.
const (
	Gray  Model = iota
	YCbCr       // as JFIF says
	RGB         // Adobe's transform 0
	CMYK        // Adobe's, which is inverted, or plain
	YCCK        // CMYK, of which the first three are coded as YCbCr
)

// zigzag is the place in a block, in rows of eight, of the k-th coefficient of a
// scan (T.81 figure A.6).
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// block is the coefficients of 8 x 8 samples, or of fewer, in rows of eight.
type block = [64]int16

const (
	maxComponents = 4
	// maxCoefficient bounds what a broken file may claim: the coefficients of 8
	// bits are within 1024, and rounding adds at most half of a quantiser.
	maxCoefficient = 2047
)

func ceilDiv(a, b int) int { return (a + b - 1) / b }
