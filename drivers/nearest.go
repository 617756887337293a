package drivers

import "strings"

// nearest returns the one of names that name was most likely meant to be, or
// "" if none is near. Of equally near names the first is taken.
func nearest(name string, names []string) string {
	best, least := "", allowed(name)+1
	for _, n := range names {
		if d := distance(fold(name), fold(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// allowed is how many slips a name of this length may hold before a guess
// would be a guess at random: one in every three letters.
func allowed(name string) int { return (len([]rune(fold(name))) + 2) / 3 }

// fold removes what people do not remember about a name.
func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// distance counts the letters to insert, remove, replace or swap with their
// neighbour to turn a into b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before []int // the row above row
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		next := make([]int, len(t)+1)
		next[0] = i + 1
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(t)]
}
