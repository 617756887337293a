// Package manual makes manual pages from the help of a command line. The build uses it; it is
// no part of the program.
package manual

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Pages returns the pages of a command and its subcommands, by file name: messkit-ask.1. Their
// footers have the version, and ~ replaces home.
func Pages(root *cobra.Command, version, home string) map[string][]byte {
	pages := map[string][]byte{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		pages[name(c)+".1"] = page(c, version, home)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return pages
}

// Write writes the pages to a new folder.
func Write(dir string, pages map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page returns a page in the macros of man(7).
func page(c *cobra.Command, version, home string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s %s\" \"%[2]s\"\n", quoted(strings.ToUpper(name(c))), quoted(c.Root().Name()), quoted(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", text(name(c)), text(c.Short))
	b.WriteString(".SH SYNOPSIS\n")
	fmt.Fprintf(&b, ".B \"%s\"\n", quoted(c.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	description := c.Long
	if description == "" {
		description = c.Short + "."
	}
	plain(&b, description)
	flags(&b, c.NonInheritedFlags(), home)
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		asIs(&b, c.Example)
	}
	related(&b, c)
	return b.Bytes()
}

// plain writes paragraphs. One with indented lines stays as it is.
func plain(b *bytes.Buffer, description string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(description), "\n\n") {
		if strings.Contains("\n"+paragraph, "\n ") {
			asIs(b, paragraph)
			continue
		}
		b.WriteString(".PP\n" + text(paragraph) + "\n")
	}
}

// asIs writes lines without filling.
func asIs(b *bytes.Buffer, lines string) {
	b.WriteString(".PP\n.nf\n" + text(strings.Trim(lines, "\n")) + "\n.fi\n")
}

func flags(b *bytes.Buffer, set *pflag.FlagSet, home string) {
	if !set.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH OPTIONS\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		line := "--" + f.Name
		if f.Shorthand != "" {
			line = "-" + f.Shorthand + ", " + line
		}
		if value != "" {
			line += " " + strings.ToUpper(value)
		}
		switch f.DefValue {
		case "", "false", "0", "[]", "0s":
		default:
			usage += " (default: " + tilde(f.DefValue, home) + ")"
		}
		fmt.Fprintf(b, ".TP\n.B \"%s\"\n%s\n", quoted(line), text(tilde(usage, home)))
	})
}

func tilde(s, home string) string {
	if home == "" || home == "/" {
		return s
	}
	return strings.ReplaceAll(s, home, "~")
}

// related names the commands above and below.
func related(b *bytes.Buffer, c *cobra.Command) {
	var list []string
	if c.HasParent() {
		list = append(list, text(name(c.Parent()))+"(1)")
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			list = append(list, text(name(sub))+"(1)")
		}
	}
	if len(list) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(list, ",\n") + "\n")
	}
}

// text escapes a text for a page.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// quoted is an argument of a macro, in quotation marks.
func quoted(s string) string { return strings.ReplaceAll(text(s), `"`, `\(dq`) }
