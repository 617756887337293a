package exchange_test

import (
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) exchange.Store { return exchange.NewMemory() })
}
