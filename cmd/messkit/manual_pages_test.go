package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manualPages returns the pages of a command and its subcommands, by file name: messkit-ask.1. Their
// footers have the version, and ~ replaces home.
func manualPages(root *cobra.Command, version, home string) map[string][]byte {
	pages := map[string][]byte{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		pages[pageName(c)+".1"] = manualPage(c, version, home)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return pages
}

// writePages writes the pages to a new folder.
func writePages(dir string, pages map[string][]byte) error {
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

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualPage returns a page in the macros of man(7).
func manualPage(c *cobra.Command, version, home string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s %s\" \"%[2]s\"\n", quoteMan(strings.ToUpper(pageName(c))), quoteMan(c.Root().Name()), quoteMan(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escapeMan(pageName(c)), escapeMan(c.Short))
	b.WriteString(".SH SYNOPSIS\n")
	fmt.Fprintf(&b, ".B \"%s\"\n", quoteMan(c.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	description := c.Long
	if description == "" {
		description = c.Short + "."
	}
	writeParagraphs(&b, description)
	writeFlags(&b, c.NonInheritedFlags(), home)
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		writeAsIs(&b, c.Example)
	}
	writeRelated(&b, c)
	return b.Bytes()
}

// writeParagraphs writes paragraphs. One with indented lines stays as it is.
func writeParagraphs(b *bytes.Buffer, description string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(description), "\n\n") {
		if strings.Contains("\n"+paragraph, "\n ") {
			writeAsIs(b, paragraph)
			continue
		}
		b.WriteString(".PP\n" + escapeMan(paragraph) + "\n")
	}
}

// writeAsIs writes lines without filling.
func writeAsIs(b *bytes.Buffer, lines string) {
	b.WriteString(".PP\n.nf\n" + escapeMan(strings.Trim(lines, "\n")) + "\n.fi\n")
}

func writeFlags(b *bytes.Buffer, set *pflag.FlagSet, home string) {
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
			usage += " (default: " + withTilde(f.DefValue, home) + ")"
		}
		fmt.Fprintf(b, ".TP\n.B \"%s\"\n%s\n", quoteMan(line), escapeMan(withTilde(usage, home)))
	})
}

func withTilde(s, home string) string {
	if home == "" || home == "/" {
		return s
	}
	return strings.ReplaceAll(s, home, "~")
}

// writeRelated names the commands above and below.
func writeRelated(b *bytes.Buffer, c *cobra.Command) {
	var list []string
	if c.HasParent() {
		list = append(list, escapeMan(pageName(c.Parent()))+"(1)")
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			list = append(list, escapeMan(pageName(sub))+"(1)")
		}
	}
	if len(list) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(list, ",\n") + "\n")
	}
}

// escapeMan escapes a text for a page.
func escapeMan(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// quoteMan is an argument of a macro, in quotation marks.
func quoteMan(s string) string { return strings.ReplaceAll(escapeMan(s), `"`, `\(dq`) }
