// Package frame reads the words of a text in any order, as features and names. Features that
// go together ask for a capability.
package frame
