// Package catalog loads and checks what can be asked for, with the words for it: the files
// of the program, those of the user, and the sentences of Home Assistant.
package catalog
