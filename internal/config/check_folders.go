package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Folders returns an error for each data folder that no user can write. It calls note for a
// folder that another user can write, because another user may run messkit.
func (c *Config) Folders(note func(string)) error {
	if c == nil {
		return nil // the configuration is unreadable
	}
	dirs := map[string]string{"agent": c.Agent.Data}
	if c.Exchange != nil {
		dirs["exchange"] = c.Exchange.Data
	}
	var wrong strictyaml.Problems
	used := map[string]bool{"": true} // an empty one has its error already
	for _, part := range output.SortedKeys(dirs) {
		key, dir := part+".data", dirs[part]
		if used[dir] && c.Document.Under(part).Under("data").IsZero() {
			continue
		}
		used[dir] = true
		err := writable(dir)
		if p := c.Document.Problem(key, "%v", err); errors.Is(err, fs.ErrPermission) && note != nil {
			note(p.Error() + "; the user that runs messkit needs access")
		} else if err != nil {
			wrong = append(wrong, p)
		}
	}
	return wrong.Err()
}

// writable tries to write to a folder, or to its parent if it does not exist yet, and removes
// the file again. It returns the reason of a failure.
func writable(dir string) error {
	at := dir
	for {
		info, e := os.Stat(at)
		if e == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a folder; write another one, or move it away", at)
		}
		if up := filepath.Dir(at); e != nil && !errors.Is(e, fs.ErrPermission) && up != at {
			at = up
			continue
		}
		break
	}
	made, err := os.MkdirTemp(at, ".check-*")
	if err != nil {
		return fmt.Errorf("%s is not writable: %w; write a folder on a disk of this machine", dir, err)
	}
	return os.Remove(made)
}

// ExchangeAt returns the data folder of the exchange in this program, "" for none.
func (c *Config) ExchangeAt() string {
	if c.Exchange == nil {
		return ""
	}
	at, err := filepath.Abs(c.Exchange.Data)
	if err != nil {
		return ""
	}
	return at
}

// CheckSeparateFolders returns an error for `exchange: data:` without `agent: data:`. The executor
// would share journal, stop, lockouts and watchdog with another system.
func (c *Config) CheckSeparateFolders() error {
	at, own := c.ExchangeAt(), !c.Document.Under("agent").Under("data").IsZero()
	if at == "" || own || c.Document.Under("exchange").Under("data").IsZero() || c.Agent.Data != DataDir() {
		return nil
	}
	was := localpolicy.In(c.Agent.Data).Fact(localpolicy.FactExchange)
	if was == "" || was == at {
		return nil
	}
	return strictyaml.Problems{c.Document.Problem("exchange.data", "is %s, and the executor in %s belongs to the exchange in %s; write agent: data: too: another folder for a second system, or %[2]s if the exchange's folder has moved", at, c.Agent.Data, was)}
}
