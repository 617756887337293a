//go:build !linux

package v4l2cam

import (
	"context"
	"errors"
)

// System is a stub: V4L2 needs Linux.
type System struct{}

var _ Video = System{}

// Stream returns an error.
func (System) Stream(context.Context, Config) (Stream, error) {
	return nil, errors.New("cameras of V4L2 need Linux")
}

func (System) cameras() []present { return nil }
