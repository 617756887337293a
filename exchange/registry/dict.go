package registry

import (
	"hash/maphash"
	"iter"
	"maps"
)

// dict is an immutable map by id. A change makes a new dict, which shares most parts with the old
// one.
type dict[V any] struct{ parts *[parts]map[string]V }

// parts limits what a change copies: of 10,000 entries 40, and the array.
const parts = 256

var seed = maphash.MakeSeed()

func part(id string) int { return int(maphash.String(seed, id) % parts) }

func newDict[V any]() dict[V] { return dict[V]{new([parts]map[string]V)} }

func (d dict[V]) get(id string) V { return d.parts[part(id)][id] }

// all yields the entries in no particular order.
func (d dict[V]) all() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, m := range d.parts {
			for id, v := range m {
				if !yield(id, v) {
					return
				}
			}
		}
	}
}

// edit makes a new dict from one, by several changes.
type edit[V any] struct {
	dict[V]
	copied map[int]bool // parts that belong to the new dict
}

func (e *edit[V]) set(id string, v V) {
	if e.copied == nil {
		all := *e.parts
		e.parts, e.copied = &all, map[int]bool{}
	}
	at := part(id)
	if !e.copied[at] {
		e.copied[at] = true
		if e.parts[at] = maps.Clone(e.parts[at]); e.parts[at] == nil {
			e.parts[at] = map[string]V{}
		}
	}
	e.parts[at][id] = v
}
