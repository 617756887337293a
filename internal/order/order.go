// Package order sorts lists without a sorting routine for each of their types:
// those of package slices are some 14 KB of program for every struct they sort.
package order

import "sort"

// By sorts a list, and leaves what is equal as it was: compare returns a number
// below 0 if a comes before b, and above 0 if after. It is for lists of some
// hundred; slices.SortFunc sorts a hundred thousand sooner.
func By[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
