package top

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// sample is one value of a metric.
type sample struct {
	labels map[string]string
	value  float64
}

// scrape has the samples of an exchange at one time, by name.
type scrape map[string][]sample

// maxLine is the longest line that parse reads, in bytes.
const maxLine = 64 << 10

// parse reads metrics in the text format 0.0.4 of Prometheus. It ignores comments, types and
// timestamps.
func parse(r io.Reader) (scrape, error) {
	s := scrape{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, one, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("metrics: line %d %w; is this the address of an exchange?", n, err)
		}
		s[name] = append(s[name], one)
	}
	return s, lines.Err()
}

// parseLine reads NAME{LABEL="VALUE",...} NUMBER [TIMESTAMP].
func parseLine(line string) (name string, s sample, err error) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return "", s, fmt.Errorf("has no value")
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		if s.labels, rest, err = parseLabels(rest[1:]); err != nil {
			return "", s, err
		}
	}
	fields := strings.Fields(rest)
	if len(fields) < 1 || len(fields) > 2 {
		return "", s, fmt.Errorf("has %d fields after its name, want 1 or 2", len(fields))
	}
	if s.value, err = strconv.ParseFloat(fields[0], 64); err != nil {
		return "", s, fmt.Errorf("has the value %.20q, which is no number", fields[0])
	}
	return name, s, nil
}

// parseLabels reads LABEL="VALUE",...} and returns what follows.
func parseLabels(text string) (labels map[string]string, rest string, err error) {
	labels = map[string]string{}
	for {
		text = strings.TrimLeft(text, " \t,")
		if strings.HasPrefix(text, "}") {
			return labels, text[1:], nil
		}
		name, value, ok := strings.Cut(text, `="`)
		if !ok {
			return nil, "", fmt.Errorf("has a label without a value")
		}
		var b strings.Builder
		at := 0
		for ; at < len(value) && value[at] != '"'; at++ {
			if value[at] == '\\' && at+1 < len(value) {
				at++
				if value[at] == 'n' {
					b.WriteByte('\n')
					continue
				}
			}
			b.WriteByte(value[at])
		}
		if at == len(value) {
			return nil, "", fmt.Errorf("has a label whose value does not end")
		}
		labels[name], text = b.String(), value[at+1:]
	}
}

// sum adds the samples of a metric whose labels have the wanted values: names and values in turn.
func (s scrape) sum(name string, want ...string) (sum float64) {
	for _, one := range s[name] {
		fits := true
		for i := 0; i < len(want); i += 2 {
			fits = fits && one.labels[want[i]] == want[i+1]
		}
		if fits {
			sum += one.value
		}
	}
	return sum
}

// label returns a label of the first sample of a metric, or "".
func (s scrape) label(name, label string) string {
	if len(s[name]) == 0 {
		return ""
	}
	return s[name][0].labels[label]
}
