package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/mess"
)

func completionCommand(a *output.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of bash, zsh or fish",
		Long: `Completion prints a script for your shell. With it, Tab completes commands, flags,
the refs of threads, devices, capabilities and executors. Refs come from the
exchange that --url or MESSKIT_URL names, within a second.

  bash   messkit completion bash > ~/.local/share/bash-completion/completions/messkit
         or, without the package bash-completion, in ~/.bashrc:
         source <(messkit completion bash)
  zsh    messkit completion zsh > ~/.zfunc/_messkit
         with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc
  fish   messkit completion fish > ~/.config/fish/completions/messkit.fish`,
		Example:   "  source <(messkit completion bash)     for this shell alone",
		Args:      cobra.ExactArgs(1),
		ValidArgs: shells,
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				if _, err := io.WriteString(a.Out, bashFallback); err != nil {
					return err
				}
				return c.Root().GenBashCompletionV2(a.Out, true)
			case "zsh":
				return c.Root().GenZshCompletion(a.Out)
			case "fish":
				var script bytes.Buffer
				if err := c.Root().GenFishCompletion(&script, true); err != nil {
					return err
				}
				_, err := fishWords.WriteString(a.Out, script.String())
				return err
			}
			return output.Usagef(c, "%q is no shell that messkit knows; write %s", args[0], strings.Join(shells, ", "))
		},
	}
}

// fishWords makes the script keep the quotes of words: a request contains apostrophes.
var fishWords = strings.NewReplacer("(commandline -opc)", "(string escape -- (commandline -opc))")

// bashFallback replaces functions of the package bash-completion on machines without it. They
// return the words of the line with their quotes, and file names.
const bashFallback = `if ! declare -F _init_completion _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        local line=${COMP_LINE:0:COMP_POINT}
        read -ra words <<<"$line"
        [[ $line == *[[:space:]] ]] && words+=("")
        cword=$((${#words[@]} - 1))
        cur=${words[cword]} prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi
if ! declare -F _filedir >/dev/null; then
    _filedir() {
        local one kind=-f
        [[ $1 == -d ]] && kind=-d
        while read -r one; do
            COMPREPLY+=("$one")
        done < <(compgen "$kind" -- "$cur")
        compopt -o filenames 2>/dev/null
    }
fi
if ! declare -F __ltrim_colon_completions >/dev/null; then
    __ltrim_colon_completions() { :; }
fi

`

var shells = []string{"bash", "zsh", "fish"}

// suggest returns the values for one place of a command line, each with a description after
// a tab.
type suggest func(c *cobra.Command) []string

// arguments has the values for the names in usage lines. Other names are files or free text.
var arguments = map[string]suggest{
	"REF": refs, "EXECUTOR": executorsThere, "DEVICE": devicesHere, "CLASS": classesHere, "ACTOR": actors, "ROLE": roles,
}

// flagValues has the values of flags, by flag name.
var flagValues = map[string]suggest{
	"status":   func(*cobra.Command) []string { return codes(requests.Statuses) },
	"priority": func(*cobra.Command) []string { return []string{"background", "normal", "elevated", "urgent"} },
	"requires": requirable, "capability": requirable,
	"tls":      func(*cobra.Command) []string { return []string{config.SelfMade} },
	"executor": executorsThere,
	"hint": func(*cobra.Command) []string {
		return []string{"text", "image", "location", "confirmation", "structured"}
	},
}

// addCompletions adds completion of arguments and flags to every command.
func addCompletions(parent *cobra.Command) {
	for _, c := range parent.Commands() {
		addCompletions(c)
		for name, s := range flagValues {
			if c.Flags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, s.complete) // fails for a second registration only
			}
		}
		if c.Flags().Lookup("config") != nil {
			_ = c.MarkFlagFilename("config", "yaml", "yml")
		}
		for _, name := range []string{"data", "save"} {
			if f := c.Flags().Lookup(name); f != nil && strings.Contains(f.Usage, "folder") {
				_ = c.MarkFlagDirname(name)
			}
		}
		if c.ValidArgsFunction == nil && c.ValidArgs == nil {
			c.ValidArgsFunction = completeArgs
		}
	}
}

