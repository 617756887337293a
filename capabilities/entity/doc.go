// Package entity finds the things of one home in the words of a text: devices, areas, views,
// spots and positions, and the numbers and times that a slot of a sentence may take. A Home
// is the index of the devices and their names; an Utterance is a text that is read with it.
package entity
