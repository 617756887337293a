// Package dctjpeg fits a JPEG into a number of bytes in the coefficient domain, without decoding
// to pixels. It reads the coefficients of the blocks (ITU T.81), scales the blocks by N/8, and
// quantizes them as finely as the limit permits.
//
// Only a few rows of the source are in memory at a time, and of the result only the coefficients
// that can matter. The result has the same bytes on each machine: all decisions about
// coefficients use integers.
//
// The package uses no file, clock, or other format. It reads only the metadata that describe the
// coding. It does not support color profiles, or more than 8 bits per sample.
package dctjpeg

import (
	"errors"
	"fmt"
)

var (
	// ErrCut reports a file that ends before its picture does.
	ErrCut = errors.New("the file ends too early")
	// ErrBroken reports a file that no encoder writes.
	ErrBroken = errors.New("it is broken")
	// ErrUnsupported reports a kind of JPEG that this package does not read.
	ErrUnsupported = errors.New("the decoder does not support this kind")
	// ErrBudget reports that the blocks do not fit in the number of bytes, even with the coarsest
	// quantizer.
	ErrBudget = errors.New("it does not fit")
)

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBroken, fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// Model is the color model of a picture's components.
type Model uint8

// The models of color.
const (
	Gray  Model = iota
	YCbCr       // as JFIF says
	RGB         // Adobe's transform 0
	CMYK        // plain, or Adobe's inverted form
	YCCK        // CMYK whose first three components are YCbCr
)

// zigzag maps the k-th coefficient of a scan to its index in a block, in rows of eight (T.81
// figure A.6).
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// block contains the coefficients of 8 x 8 samples, or of fewer, in rows of eight.
type block = [64]int16

const (
	maxComponents = 4
	// maxCoefficient bounds the values of a broken file: the coefficients of 8 bits are within
	// 1024, and rounding adds at most half of a quantizer step.
	maxCoefficient = 2047
)

func ceilDiv(a, b int) int { return (a + b - 1) / b }
