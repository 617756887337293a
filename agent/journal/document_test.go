package journal_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/wal"
)

// document is docs/reference/journal.md. This test reads a journal with its tables alone and uses no code
// of the packages that write journals.
type document struct {
	*testing.T
	text string
}

func readDocument(t *testing.T) document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "journal.md"))
	must(t, err)
	return document{t, string(text)}
}

// table returns the rows of the first table after some words, by cell.
func (d document) table(after string) (rows [][]string) {
	d.Helper()
	_, rest, ok := strings.Cut(d.text, after)
	if !ok {
		d.Fatalf("docs/reference/journal.md does not contain %q", after)
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
			}
			rows = append(rows, cells)
		case len(rows) > 0:
			return rows[2:] // without its head
		}
	}
	if len(rows) < 3 {
		d.Fatalf("the document has no table after %q", after)
	}
	return rows[2:]
}

// field is where a field lies. One with another field's length has bytes -1.
type field struct{ at, bytes int }

func (d document) fields(after string) map[string]field {
	d.Helper()
	fields := map[string]field{}
	for _, row := range d.table(after) {
		at, err := strconv.Atoi(row[0])
		must(d.T, err)
		n, err := strconv.Atoi(row[1])
		if err != nil {
			n = -1
		}
		fields[row[2]] = field{at, n}
	}
	return fields
}

func (f field) of(b []byte) []byte { return b[f.at : f.at+f.bytes] }

func (f field) number(b []byte) (n uint64) {
	for i, c := range f.of(b) {
		n |= uint64(c) << (8 * i)
	}
	return n
}

// decode reads the journal in dir by the document, and returns its records.
func (d document) decode(dir string) (records []map[string]any) {
	d.Helper()
	header, frame := d.fields("begins with a header:"), d.fields("syncs each frame at once:")
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	must(d.T, err)
	slices.Sort(names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		must(d.T, err)
		if got := string(header["magic"].of(data)); got != "messkwal" || !strings.Contains(d.text, "`"+got+"`") {
			d.Fatalf("magic %q", got)
		}
		if got := fmt.Sprintf("%016x.wal", header["sequence"].number(data)); got != filepath.Base(name) {
			d.Fatalf("%s in %s", got, name)
		}
		sum := header["checksum"]
		if got := castagnoli(data[:sum.at]); uint64(got) != sum.number(data) {
			d.Fatalf("header's checksum %x", got)
		}
		if header["flags"].number(data)&1 != 0 {
			records = nil
		}
		salt := header["salt"].of(data)
		for data = data[sum.at+sum.bytes:]; len(data) > 0 && frame["length"].number(data) != 0; {
			length := frame["length"]
			body := data[frame["body"].at:][:length.number(data)]
			if got := castagnoli(slices.Concat(salt, length.of(data), body)); uint64(got) != frame["checksum"].number(data) {
				d.Fatalf("a frame's checksum %x", got)
			}
			data = data[frame["body"].at+len(body):]
			for len(body) > 0 {
				n, used := binary.Uvarint(body) // the varint of encoding/binary is the one that the document means
				body = body[used:]
				record := map[string]any{}
				must(d.T, json.Unmarshal(body[:n], &record))
				records = append(records, record)
				body = body[n:]
			}
		}
	}
	return records
}

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(0x82f63b78)) }

// kinds are the fields of each kind of record, by the document.
func (d document) kinds() map[string][]string {
	kinds := map[string][]string{}
	for _, row := range d.table("## Records") {
		kinds[row[0]] = regexp.MustCompile(`\w+`).FindAllString(row[1], -1)
	}
	return kinds
}

// The document is enough to read a journal: one that is written to, one that is
// closed, and one that was compacted.
func TestDocumentedFormatReadsJournal(t *testing.T) {
	d := readDocument(t)
	dir := t.TempDir()
	j := open(t, dir)
	long := strings.Repeat("long ", 100) // a varint of two bytes
	must(t, j.Run(t.Context(), "b1"))
	must(t, j.CreateLedger(t.Context(), journal.Ledger{}))
	must(t, j.RecordQuestion(t.Context(), journal.Question{Ref: "a", Epoch: 1, Boot: "b1", Data: json.RawMessage(`{"question":{}}`)}))
	must(t, j.Intent(t.Context(), intent("a", 1)))
	must(t, j.Intent(t.Context(), intent("a", 2), act("lamp", noon), due("lamp", 1, noon)))
	must(t, j.RecordFound(t.Context(), "a", "b2"))
	must(t, j.Done(t.Context(), "b", 7, report("b", long)))
	must(t, j.Intent(t.Context(), intent("c", 1)))
	must(t, j.Done(t.Context(), "c", 1, report("c", "cc")))
	must(t, j.WatchLate(t.Context(), "c", 1, json.RawMessage(`{"lates":[]}`)))
	must(t, j.Sent(t.Context(), "c"))
	d.wantText(dir, "begun, run, book, asked a 1, intent a 1, intent a 2, act, due, found a, done b 7, intent c 1, done c 1, late c 1, sent c")
	must(t, j.Close())
	d.wantText(dir, "begun, run, book, asked a 1, intent a 1, intent a 2, act, due, found a, done b 7, intent c 1, done c 1, late c 1, sent c")

	j = open(t, dir)
	for range 20 { // until it is compacted
		must(t, j.Done(t.Context(), "c", 1, report("c", strings.Repeat("x", 60<<10))))
		must(t, j.Sent(t.Context(), "c"))
	}
	if records := d.decode(dir); len(records) > 15 || records[3]["begun"] != 2.0 || records[3]["found"] != 1.0 || records[2]["book"] == nil {
		t.Errorf("compacted records are %v, want those of the document", records)
	}
}

// wantText compares a journal, as the document has it, with what was written.
func (d document) wantText(dir, want string) {
	d.Helper()
	kinds := d.kinds()
	var documented []string
	for _, r := range d.decode(dir) {
		kind, _ := r["kind"].(string)
		words := []string{kind}
		about := r
		for _, inside := range []string{"intent", "asked", "act", "due", "book"} {
			if inner, ok := r[inside].(map[string]any); ok {
				about = inner
			}
		}
		for _, key := range []string{"ref", "epoch"} {
			if v, ok := about[key]; ok {
				words = append(words, fmt.Sprint(v))
			}
		}
		documented = append(documented, strings.Join(words, " "))
		for _, object := range []map[string]any{r, about} {
			for key := range object {
				if key != "kind" && !slices.Contains(kinds[kind], key) {
					d.Errorf("a record of kind %s has a field %s, which the document does not name", kind, key)
				}
			}
		}
	}
	if diff := cmp.Diff(want, strings.Join(documented, ", ")); diff != "" {
		d.Errorf("(-want +got):\n%s", diff)
	}
}

// The document contains every rule that a check may name, and no other.
func TestDocumentListsRules(t *testing.T) {
	var documented []string
	for _, row := range readDocument(t).table("## Rules") {
		documented = append(documented, row[0])
	}
	want := []string{
		wal.RuleName, wal.RuleSequence, wal.RuleHeader, wal.RuleHeaderChecksum, wal.RuleFlags, wal.RuleTail, wal.RuleChecksum, wal.RuleRecords, wal.RuleClosed,
		journal.RuleJSON, journal.RuleKind, journal.RuleThread, journal.RuleReport, journal.RuleFirst, journal.RuleOrder, journal.RuleEpoch, journal.RuleNote,
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
