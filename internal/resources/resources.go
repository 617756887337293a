// Package resources reads the machine's limits for this process, and the use of them. It sets
// no limit itself.
package resources

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Limits are the limits that the machine sets for this process.
type Limits struct {
	Memory int64 // bytes of the machine, or of the control group if that has fewer
	Files  int   // open files and connections
}

// The values of a small computer, if the system does not report its own.
const (
	unknownMemory = 512 << 20
	unknownFiles  = 1024
)

// Of returns the limits of this process.
func Of() Limits {
	l := Limits{Memory: memory(), Files: files()}
	if l.Memory <= 0 {
		l.Memory = unknownMemory
	}
	if l.Files <= 0 {
		l.Files = unknownFiles
	}
	return l
}

// memoryShare is the divisor for the memory of one kind of connection. There are three kinds,
// so that five eighths remain for everything else.
const memoryShare = 8

// Share returns the number of connections of size bytes that fit into an eighth of the memory. It
// returns at most one for each part files, and a number from least to most.
func (l Limits) Share(size int64, part, least, most int) int {
	return max(least, min(most, l.Files/part, int(min(l.Memory/memoryShare/size, int64(most)))))
}

// OpenFiles returns the number of open files and connections of this process. ok is false if the
// system does not report it.
func OpenFiles() (n int, ok bool) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0, false
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close() // nothing was written
	return len(names) - 1, err == nil
}

// Use has the used part of a limit.
type Use struct {
	What    string    `json:"what"`              // the limited thing, in words
	Setting string    `json:"setting,omitempty"` // the setting that raises the limit
	Now     int       `json:"now"`
	Limit   int       `json:"limit"`
	Refused int64     `json:"refused"`       // refusals since the start
	Last    time.Time `json:"last,omitzero"` // time of the last refusal
}

// Process has the use of resources by this process.
type Process struct {
	CPU        float64 `json:"cpu_s"` // seconds of a processor since the start
	Memory     int64   `json:"rss"`   // bytes in memory now; 0 if unknown
	Goroutines int     `json:"goroutines"`
}

// Spent returns the resources that this process has used.
func Spent() Process {
	return Process{CPU: cpu(), Memory: resident(), Goroutines: runtime.NumGoroutine()}
}

// resident returns the bytes of the process in memory, or 0 if the system does not report it.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/statm") // 0 without it
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
