package all

import (
	"slices"
	"sync"

	"github.com/messkit/messkit/drivers"
)

// added contains the kinds that the main function of this program has added.
var added struct {
	mu    sync.Mutex
	kinds []drivers.Kind
}

// Add adds kinds to those of messkit, for programs with drivers of their own. A program calls
// it through messkit.Main, before anything else.
func Add(kinds ...drivers.Kind) {
	added.mu.Lock()
	defer added.mu.Unlock()
	added.kinds = append(added.kinds, kinds...)
}

func own() []drivers.Kind {
	added.mu.Lock()
	defer added.mu.Unlock()
	return slices.Clone(added.kinds)
}
