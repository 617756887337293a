// Package entity finds the things of one home in the words of a text: devices, areas, views,
// spots and positions. It also finds the numbers and times that a slot of a sentence may take. A
// Home is the index of the devices and their names. An Utterance is a text with the Home that
// gives its words a meaning.
package entity
