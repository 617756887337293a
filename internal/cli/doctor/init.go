package doctor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/discovery"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// Beginning has the answers of the user, or the flags of `messkit init`.
type Beginning struct {
	ID      string
	connect string // "": this board carries the exchange
	network bool   // other machines reach it over the network
	yes     bool
}

// InitCommand returns the command messkit init.
func InitCommand(a *output.Env) *cobra.Command {
	listen := 3 * time.Second
	broker := mqttdevice.DefaultConfig()
	var b Beginning
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a configuration with the devices found on this machine",
		Long: `Init looks for devices like messkit discover, asks three questions, and writes a
commented configuration: messkit.yaml, unless you name another file. It never
overwrites a file.

The configuration locks each device that can act: find out what the device does, then
remove its lock from the file. With --yes the command asks nothing.`,
		Example: "  messkit init\n  messkit init --yes kitchen.yaml\n  messkit init --connect https://192.168.1.20:8420",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := "messkit.yaml"
			if len(args) > 0 {
				name = args[0]
			}
			if name == "" {
				return output.Usagef(c, "the file has no name; write one, or nothing for messkit.yaml")
			}
			if _, err := os.Lstat(name); err == nil {
				return output.Hint(fmt.Errorf("%s is there already, and stays as it is", name), "name another file, or move it away")
			}
			if err := b.ask(c.Context(), a); err != nil {
				return err
			}
			if err := b.check(); err != nil {
				return output.Usagef(c, "%s", err)
			}
			ctx, cancel := context.WithTimeout(c.Context(), listen)
			defer cancel()
			fmt.Fprintf(a.Out, "looking for devices, %v ...\n", listen)
			list, brokers, err := discovery.LookAround(ctx, broker)
			if err != nil {
				return err
			}
			return runInit(a, name, b, list, brokers)
		},
	}
	f := c.Flags()
	f.BoolVarP(&b.yes, "yes", "y", false, "ask nothing")
	f.StringVar(&b.ID, "id", boardName(), "name of this node")
	f.StringVar(&b.connect, "connect", "", "address of an exchange on another machine that it works for")
	f.BoolVar(&b.network, "network", false, "other machines in the network reach its exchange, with a certificate")
	discovery.LookFlags(c, &listen, &broker)
	return c
}

// boardName returns an id made from the name of this machine.
func boardName() string {
	name, err := os.Hostname()
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	if err != nil || !mess.ValidID(name) {
		return "board"
	}
	return name
}

// ask asks the person at the terminal, if there is one.
func (b *Beginning) ask(ctx context.Context, a *output.Env) error {
	if b.yes {
		return nil
	}
	in, ok := a.In.(*os.File)
	if !ok || !terminal.IsTerminal(in) {
		return output.Hint(errors.New("no terminal to ask the user"), "messkit init --yes asks nothing; --id, --connect and --network change the defaults")
	}
	r := bufio.NewReader(in)
	var err error
	question := func(text, otherwise string) string {
		if err != nil {
			return ""
		}
		fmt.Fprintf(a.Out, "%s [%s] ", text, otherwise)
		var line string
		if line, err = client.ReadLine(ctx, r); err != nil {
			fmt.Fprintln(a.Out)
		}
		if line == "" {
			return otherwise
		}
		return line
	}
	again := func(ask func()) { // until the answer is valid
		for ask(); err == nil; ask() {
			wrong := b.check()
			if wrong == nil {
				return
			}
			fmt.Fprintln(a.Out, wrong)
		}
	}
	id, elsewhere := b.ID, b.connect == ""
	again(func() { b.ID = question("What is this board called?", id) })
	if elsewhere && !b.network {
		again(func() {
			b.connect = question("Address of an exchange elsewhere that it works for, or here?", "here")
			if b.connect == "here" {
				b.connect = ""
			}
		})
	}
	if b.connect == "" && !b.network {
		b.network, _ = client.YesOrNo(question("Do other machines in the network use it? y or n", "n"))
	}
	return err
}

