package agent

import "github.com/messkit/messkit/agent/runtime"

// The settings of an agent, and what New expects of the exchange and the resolver.
type (
	Config   = runtime.Config
	Exchange = runtime.Exchange
	Resolver = runtime.Resolver
)

// DefaultConfig returns the default settings of an agent.
func DefaultConfig() Config { return runtime.DefaultConfig() }
