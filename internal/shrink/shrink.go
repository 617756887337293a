// Package shrink returns the memory of maps that have lost most of their entries. A map of Go keeps
// the memory for the most entries that it ever had.
package shrink

import "maps"

// Peak is the number of entries that a map had since its last copy. The zero value is for a new map.
type Peak struct{ entries int }

const (
	// few is the number of entries whose memory is not worth a copy.
	few = 1024
	// part is the part of its former entries below which a map becomes a copy. So a copy costs an
	// eighth of the deletes before it.
	part = 8
)

// Fit returns m, or a copy of m if m has lost most of its entries. Call it after each delete, and
// store the result. It allocates nothing otherwise, and takes constant time.
func Fit[K comparable, V any](m map[K]V, p *Peak) map[K]V {
	p.entries = max(p.entries, len(m)+1) // with the deleted one
	if p.entries < few || len(m) > p.entries/part {
		return m
	}
	p.entries = len(m)
	fit := make(map[K]V, len(m))
	maps.Copy(fit, m)
	return fit
}
