package client

import (
	"strings"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/internal/cli/output"
)

// PrintKept prints what a person keeps from acting, one line each.
func PrintKept(p *output.Printer, list []localpolicy.Block) {
	for _, k := range list {
		p.Printf("%-9s %s\n", k.How, output.Printable(strings.TrimSpace(k.What+"  "+k.Reason)))
	}
}
