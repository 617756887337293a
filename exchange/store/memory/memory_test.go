package memory_test

import (
	"testing"

	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/exchange/thread"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) thread.Store { return memory.New() })
}
