// Command messkit lets AI agents act safely in the physical world. It runs an
// executor of MESS requests, and an exchange, on a host with devices.
//
// The commands are in internal/cli, the configuration is in internal/config, and
// internal/daemon builds and runs the executor and the exchange.
package main

import (
	"os"

	"github.com/messkit/messkit"
)

func main() { os.Exit(messkit.Main()) }
