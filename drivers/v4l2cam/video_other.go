//go:build !linux

package v4l2cam

import (
	"context"
	"errors"
)

// System has cameras on Linux alone.
type System struct{}

var _ Video = System{}

// Stream fails.
func (System) Stream(context.Context, Config) (Stream, error) {
	return nil, errors.New("cameras of V4L2 need Linux")
}

func (System) cameras() []present { return nil }