func (b *Beginning) check() error {
	if !mess.ValidID(b.ID) {
		return fmt.Errorf("%q cannot name a board; use letters, digits and . _ : @ -", b.ID)
	}
	if b.connect == "" {
		return nil
	}
	c := config.Connect{URL: b.connect, KeyFile: "key"}
	if b.network {
		return errors.New("--network is for an exchange of its own; leave it out, or --connect")
	}
	return c.Validate()
}

// runInit writes the file, and checks it.
func runInit(a *output.Env, name string, b Beginning, list []discovery.Discovered, brokers []discovery.FoundBroker) error {
	text, n, err := b.Text(name, list, brokers)
	if err != nil {
		return err
	}
	if err := writeNew(name, text); err != nil {
		return err
	}
	if _, err := daemon.LoadConfig(name, output.NoLog); err != nil {
		return output.Hint(errors.Join(err, os.Remove(name)), "messkit wrote nothing; messkit discover shows the devices")
	}
	next := "messkit run --config " + name
	if b.connect != "" {
		next = "put the exchange's fingerprint and an enrollment code into it, then " + next
	}
	_, err = fmt.Fprintf(a.Out, "%s written with %s; read it, then: %s\n", name, output.Count(n, "device"), next)
	return err
}

// writeNew writes a new file that only its owner can read: users write codes and passwords
// into it.
func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return output.Hint(err, "name another file, or move it away")
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// Text returns the configuration and the number of its devices.
func (b *Beginning) Text(name string, list []discovery.Discovered, brokers []discovery.FoundBroker) ([]byte, int, error) {
	var t bytes.Buffer
	fmt.Fprintf(&t, `# messkit's configuration for %s, written by messkit init on %s.
# messkit check %s tells every mistake at once; messkit run --config %[3]s uses it.

`, b.ID, time.Now().Format(time.DateOnly), filepath.Base(name))
	switch {
	case b.connect != "":
		fmt.Fprintf(&t, `# The exchange elsewhere that this board works for. There, messkit keys fingerprint shows
# the pin of its certificate, and messkit keys enrol %s a code with which this board gets its key.
connect:
  url: %s
  key_file: ~/.mess/%[1]s.key
  # pin: sha256:...
  # enrol: ...
`, b.ID, quotedYAML(b.connect))
	case b.network:
		t.WriteString(`# The exchange that this board carries, for the whole network. messkit keys fingerprint
# shows how the others know its certificate, messkit keys enrol a code for each new board.
exchange:
  listen: 0.0.0.0:8420
  tls: self
`)
	default:
		t.WriteString(`# The exchange that this board carries, for this machine alone. For the whole network:
# listen: 0.0.0.0:8420, and tls: self.
exchange:
  listen: 127.0.0.1:8420
`)
	}
	fmt.Fprintf(&t, `
# The executor: who does what is asked.
agent:
  id: %s
  # position: {lat: 52.52, lng: 13.40}   # for "until sunset"

# What was found here. Take out what is not yours, and give names that people use: the
# name of a device is what it is asked by, and aliases: [...] are further ones.
# messkit devices --drivers lists what else there is.
`, b.ID)
	discovery.PrintHardware(&t)
	discovery.PrintBrokers(&t, brokers)
	n, err := discovery.PrintFound(&t, list)
	if n == 0 {
		t.WriteString(`
# Nothing is here yet. A relay or a lamp on a GPIO line looks like this; without "locked" it
# can be switched:
# devices:
#   porch-light:
#     driver: gpiorelay
#     line: GPIO17
#     class: light
#     limits: {locked: true, max_on: 12h}
`)
	}
	return t.Bytes(), n, err
}

// quotedYAML returns a text as a YAML scalar.
func quotedYAML(s string) string {
	data, err := strictyaml.YAML(strictyaml.Str(s))
	if err != nil {
		return `""` // `messkit check` rejects it
	}
	return strings.TrimSpace(string(data))
}
