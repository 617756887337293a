package dctjpeg

import "slices"

// histogram counts the symbols of one Huffman table.
type histogram [256]uint32

// codes is a Huffman table in its file form: the number of codes of each length, and their
// symbols in order.
type codes struct {
	counts  [16]byte
	symbols []byte
}

// size returns the bytes of the table in a file, with its marker.
func (c *codes) size() int { return 2 + 2 + 1 + 16 + len(c.symbols) }

// optimal finds the table that takes the fewest bits by package-merge (Larmore and Hirschberg,
// 1990). Its codes have at most 16 bits, and none is all ones. The algorithm pairs coins of a
// value, from the longest codes up.
func optimal(h *histogram) codes {
	type leaf struct {
		count  uint64
		symbol int
	}
	leaves := make([]leaf, 1, 257)
	leaves[0] = leaf{0, 256} // reserves the code of all ones, which T.81 forbids
	for s, n := range h {
		if n > 0 {
			leaves = append(leaves, leaf{uint64(n), s})
		}
	}
	slices.SortFunc(leaves, func(a, b leaf) int {
		if a.count != b.count {
			if a.count < b.count {
				return -1
			}
			return 1
		}
		return b.symbol - a.symbol // 256 first: it gets the longest code
	})
	c := codes{}
	if len(leaves) == 1 {
		return c
	}
	weights := make([]uint64, len(leaves))
	for i, l := range leaves {
		weights[i] = l.count
	}
	lengths := limitedLengths(weights)
	for i := len(leaves) - 1; i > 0; i-- { // from the shortest code on
		if leaves[i].symbol == 256 {
			continue
		}
		c.counts[lengths[i]-1]++
		c.symbols = append(c.symbols, byte(leaves[i].symbol))
	}
	return c
}

// limitedLengths returns the lengths of the codes, at most 16, for weights that
// do not fall. The first one is the longest.
func limitedLengths(weights []uint64) []int {
	const longest = 16
	type coin struct {
		weight uint64
		leaves int // number of the lightest leaves in it: all codes in it grow by one
	}
	// lists[l][i] is the number of leaves among the first i coins of level l.
	n := len(weights)
	var lists [longest][]coin
	for l := range longest {
		var pairs []coin
		if l > 0 {
			below := lists[l-1]
			for i := 0; i+1 < len(below); i += 2 {
				pairs = append(pairs, coin{below[i].weight + below[i+1].weight, -1})
			}
		}
		merged := make([]coin, 0, n+len(pairs))
		for i, j := 0, 0; i < n || j < len(pairs); {
			if j == len(pairs) || i < n && weights[i] <= pairs[j].weight {
				merged = append(merged, coin{weights[i], i})
				i++
			} else {
				merged = append(merged, pairs[j])
				j++
			}
		}
		lists[l] = merged
	}
	lengths := make([]int, n)
	take := 2*n - 2
	for l := longest - 1; l >= 0; l-- {
		packages := 0
		for _, c := range lists[l][:take] {
			if c.leaves >= 0 {
				lengths[c.leaves]++
			} else {
				packages++
			}
		}
		take = 2 * packages
	}
	return lengths
}

// bitsOf returns the length of each symbol's code. 0 means no code.
func (c *codes) bitsOf() (lengths [256]uint8) {
	k := 0
	for l, n := range c.counts {
		for range n {
			lengths[c.symbols[k]] = uint8(l + 1)
			k++
		}
	}
	return lengths
}

// words returns each symbol's code, with its length from bit 16 on.
func (c *codes) words() (words [256]uint32) {
	code, k := uint32(0), 0
	for l, n := range c.counts {
		for range n {
			words[c.symbols[k]] = uint32(l+1)<<16 | code
			code++
			k++
		}
		code <<= 1
	}
	return words
}
