package localpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/wal"
)

// AdoptLedger begins the ledger of a journal, once. It copies what older versions have kept in this
// folder, and sets their files aside when the disk has the ledger. If it cannot read them, or
// the journal is missing, the ledger has a gap.
func (f Folder) AdoptLedger(ctx context.Context, j *journal.Journal, now time.Time, log *slog.Logger) {
	if begun, _ := j.HasLedger(); !begun {
		b, err := f.oldLedger()
		if err == nil && j.IsNew() && durable.Used(filepath.Dir(f.dir)) && !durable.There(f.oldActs()) {
			err = errors.New("the journal is missing")
		}
		if err != nil {
			b.Gap = now.UTC()
			log.Error("some acts or pending switch-offs are missing; check which devices may be on", "err", err)
		}
		if err := j.CreateLedger(ctx, b); err != nil {
			log.Error("cannot write the acts of an older version; they count until the program ends", "err", err)
		}
	}
	if _, whole := j.HasLedger(); !whole {
		return
	}
	if err := errors.Join(durable.SetAside(f.oldActs()), durable.SetAside(f.oldPendingOffs())); err != nil {
		log.Warn("cannot rename the files of an older version; messkit no longer reads them", "err", err)
	}
}

// The files of older versions.
func (f Folder) oldActs() string        { return filepath.Join(f.dir, "acts") }
func (f Folder) oldPendingOffs() string { return filepath.Join(f.dir, "due.json") }

// oldLedger reads the records of older versions, as far as they are readable.
func (f Folder) oldLedger() (b journal.Ledger, err error) {
	_, err = wal.Read(f.oldActs(), func(e wal.Record) error {
		var act journal.Act
		if err := json.Unmarshal(e.Data, &act); err != nil {
			return err
		}
		b.Apply(journal.LedgerEntry{Act: &act})
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	data, unread := durable.Read(f.oldPendingOffs(), maxFile)
	if errors.Is(unread, fs.ErrNotExist) {
		return b, err
	}
	var due map[string]journal.PendingOff
	if unread == nil {
		due, unread = parseOldPendingOffs(data)
	}
	if unread != nil {
		return b, errors.Join(err, fmt.Errorf("%s: %w", f.oldPendingOffs(), unread))
	}
	for device, d := range due {
		b.Apply(journal.LedgerEntry{Device: device, PendingOff: &d})
	}
	return b, err
}

// parseOldPendingOffs decodes the format of older versions, and nothing else.
func parseOldPendingOffs(data []byte) (map[string]journal.PendingOff, error) {
	var due map[string]journal.PendingOff
	if err := decodeStrict(data, &due); err != nil {
		return nil, err
	}
	return due, nil
}
