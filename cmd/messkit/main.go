// Command messkit gives AI agents safe hands in the physical world: it makes a
// board an executor of MESS requests, and carries an exchange of its own.
//
// The commands are in internal/cli, the configuration is in internal/config, and
// internal/daemon builds and runs the executor and the exchange.
package main

import (
	"os"

	"github.com/messkit/messkit"
)

func main() { os.Exit(messkit.Main()) }
