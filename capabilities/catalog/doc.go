// Package catalog loads and checks the capabilities and their words: the files
// of the program, those of the user, and the sentences of Home Assistant.
package catalog
