package drivers

import "strings"

// nearest returns the one of names that is most similar to name, or "" if none is similar.
// Of equally similar names it returns the first.
func nearest(name string, names []string) string {
	best, least := "", allowed(name)+1
	for _, n := range names {
		if d := distance(fold(name), fold(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// allowed returns how many typing errors a name of this length may contain: one in every
// three letters. With more, a guess would be random.
func allowed(name string) int { return (len([]rune(fold(name))) + 2) / 3 }

// fold removes case, hyphens, underscores and spaces, which people rarely remember.
func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// distance counts the letters to insert, remove, replace or swap with their neighbor to
// turn a into b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before []int // the row before row
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
