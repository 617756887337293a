package daemon

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/messkit/messkit/internal/picture"
)

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(?i:(KB|K|MB|M|B)?)$`)

// ParseSize reads a number of bytes such as 500KB.
func ParseSize(s string) (int, error) {
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, fmt.Errorf("%q is no number of bytes; write it like 500KB", s)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	switch strings.ToUpper(m[2]) {
	case "K", "KB":
		n *= 1 << 10
	case "M", "MB":
		n *= 1 << 20
	}
	if n < picture.MinBytes || n > picture.MaxBytes {
		return 0, fmt.Errorf("%s is out of bounds; allow %d to %d bytes", s, picture.MinBytes, picture.MaxBytes)
	}
	return int(math.Floor(n)), nil
}

// fittedAtOnce is the number of images that the exchange scales at the same time: decoding
// one of 24 megapixels takes 60 MB.
const fittedAtOnce = 2

// imageFitter returns the function that scales an image to the size that a client asks for.
func imageFitter() func(context.Context, []byte, string) ([]byte, string, error) {
	busy := make(chan struct{}, fittedAtOnce)
	return func(ctx context.Context, data []byte, size string) ([]byte, string, error) {
		most, err := ParseSize(size)
		if err != nil {
			return nil, "", err
		}
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
		p, err := picture.Fit(ctx, data, picture.Limits{MaxBytes: most})
		return p.Data, p.MIME, err
	}
}