func (s suggest) complete(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s(c), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeArgs completes the next argument by the usage line: REF, REF..., A|B.
func completeArgs(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := strings.Fields(c.Use)[1:]
	if len(names) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	at := len(args)
	if at >= len(names) && strings.HasSuffix(strings.Trim(names[len(names)-1], "[]"), "...") {
		at = len(names) - 1
	}
	if at >= len(names) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	for name := range strings.SplitSeq(strings.TrimSuffix(strings.Trim(names[at], `[]"`), "..."), "|") {
		switch s, ok := arguments[name]; {
		case ok:
			list = append(list, s(c)...)
		case name == "FILE", name == "PATH", name == "IN", name == "OUT":
			directive = cobra.ShellCompDirectiveDefault
		}
	}
	return slices.DeleteFunc(list, func(one string) bool {
		word, _, _ := strings.Cut(one, "\t")
		return slices.Contains(args, word)
	}), directive
}

// completionTime is the longest time that completion waits for the exchange.
const completionTime = time.Second

// reaching calls f with the exchange that a command line names.
func reaching(c *cobra.Command, f func(context.Context, *httpclient.Client)) {
	var k client.Client
	k.Flags(&cobra.Command{}) // the defaults
	for name, to := range map[string]*string{"url": &k.URL, "exchange": &k.Exchange, "key-file": &k.KeyFile, "pin": &k.Pin} {
		if flag := c.Flags().Lookup(name); flag != nil {
			*to = flag.Value.String()
		}
	}
	x, err := k.Open()
	if err != nil {
		return // no completion then
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	f(ctx, x)
}

// refs returns the refs of the threads that a command accepts.
func refs(c *cobra.Command) (list []string) {
	reaching(c, func(ctx context.Context, x *httpclient.Client) {
		threads, _ := x.List(ctx, httpclient.Filter{Limit: client.MaxBoard}) // no completion after an error
		for _, t := range threads {
			asks := t.Status == mess.NeedsInput || t.Status == mess.NeedsConfirmation
			if c.Name() == "reply" && !asks || c.Name() == "cancel" && t.Status.Terminal() {
				continue
			}
			list = append(list, fmt.Sprintf("%s\t%s: %s", t.Ref, output.WithSpaces(t.Status), output.Printable(t.Intent)))
		}
	})
	return list
}

func executorsThere(c *cobra.Command) (list []string) {
	reaching(c, func(ctx context.Context, x *httpclient.Client) {
		executors, _ := x.Executors(ctx)
		for _, e := range executors {
			list = append(list, e.ID+"\t"+output.Printable(e.Name))
		}
	})
	return list
}

func actors(c *cobra.Command) (list []string) {
	reaching(c, func(ctx context.Context, x *httpclient.Client) {
		holders, _ := x.Keys(ctx)
		for _, h := range holders {
			list = append(list, h.Actor)
		}
	})
	return list
}

func roles(*cobra.Command) []string {
	return []string{"requester", "executor", "observer", "operator"}
}

// requirable returns the capabilities that the exchange knows, or the built-in ones.
func requirable(c *cobra.Command) (list []string) {
	reaching(c, func(ctx context.Context, x *httpclient.Client) {
		there, _ := x.Capabilities(ctx)
		for _, one := range there {
			list = append(list, one.ID+"\t"+output.Printable(one.Description))
		}
	})
	if list == nil {
		for _, d := range catalog.Default().Definitions() {
			list = append(list, d.ID+"\t"+d.Description)
		}
	}
	return list
}

// devicesHere returns the devices of the named configuration, or those of the last run with
// the data folder.
func devicesHere(c *cobra.Command) []string {
	value := func(name string) string {
		if f := c.Flags().Lookup(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	if file := value("config"); file != "" {
		cfg, err := daemon.LoadConfig(file, output.NoLog)
		if err != nil {
			return nil
		}
		return cfg.Opened.Names()
	}
	data := value("data")
	if data == "" {
		data = config.DataDir()
	}
	names, err := localpolicy.In(data).Devices()
	if err != nil {
		return nil
	}
	return names
}

func classesHere(*cobra.Command) []string { return strings.Split(localpolicy.ClassNames(), ", ") }

func codes(list []mess.Code) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = string(c)
	}
	return names
}
