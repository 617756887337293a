package resolve

import (
	"slices"

	"github.com/messkit/messkit/mess"
)

// WithoutKey is a copy of o without the key.
func WithoutKey(o mess.Object, key string) mess.Object {
	return slices.DeleteFunc(slices.Clone(o), func(f mess.Field) bool { return f.Key == key })
}
