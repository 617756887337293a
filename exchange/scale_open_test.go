package exchange_test

import (
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
)

// scaleStore is the store of the exchange in the benchmarks of scale.
type scaleStore = exchange.Store

func newScaleStore() scaleStore { return memory.New() }
