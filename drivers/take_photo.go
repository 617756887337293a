package drivers

import (
	"context"
	"time"
)

// TakePhoto takes an image as a verb of a started device. It returns no image if ctx has ended,
// because the caller no longer waits.
func TakePhoto(ctx context.Context, b *Base, take func(context.Context) (Photo, error)) (Photo, error) {
	return DoValue(ctx, b, func(ctx context.Context) (Photo, error) {
		p, err := take(ctx)
		if err == nil {
			err = ctx.Err()
		}
		return p, err
	})
}

// TakePhotoWithin is TakePhoto with a time limit. slow returns the error of an image that takes
// longer.
func TakePhotoWithin(ctx context.Context, b *Base, limit time.Duration, slow func() error, take func(context.Context) (Photo, error)) (Photo, error) {
	return TakePhoto(ctx, b, func(ctx context.Context) (Photo, error) {
		within, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		p, err := take(within)
		if within.Err() != nil && ctx.Err() == nil {
			err = slow()
		}
		return p, err
	})
}
